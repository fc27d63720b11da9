"""What the rankings of a board hold whole: which of them, from which bucket on, and until when.

A definition changes while a board goes on. What it ranks from then on lacks what was before; what it ranks no longer
misses what comes after; a bucket that was not kept, or was removed already, is missing in every period that holds it.
So a board's record says for what its rankings are whole, whoever is at work there takes off what its own definition
does not keep up, and only a rebuild adds to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from standings.domain.boards.definitions import Family, Metric
from standings.domain.boards.ranking import Ranking
from standings.domain.windows.calendar import MINUTE
from standings.domain.windows.late_and_keep import Timetable
from standings.domain.windows.window import Unit, window_of

AHEAD: Final = 10 * MINUTE
"""How long before a bucket begins events may count in it: what `at` may be ahead, and clocks may be wrong."""


Windows = frozenset[str]
"""Codes of the windows of one metric that are made of the same kind of bucket."""


class BucketCoverage(NamedTuple):
    """How long a kind of bucket or calendar period was kept: for all the windows of each definition at work.

    `first` is the first one that holds all its events (None: they all do).
    """

    windows: frozenset[Windows]
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """For what a board's rankings are whole.

    `rankings` are the codes of its windows' rankings, `buckets` the kinds of accumulators by code and unit, `late` and
    `keep` the limits under which periods were kept.
    """

    rankings: frozenset[str]
    buckets: Mapping[str, BucketCoverage]
    late: int
    keep: int

    def within(self, other: "Coverage") -> "Coverage":
        """What is left whole once functions are at work that keep up another coverage, and whatever is in both."""
        buckets = {
            code: BucketCoverage(kept.windows | also.windows, _later(kept.first, also.first))
            for code, kept in self.buckets.items()
            if (also := other.buckets.get(code)) is not None
        }
        return Coverage(self.rankings & other.rankings, buckets, min(self.late, other.late), min(self.keep, other.keep))

    def renewed(self, family: Family, since: int) -> "Coverage":
        """What is whole after everyone was placed anew, where just one definition was at work since an instant."""
        buckets = {}
        for metric in family.metrics.values():
            for unit, code in metric.bucket_codes.items():
                buckets[code + unit] = _kept(metric, unit, self._first(metric, unit, since))
        theirs = coverage_of(family)
        return Coverage(theirs.rankings, buckets, theirs.late, theirs.keep)

    def _first(self, metric: Metric, unit: Unit, since: int) -> int:
        """The first bucket that holds all its events: none of it was removed, and none counted elsewhere."""
        timetable = metric.timetable
        kept = self.buckets.get(metric.bucket_codes[unit] + unit)
        if kept is None:
            # Kept from now on: the next that no event can have been counted in before.
            bucket = timetable.index(unit, since)
            while timetable.start(unit, bucket) < since + AHEAD:
                bucket += 1
            return bucket
        limited = self._limited(timetable)
        definitions = kept.windows | _kept(metric, unit).windows
        bucket = timetable.index(unit, since)
        while bucket > 0 and min(_expires(limited, windows, bucket - 1) for windows in definitions) > since:
            bucket -= 1
        return bucket if kept.first is None else max(bucket, kept.first)

    def ranks(self, ranking: Ranking) -> bool:
        """Whether those periods of a ranking's window are whole that hold nothing but complete buckets."""
        return ranking.metric.ranking_codes[ranking.window.name] + ranking.window.code in self.rankings

    def holds(self, ranking: Ranking) -> bool:
        """Whether a ranking is whole."""
        metric, window = ranking.metric, ranking.window
        if not self.ranks(ranking):
            return False
        if window.unit is None:
            return True
        kept = self.buckets.get(metric.bucket_codes[window.unit] + window.unit)
        return kept is not None and (kept.first is None or ranking.period - window.size + 1 >= kept.first)

    def readable_until(self, ranking: Ranking) -> int | None:
        """The instant at which a ranking can no longer be read: by today's definition, and by those there were."""
        until = ranking.readable_until
        if until is None:
            return None
        before = self._limited(ranking.metric.timetable).readable_until(ranking.window, ranking.period)
        return until if before is None else min(until, before)

    def _limited(self, timetable: Timetable) -> Timetable:
        return timetable.limited(min(self.late, timetable.late), min(self.keep, timetable.keep))


def coverage_of(family: Family) -> Coverage:
    """What a board that begins under a definition is whole for: everything that it ranks."""
    return Coverage(
        family.rankings(),
        {
            code + unit: _kept(metric, unit)
            for metric in family.metrics.values()
            for unit, code in metric.bucket_codes.items()
        },
        family.timetable.late,
        family.timetable.keep,
    )


def _later(one: int | None, other: int | None) -> int | None:
    """The later of two first buckets, of which None is the earliest."""
    return max((first for first in (one, other) if first is not None), default=None)


def _kept(metric: Metric, unit: Unit, first: int | None = None) -> BucketCoverage:
    return BucketCoverage(
        frozenset({frozenset(window.code for window in metric.windows if window.unit == unit)}), first
    )


def _expires(timetable: Timetable, windows: Windows, bucket: int) -> int:
    """The instant from which none of these windows has a period to be read that holds a bucket."""
    found = [window_of(code) for code in windows]
    return max(timetable.readable_until(window, bucket + window.size - 1) or 0 for window in found)
