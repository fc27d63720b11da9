"""What happens to the periods of a family when they are final: which windows are settled, and their prizes."""

from collections.abc import Mapping
from typing import Final, NamedTuple

SETTLED_WINDOWS: Final = ("day", "week", "month", "year", "season")
MAX_ANNOUNCED: Final = 10_000
"""The most winners of one prize for whom there are events. More are in the files alone."""


class Prize(NamedTuple):
    """A prize of a metric in each period of a window, for members by their competition rank: equals all win.

    The ranks from `first` to `last` win, or with `percent` those up to that share of all members, rounded up.
    """

    name: str
    metric: str
    first: int
    last: int
    percent: int | None = None

    def last_rank(self, total: int) -> int:
        """The last rank that wins among so many members."""
        return self.last if self.percent is None else -(-total * self.percent // 100)


class Endings(NamedTuple):
    """The windows that are settled, in the order of the file, and the prizes of each window."""

    settle: tuple[str, ...] = ()
    prizes: Mapping[str, tuple[Prize, ...]] = {}

    def prizes_of(self, window: str, metric: str) -> tuple[Prize, ...]:
        """The prizes of a ranking."""
        return tuple(prize for prize in self.prizes.get(window, ()) if prize.metric == metric)


NO_ENDINGS: Final = Endings()
