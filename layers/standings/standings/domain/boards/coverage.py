"""Coverage: which rankings of a board are complete, from which bucket on, and until when they can be read.

A definition may change while a board is in use. A window that was added lacks earlier events. A bucket that was removed
is missing in every period that contains it. So a board's record holds its coverage. Functions with another definition
reduce it to what they keep up too, and only a rebuild adds to it.

Seasons are added now and then, and need no rebuild before they begin. A season is complete if every definition in use
since it began has it. So the record of a board with the window `season` also says until which day it was in use: it is
written once on each day on which the board is. A season that begins after that day is complete.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from standings.domain.boards.definitions import Family, Metric, Ranking
from standings.domain.windows.calendar import MINUTE
from standings.domain.windows.late_and_keep import Timetable
from standings.domain.windows.seasons import first_index
from standings.domain.windows.window import Unit, window_of

AHEAD: Final = 10 * MINUTE
"""Events may count in a bucket this long before it begins: `at` may be ahead, and clocks may be wrong."""

Windows = frozenset[str]  # Codes of the windows of one metric that consist of the same kind of bucket


class BucketCoverage(NamedTuple):
    """The windows for which each definition kept buckets of one kind, and the first complete bucket (None: all are).

    `seasons` are complete too.
    """

    windows: frozenset[Windows]
    first: int | None = None
    seasons: frozenset[int] = frozenset()

    def holds(self, bucket: int) -> bool:
        """Whether a bucket is complete. If it is, so are those after it, unless they are seasons."""
        return self.first is None or bucket >= self.first or bucket in self.seasons


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a board's rankings are complete for.

    - `rankings`: the codes of the windows that are ranked.
    - `buckets`: the kinds of buckets, by code.
    - `late` and `keep`: the limits under which periods were kept, in milliseconds.
    - `totals`: the codes of the totals of which `all` is made, by the ranking's code.
    - `lost`: the codes of totals that some definition in use did not count, after they were in use. Nothing can make
      them whole.
    """

    rankings: frozenset[str]
    buckets: Mapping[str, BucketCoverage]
    late: int
    keep: int
    totals: Mapping[str, str] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()

    def within(self, other: "Coverage") -> "Coverage":
        """What stays complete when functions with another coverage are at work: only what is in both."""
        buckets = {}
        for code in self.buckets.keys() & other.buckets.keys():
            mine, theirs = self.buckets[code], other.buckets[code]
            first = max((first for first in (mine.first, theirs.first) if first is not None), default=None)
            seasons = {
                season for season in mine.seasons | theirs.seasons if mine.holds(season) and theirs.holds(season)
            }
            buckets[code] = BucketCoverage(mine.windows | theirs.windows, first, frozenset(seasons))
        rankings = self.rankings & other.rankings
        # Records of version 0.2 have no totals.
        totals = {code: total for code, total in {**other.totals, **self.totals}.items() if code in rankings}
        late, keep = min(self.late, other.late), min(self.keep, other.keep)
        return Coverage(rankings, buckets, late, keep, totals, self.lost | other.lost)

    def counted_by(self, family: Family) -> "Coverage":
        """What stays complete once a function with this family's definition has counted an event."""
        counted = {metric.total() for metric in family.metrics.values()}
        return replace(self, lost=self.lost | {total for total in self.totals.values() if total not in counted})

    def without(self, lost: Collection[str]) -> "Coverage":
        """The same without rankings of these totals."""
        gone = {code for code, total in self.totals.items() if total in lost}
        totals = {code: total for code, total in self.totals.items() if code not in gone}
        return replace(self, rankings=self.rankings - gone, totals=totals, lost=frozenset(lost))

    def renewed(self, family: Family, since: int) -> "Coverage":
        """What is complete after a rebuild, if this family's definition was the only one since an instant."""
        fresh = coverage_of(family, since)
        buckets = {
            code: self._seasons(code, fresh.buckets[code])
            if unit == "s"
            else fresh.buckets[code]._replace(first=self._first(metric, unit, since))
            for metric in family.metrics.values()
            for unit, code in metric.bucket_codes.items()
        }
        return replace(fresh, buckets=buckets).without(self.lost)

    def _seasons(self, code: str, fresh: BucketCoverage) -> BucketCoverage:
        """The seasons that have all their events. What an event counted in nothing of cannot be rebuilt."""
        return self.buckets.get(code, fresh._replace(seasons=frozenset()))

    def _first(self, metric: Metric, unit: Unit, since: int) -> int:
        """The first bucket that has all its events: none was removed, and none counted elsewhere."""
        timetable = metric.timetable
        bucket = timetable.index(unit, since)
        kept = self.buckets.get(metric.bucket_codes[unit])
        if kept is None:
            # Kept from now on: the first bucket in which no event can have counted before.
            while timetable.start(unit, bucket) < since + AHEAD:
                bucket += 1
            return bucket
        limited = self._limited(timetable)
        definitions = kept.windows | _bucket_coverage(metric, unit).windows
        while bucket > 0 and min(_expires(limited, windows, bucket - 1) for windows in definitions) > since:
            bucket -= 1
        return bucket if kept.first is None else max(bucket, kept.first)

    def ranks(self, ranking: Ranking) -> bool:
        """Whether the ranking's window is ranked. A period of it is complete if its buckets are."""
        return ranking.metric.ranking_code(ranking.window) in self.rankings

    def holds(self, ranking: Ranking) -> bool:
        """Whether a ranking is complete."""
        metric, window = ranking.metric, ranking.window
        if window.unit is None or not self.ranks(ranking):
            return self.ranks(ranking)
        kept = self.buckets.get(metric.bucket_codes[window.unit])
        return kept is not None and kept.holds(window.buckets(ranking.period)[0])

    def readable_until(self, ranking: Ranking) -> int | None:
        """The instant from which a ranking can no longer be read, by any of the definitions; None for `all`."""
        until = ranking.readable_until
        earlier = self._limited(ranking.metric.timetable).readable_until(ranking.window, ranking.period)
        return None if until is None or earlier is None else min(until, earlier)

    def _limited(self, timetable: Timetable) -> Timetable:
        return timetable.limited(min(self.late, timetable.late), min(self.keep, timetable.keep))


def coverage_of(family: Family, now: int) -> Coverage:
    """The coverage of a new board at the instant `now`: everything that its definition ranks."""
    buckets = {
        code: _season_coverage(family, now) if unit == "s" else _bucket_coverage(metric, unit)
        for metric in family.metrics.values()
        for unit, code in metric.bucket_codes.items()
    }
    totals = {
        metric.ranking_code(window): metric.total()
        for metric in family.metrics.values()
        for window in metric.windows
        if window.unit is None
    }
    return Coverage(family.rankings(), buckets, family.timetable.late, family.timetable.keep, totals)


def written_codes(family: Family) -> frozenset[str]:
    """The codes of all that is ranked on a board: one for each window, and instead of `season` one for each season."""
    windows = {metric.ranking_code(window): window for metric in family.metrics.values() for window in metric.windows}
    seasons = {code for code, window in windows.items() if window.unit == "s"}
    return frozenset(windows.keys() - seasons) | {
        f"{code}{index}" for code in seasons for index in family.timetable.seasons.indexes
    }


def _season_coverage(family: Family, now: int) -> BucketCoverage:
    """The seasons of a definition in use: it has all that begin later as far as events do not count in them yet."""
    timetable = family.timetable
    first = first_index(timetable.index("d", now + AHEAD) + 1)
    return BucketCoverage(frozenset({frozenset({"s"})}), first, frozenset(timetable.seasons.indexes))


def _bucket_coverage(metric: Metric, unit: Unit) -> BucketCoverage:
    return BucketCoverage(frozenset({frozenset(window.code for window in metric.windows if window.unit == unit)}))


def _expires(timetable: Timetable, codes: Windows, bucket: int) -> int:
    """The instant from which no period of these windows that contains a bucket can be read."""
    windows = [window_of(code) for code in codes]
    return max(timetable.readable_until(window, window.periods(bucket)[-1]) or 0 for window in windows)
