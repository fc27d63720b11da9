"""How answers look: numbers, instants, cursors, and problems that say what to do."""

import re
from fractions import Fraction
from typing import Any, Final

import orjson

from standings.domain.boards.boards_toml import MAX_DECIMALS
from standings.domain.boards.definitions import MAX_UNITS, Metric
from standings.domain.boards.ranking import Ranking
from standings.domain.errors import bad_argument
from standings.domain.events.event import MAX_SHOWN_LENGTH
from standings.domain.windows.late_and_keep import Timetable

_NUMBER: Final = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?", re.ASCII)


def units_of(argument: str, text: str, precision: int) -> int:
    """A score that a reader names, in units; 400 for one that a metric of that precision cannot have."""
    score = _number(argument, text) * 10**precision
    if score.denominator != 1:
        kept = f"a number of at most {precision} decimals" if precision else "a whole number"
        raise bad_argument(argument, f"must be {kept}, is {text[:MAX_SHOWN_LENGTH]!r}")
    if abs(score) > MAX_UNITS:
        raise bad_argument(argument, f"is beyond ±(2^53 - 1) units of the metric: {text[:MAX_SHOWN_LENGTH]!r}")
    return int(score)


def percentage(argument: str, text: str) -> Fraction:
    """A percentage above 0 and up to 100, exactly."""
    share = _number(argument, text)
    if not 0 < share <= 100 or (share * 10**MAX_DECIMALS).denominator != 1:  # noqa: PLR2004 - percent
        detail = f"must be above 0 and at most 100, with at most {MAX_DECIMALS} decimals"
        raise bad_argument(argument, f"{detail}, is {text[:MAX_SHOWN_LENGTH]!r}")
    return share


def _number(argument: str, text: str) -> Fraction:
    """A number as JSON has it, exactly."""
    if not _NUMBER.fullmatch(text):
        raise bad_argument(argument, f"must be a number such as 12 or -0.5, is {text[:MAX_SHOWN_LENGTH]!r}")
    return Fraction(text)


def exactly(share: Fraction) -> Any:
    """A percentage as a JSON number."""
    return decimal(int(share * 10**MAX_DECIMALS), MAX_DECIMALS)


def decimal(units: int, precision: int) -> Any:
    """A whole number of units as a JSON number with at most `precision` decimals, exactly."""
    if not precision:
        return units
    whole, part = divmod(abs(units), 10**precision)
    text = f"{'-' if units < 0 else ''}{whole}.{part:0{precision}d}".rstrip("0").rstrip(".")
    return orjson.Fragment(text)


def score_of(units: int, metric: Metric) -> Any:
    """A score as a JSON number."""
    return decimal(units, metric.precision)


def percentile(behind: int, total: int) -> Any:
    """100 × members at or behind ÷ all members, to two decimals."""
    return decimal((20_000 * behind + total) // (2 * total), 2)


def period(ranking: Ranking) -> dict[str, str | None]:
    """The start and the end of a ranking's period, as the board's clocks show them."""
    timetable = ranking.metric.timetable
    bounds = timetable.bounds(ranking.window, ranking.period)
    if bounds is None:
        return {"start": None, "end": None}
    return {"start": _local(timetable, bounds[0]), "end": _local(timetable, bounds[1])}


def _local(timetable: Timetable, at: int) -> str:
    return timetable.local(at).isoformat().replace("+00:00", "Z")
