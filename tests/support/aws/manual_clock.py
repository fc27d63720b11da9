"""A clock that a test sets."""

from dataclasses import dataclass


@dataclass
class ManualClock:
    """A wall clock in milliseconds, and the same time in seconds as a monotonic clock.

    Time passes only when code sleeps or a test sets the clock.
    """

    milliseconds: int

    def __call__(self) -> int:
        return self.milliseconds

    def monotonic(self) -> float:
        return self.milliseconds / 1000

    def sleep(self, seconds: float) -> None:
        self.milliseconds += max(1, round(seconds * 1000))
