"""Every read agrees with the model, whatever is done to boards in any order.

Hypothesis chooses what is posted, hidden, registered and removed, how time passes, and how many shards the boards have.
The real handlers run on the engine. After each step, boards are compared read by read.
"""

import pytest
from hypothesis import settings

from tests.support.machine.machine import SLOW, Machine


class ManyExamples(Machine):
    """The same, for `make test-all`."""


TestMachine = Machine.TestCase
TestMachine.settings = settings(SLOW, max_examples=10, stateful_step_count=15)
TestManyExamples = pytest.mark.thorough(ManyExamples.TestCase)
TestManyExamples.settings = settings(SLOW, max_examples=35, stateful_step_count=15)
