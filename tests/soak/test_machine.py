from hypothesis import settings

from tests.support.machine import machine


class LongMachine(machine.Machine):
    """The same, with more members and for many more examples."""

    most = 12


TestMachineForLong = LongMachine.TestCase
TestMachineForLong.settings = settings(machine.SLOW, max_examples=300, stateful_step_count=40)
