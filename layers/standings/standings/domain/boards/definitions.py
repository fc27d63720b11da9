"""What a family of boards counts and ranks, as `boards.toml` says it (`definitions` reads that file).

Codes. Numbers of a member live under short names, since names count in an item's size: three characters made from
everything that gives the numbers their meaning. So a changed aggregate, precision or time zone finds other names, and
old numbers are never mixed with new ones.
"""

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import blake2b
from typing import Final, Literal, NamedTuple, cast

from standings.domain.windows.late_and_keep import Timetable, is_past_reading
from standings.domain.windows.window import Unit, Window

MAX_UNITS: Final = 2**53 - 1
"""No score is further from 0 than this, in units of the metric's precision: what JSON and Redis can hold."""

AggregateFunction = Literal["sum", "max", "min", "last"]
Order = Literal["descending", "ascending"]
Ties = Literal["member", "first"]
Members = Literal["open", "registered"]

_LETTERS: Final = string.ascii_letters
_ALNUM: Final = string.ascii_letters + string.digits


def _code(*meaning: object) -> str:
    """Three characters that stand for a meaning: a letter, a digit (no word that DynamoDB reserves), any of both."""
    number = int.from_bytes(blake2b(repr(meaning).encode(), digest_size=8).digest(), "big")
    number, first = divmod(number, len(_LETTERS))
    number, second = divmod(number, 10)
    return f"{_LETTERS[first]}{second}{_ALNUM[number % len(_ALNUM)]}"


_BUCKET: Final = re.compile(r"[a-zA-Z][0-9][a-zA-Z0-9]([hdwmy])([0-9]{1,9})")
"""The attribute of a bucket, whatever its code stands for: code, unit, index."""


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A named number of a member: how events add up in it, and the windows in which it ranks.

    `precision` is the number of decimals kept: a score is an integer, in units of 10 to the power of -precision.
    `ties` says who of equals is ahead: by member, or whoever reached the score first. `shards` is the number of parts
    that the sorted index of a ranking is spread over.
    """

    name: str
    aggregate: AggregateFunction
    precision: int
    order: Order
    ties: Ties
    windows: tuple[Window, ...]
    timetable: Timetable
    shards: int = 1
    total_code: str = field(init=False)
    bucket_codes: Mapping[Unit, str] = field(init=False)
    ranking_codes: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        kind = (self.name, self.aggregate, self.precision)
        units = {window.unit for window in self.windows}
        buckets = {unit: _code("bucket", *kind, *self._zone(unit)) for unit in units if unit}
        rankings = {
            window.name: _code("ranking", *kind, self.order, self.ties, *self._zone(window.unit))
            for window in self.windows
        }
        object.__setattr__(self, "total_code", _code("total", *kind))
        object.__setattr__(self, "bucket_codes", buckets)
        object.__setattr__(self, "ranking_codes", rankings)

    def _zone(self, unit: Unit | None) -> tuple[object, ...]:
        if unit is None:
            return ()
        zone: tuple[object, ...] = (unit, self.timetable.timezone)
        return (*zone, self.timetable.week_start) if unit == "w" else zone

    @property
    def descending(self) -> bool:
        """Whether the highest leads."""
        return self.order == "descending"

    @property
    def ties_by_instant(self) -> bool:
        """Whether equals are told apart by when they reached their score."""
        return self.ties == "first" and bool(self.windows)

    @property
    def has_tie_keys(self) -> bool:
        """Whether each of its numbers has a mark beside it, that says which event it goes by."""
        return self.aggregate == "last" or self.ties_by_instant

    @property
    def adds_up(self) -> bool:
        """Whether an event can be counted without looking at what was counted before."""
        return self.aggregate == "sum" and not self.ties_by_instant

    def window(self, name: str) -> Window | None:
        """The window of that name in which this metric ranks, if it does."""
        return next((window for window in self.windows if window.name == name), None)

    def total(self) -> str:
        """The name of the attribute that adds up everything."""
        return self.total_code

    def bucket(self, unit: Unit, index: int) -> str:
        """The name of the attribute that adds up one bucket or calendar period."""
        return f"{self.bucket_codes[unit]}{unit}{index}"

    def expires(self, unit: Unit, index: int) -> int:
        """The instant from which no period can be read that a bucket is part of."""
        ends = [
            self.timetable.readable_until(window, index + window.size - 1)
            for window in self.windows
            if window.unit == unit
        ]
        return max(end for end in ends if end is not None)


class Accumulator(NamedTuple):
    """What an attribute of a member's item adds up: a metric, over one bucket or (unit None) over everything."""

    metric: Metric
    unit: Unit | None
    bucket: int


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """All boards whose names match one pattern."""

    pattern: str
    timetable: Timetable
    metrics: Mapping[str, Metric]
    members: Members = "open"
    shards: int = 1
    _codes: dict[str, tuple[Metric, Unit | None]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        codes: dict[str, tuple[Metric, Unit | None]] = {}
        lists: set[str] = set()
        for metric in self.metrics.values():
            named: dict[str, tuple[Metric, Unit | None]] = {metric.total_code: (metric, None)}
            named.update((code + unit, (metric, unit)) for unit, code in metric.bucket_codes.items())
            mine = {metric.ranking_codes[window.name] + window.code for window in metric.windows}
            if not codes.keys().isdisjoint(named) or lists & mine:
                raise ValueError(f"its short code is another metric's: rename {metric.name!r}")
            codes.update(named)
            lists |= mine
        object.__setattr__(self, "_codes", codes)

    def accumulator(self, attribute: str) -> Accumulator | None:
        """What an attribute of an item adds up; None for one that no metric of today knows."""
        known = self._codes.get(attribute[:4])
        if known is None:
            return None
        return Accumulator(*known, int(attribute[4:] or 0))

    def has_expired(self, attribute: str, now: int) -> bool:
        """Whether an attribute is a bucket that no readable period contains any more.

        Functions of another definition may be at work, now or after a rollback. So a bucket that this one does not
        know has expired once no definition could read it. An unknown total never has: nothing says how old it is, and
        its metric may come back.
        """
        accumulator = self.accumulator(attribute)
        if accumulator is not None:
            metric, unit, bucket = accumulator
            return unit is not None and now >= metric.expires(unit, bucket)
        unknown = _BUCKET.fullmatch(attribute)
        return unknown is not None and is_past_reading(cast("Unit", unknown[1]), int(unknown[2]), now)

    @property
    def has_buckets(self) -> bool:
        """Whether members' items hold more than totals.

        Where they do not and every metric adds up, the writer does not read them, and removes nothing from them: not
        even the buckets of a definition that had some.
        """
        return any(metric.bucket_codes for metric in self.metrics.values())

    @property
    def adds_up(self) -> bool:
        """Whether every metric's events can be counted without looking at what was counted before."""
        return all(metric.adds_up for metric in self.metrics.values())

    def rankings(self) -> frozenset[str]:
        """The codes of all windows that are ranked on a board of this family."""
        return frozenset(
            metric.ranking_codes[window.name] + window.code
            for metric in self.metrics.values()
            for window in metric.windows
        )


class Boards:
    """The families that there are, and which of them a board belongs to."""

    def __init__(self, families: tuple[Family, ...]) -> None:
        self.families = families
        # The longest pattern wins, then the first in the file: sorted() keeps the file's order among equals.
        self._by_length = sorted(families, key=lambda family: -len(family.pattern))
        self.family = lru_cache(maxsize=65536)(self._family)

    def _family(self, board: str) -> Family | None:
        """The family of a board; None where no pattern matches its name."""
        return next((f for f in self._by_length if fnmatchcase(board, f.pattern)), None)
