"""Seasons: periods of the window `season`, which a family names. They never overlap, and there may be gaps between."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Final

NO_SEASON: Final = -1
"""The index of the time before the first season."""
_PER_DAY: Final = 10**6


@dataclass(frozen=True)
class Season:
    """A span of days with a name. Days are counted since 1970; `ends` is the first day that no longer belongs to it."""

    name: str
    starts: int
    ends: int

    @cached_property
    def index(self) -> int:
        """A number that only this name, start and end have. A season that starts later has a greater one."""
        meaning = repr((self.name, self.ends)).encode()
        digest = int.from_bytes(blake2b(meaning, digest_size=8).digest(), "big")
        return first_index(self.starts) + digest % _PER_DAY


def first_index(day: int) -> int:
    """The least index of seasons that start on this day or later."""
    return day * _PER_DAY


class Seasons:
    """The seasons of a family, by start. `longest` is the length of the longest, in days."""

    def __init__(self, seasons: Iterable[Season] = ()) -> None:
        self.all = tuple(sorted(seasons, key=lambda season: season.starts))
        self.indexes = tuple(season.index for season in self.all)
        self.longest = max((season.ends - season.starts for season in self.all), default=0)
        self._by_index = {season.index: season for season in self.all}

    def __contains__(self, index: int) -> bool:
        return index in self._by_index

    def __getitem__(self, index: int) -> Season:
        return self._by_index[index]

    def begun(self, day: int) -> int:
        """The index of the latest season that has begun on a day, though it may have ended; or NO_SEASON."""
        position = bisect_right(self.all, day, key=lambda season: season.starts)
        return self.indexes[position - 1] if position else NO_SEASON

    def beside(self, index: int, step: int) -> int | None:
        """The index of the season so many seasons later; None if there is none."""
        position = self.indexes.index(index) + step
        return self.indexes[position] if 0 <= position < len(self.indexes) else None

    def find(self, name: str, day: int | None) -> int | None:
        """The index of the season with this name, or that contains this day; None if there is none."""
        for season in self.all:
            if season.name == name or (day is not None and season.starts <= day < season.ends):
                return season.index
        return None


NO_SEASONS: Final = Seasons()
