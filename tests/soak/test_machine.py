from hypothesis import settings

from tests.support.machine import machine


class LongMachine(machine.Machine):
    """The machine of the property tests with more members and many more examples."""

    most = 12


TestMachineForLong = LongMachine.TestCase
TestMachineForLong.settings = settings(machine.SLOW, max_examples=300, stateful_step_count=40)
