"""Windows: `all`, calendar windows such as `week`, `season`, and rolling windows such as `last-7-days`."""

import re
from dataclasses import dataclass
from typing import Final, Literal

Unit = Literal["h", "d", "w", "m", "y", "s"]  # An hour, a day, a week, a month or a year of the calendar, a season
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MAX_ROLLING_BUCKETS: Final = 90
MAX_SLAB: Final = 16
"""The most periods of a rolling window that are computed together (`Window.slab_of`)."""
_SHORT: Final = 10  # Buckets of a rolling window that has short slabs and blocks

_UNITS: Final[dict[str, Unit]] = {"hour": "h", "day": "d", "week": "w", "month": "m", "year": "y", "season": "s"}
_NAMES: Final[dict[str, str]] = {"a": "all", **{unit: name for name, unit in _UNITS.items()}}
_ROLLING: Final = re.compile(r"last-([1-9][0-9]?)-(hours|days)")


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A span of time in which scores are ranked, such as each day or the last seven days.

    A *bucket* is one hour, day, week, month, year or season (`unit`). A period of a rolling window is `size` buckets, a
    period of any other window is one bucket. `all` has no unit. `code` begins the code of each period.
    """

    name: str
    unit: Unit | None
    size: int
    rolling: bool
    code: str

    def buckets(self, period: int) -> range:
        """The buckets that a period consists of."""
        return range(period - self.size + 1, period + 1)

    def periods(self, bucket: int) -> range:
        """The periods that contain a bucket."""
        return range(bucket, bucket + self.size)

    def slab_of(self, period: int) -> range:
        """The slab of a rolling window's periods that contains this one.

        The periods of a slab are computed together, as long as one of them can be read. No block reaches from one slab
        into the next.
        """
        length = 8 if self.size <= _SHORT else MAX_SLAB
        first = period - period % length
        return range(first, first + length)

    @property
    def longest_block(self) -> int:
        """The length of the longest block of periods that has a list of its own (`domain.rolling.blocks`).

        Longer blocks make events cheaper, and pages merge more lists: 5 where the longest block has 4 periods, 9 where
        it has 16.
        """
        return min(4 if self.size <= _SHORT else MAX_SLAB, self.size)


def parse_window(name: str) -> Window:
    """The window of that name; ValueError for an unknown name."""
    if name == "all":
        return Window(name, None, 1, rolling=False, code="a")
    if name in _UNITS:
        return Window(name, _UNITS[name], 1, rolling=False, code=_UNITS[name])
    if (match := _ROLLING.fullmatch(name)) and int(match[1]) <= MAX_ROLLING_BUCKETS:
        unit: Unit = "h" if match[2] == "hours" else "d"
        return Window(name, unit, int(match[1]), rolling=True, code=match[1] + unit)
    known = f"all, {', '.join(_UNITS)}, last-N-hours or last-N-days with N from 1 to {MAX_ROLLING_BUCKETS}"
    raise ValueError(f"expected {known}, got {name!r}")


def window_of(code: str) -> Window:
    """The window of a code; ValueError for an unknown code."""
    rolling = f"last-{code[:-1]}-{'hours' if code.endswith('h') else 'days'}"
    return parse_window(_NAMES.get(code, rolling))
