"""Windows: `all`, calendar windows such as `week`, and rolling ones such as `last-7-days`."""

import re
from dataclasses import dataclass
from typing import Final, Literal

Unit = Literal["h", "d", "w", "m", "y"]
UNIT_OF: Final[dict[str, Unit]] = {"hour": "h", "day": "d", "week": "w", "month": "m", "year": "y"}
_UNIT_NAMES: Final[dict[str, str]] = {unit: name for name, unit in UNIT_OF.items()}
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MAX_ROLLING_BUCKETS: Final = 90
_ROLLING: Final = re.compile(r"last-([1-9][0-9]?)-(hours|days)")


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A span over which activity is added up.

    `unit` is the kind of bucket or calendar period that it is made of (None for `all`), `size` how many of them one
    period holds. `code` begins the code of each of its periods.
    """

    name: str
    unit: Unit | None
    size: int
    rolling: bool
    code: str

    def period_code(self, index: int) -> str:
        """The text that names one period in keys."""
        return self.code if self.unit is None else f"{self.code}{index}"


def parse_window(name: str) -> Window:
    """The window of that name; ValueError says which names there are."""
    if name == "all":
        return Window(name, None, 1, rolling=False, code="a")
    if name in UNIT_OF:
        unit = UNIT_OF[name]
        return Window(name, unit, 1, rolling=False, code=unit)
    if (match := _ROLLING.fullmatch(name)) and int(match[1]) <= MAX_ROLLING_BUCKETS:
        rolling_unit: Unit = "h" if match[2] == "hours" else "d"
        return Window(name, rolling_unit, int(match[1]), rolling=True, code=match[1] + rolling_unit)
    raise ValueError(
        f"no such window: {name!r}; there are all, hour, day, week, month, year, "
        f"last-N-hours and last-N-days with N from 1 to {MAX_ROLLING_BUCKETS}"
    )


def window_of(code: str) -> Window:
    """The window of a code; ValueError for what is none."""
    if code == "a":
        return parse_window("all")
    if code in _UNIT_NAMES:
        return parse_window(_UNIT_NAMES[code])
    return parse_window(f"last-{code[:-1]}-{'hours' if code[-1:] == 'h' else 'days'}")
