"""Coverage: which rankings of a board are complete, from which bucket on, and until when they can be read; its record.

A definition may change while a board is in use. Readers refuse a ranking that may lack events, so the record of a board
holds its coverage. What becomes of a window that is added to `boards.toml`:

    board begins      window added       rebuild begins to place     readers change over
    ─────┬─────────────────┬──────────────────┬───────────────────────────┬─────────────► time
         coverage_of       intersect          after_rebuild               what was worked out then is read:
         old windows       old windows        (worked out)                old windows, and the new one from
                                                                          its first complete bucket on

While functions of both definitions are at work, only what is in both stays complete: a function reduces the record's
coverage before it writes to the board (`intersect`, `after_event_by`). Only a rebuild adds to it (`after_rebuild`).

| change of `boards.toml` | what stays complete | what a rebuild adds |
|---|---|---|
| window added, of buckets that are kept already | the other windows | its periods whose buckets were all kept |
| window added, of buckets that no window kept | the other windows | its periods from 10 minutes after placing on |
| window removed | the other windows | added again, it is like any window that is added |
| `order`, `ties`, `tie_breaks` or `ranked_from` changed | the other metrics | the metric's rankings |
| tie-break added | the other metrics | the metric's `all`, and its periods whose buckets were kept for both |
| metric removed | the other metrics | added again: later periods; `all` only if no event was counted without it |
| metric added | the other metrics | its `all`, and its periods as for a window whose buckets no window kept |
| `aggregate`, `precision` or `timezone` changed | what does not depend on it | as for a metric that is added |
| `late` or `keep` made shorter | all, but read by the shorter limits | nothing |
| `late` or `keep` made longer | all, still read by the shorter limits | the longer limits, for buckets that were kept |
| season added before it begins | all, and the season | nothing |
| season added when it has begun | all but the season | nothing: no event was counted for it |

Seasons are added now and then, and need no rebuild before they begin. A season is complete if every definition in use
since it began has it. So the record of a board with the window `season` also says until which day it was in use
(`BucketCoverage.first`, of which `intersect` takes the later). It is updated once a day while the board is in use. A
season that begins after that day is complete.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from standings.domain.boards import Family, Metric, Ranking
from standings.domain.windows import DAY, MINUTE, SECOND, Timetable, Unit, first_index, window_of

AHEAD: Final = 10 * MINUTE  # Events may count in a bucket so long before it begins: `at` and clocks may be ahead


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a board's rankings are complete for.

    - `rankings`: the codes of the windows that are ranked, such as `q8Qd`.
    - `buckets`: the kinds of buckets, by code: `{"U99d": BucketCoverage(…)}`.
    - `late` and `keep`: the limits under which periods were kept, in milliseconds.
    - `totals`: the codes of the totals that have all events, by the code of the ranking `all` that is made of each, or
      by their own if there is none: `{"i4qa": "h9e"}`. That of a tie-break also stands by the rankings that it breaks
      ties of, as in `{"k3p.a": "h9e", "k3p.a+p0c": "p0c"}`.
    - `lost`: the codes of totals that some definition in use stopped counting. A rebuild cannot restore them.
    """

    rankings: frozenset[str]
    buckets: Mapping[str, "BucketCoverage"]
    late: int
    keep: int
    totals: Mapping[str, str] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()

    def intersect(self, other: "Coverage") -> "Coverage":
        """What is complete in both, while functions of two coverages are at work. Records of 0.2 have no totals."""
        rankings, kinds = self.rankings & other.rankings, self.buckets.keys() & other.buckets.keys()
        buckets = {code: self.buckets[code].intersect(other.buckets[code]) for code in kinds}
        ranked = {code: total for code, total in other.totals.items() if _ranking_of(code) in rankings}
        totals = ranked | dict(self.totals)
        late, keep = min(self.late, other.late), min(self.keep, other.keep)
        return Coverage(rankings, buckets, late, keep, totals, self.lost | other.lost)

    def after_event_by(self, family: Family) -> "Coverage":
        """What stays complete once a function with this family's definition has counted an event."""
        counted = {metric.total() for metric in family.counted_metrics}
        totals = {code: total for code, total in self.totals.items() if total in counted}
        return replace(self, totals=totals, lost=self.lost | (set(self.totals.values()) - counted))

    def after_rebuild(self, family: Family, since: int) -> "Coverage":
        """What is complete after a rebuild, if this family's definition was alone since an instant (ms)."""
        fresh = coverage_of(family, since)
        buckets = {
            # If no function counted an event for a season, a rebuild cannot restore it.
            code: self.buckets.get(code, fresh.buckets[code]._replace(seasons=frozenset()))
            if unit == "s"
            else fresh.buckets[code]._replace(first=self._first(metric, unit, since))
            for metric in family.metrics.values()
            for unit, code in metric.bucket_codes.items()
        }
        return replace(fresh, buckets=buckets).without(self.lost)

    def without(self, lost: Collection[str]) -> "Coverage":
        """The same without rankings of these totals: `without({"h9e"})`."""
        gone = {_ranking_of(code) for code, total in self.totals.items() if total in lost}
        totals = {code: total for code, total in self.totals.items() if _ranking_of(code) not in gone}
        return replace(self, rankings=self.rankings - gone, totals=totals, lost=frozenset(lost))

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
        first = window.buckets(ranking.period)[0]
        kept = [self.buckets.get(each.bucket_codes[window.unit]) for each in (metric, *metric.separate_tie_breaks)]
        return all(each is not None and each.holds(first) for each in kept)

    def readable_until(self, ranking: Ranking) -> int | None:
        """The instant (ms) from which one of the definitions no longer reads a ranking; None for `all`."""
        until = ranking.readable_until
        earlier = self._limited(ranking.metric.timetable).readable_until(ranking.window, ranking.period)
        return None if until is None or earlier is None else min(until, earlier)

    def _limited(self, timetable: Timetable) -> Timetable:
        return timetable.limited(min(self.late, timetable.late), min(self.keep, timetable.keep))


class BucketCoverage(NamedTuple):
    """The buckets of one kind that are complete: those from `first` on (None: all), and `seasons`.

    For each definition in use, `windows` has those that made it keep these buckets, by code: `{{"d", "7d"}, {"d"}}`.
    """

    windows: frozenset[frozenset[str]]
    first: int | None = None
    seasons: frozenset[int] = frozenset()

    def holds(self, bucket: int) -> bool:
        """Whether a bucket is complete. If it is, so are those after it, unless they are seasons."""
        return self.first is None or bucket >= self.first or bucket in self.seasons

    def intersect(self, other: "BucketCoverage") -> "BucketCoverage":
        """The buckets that are complete by both, and the windows of all definitions."""
        first = max((first for first in (self.first, other.first) if first is not None), default=None)
        seasons = {season for season in self.seasons | other.seasons if self.holds(season) and other.holds(season)}
        return BucketCoverage(self.windows | other.windows, first, frozenset(seasons))


def coverage_of(family: Family, now: int) -> Coverage:
    """The coverage of a new board at the instant `now` (ms): everything that its definition ranks."""
    buckets = {
        code: _season_coverage(family, now) if unit == "s" else _bucket_coverage(metric, unit)
        for metric in family.metrics.values()
        for unit, code in metric.bucket_codes.items()
    }
    totals: dict[str, str] = {}
    for metric in family.counted_metrics:
        window = metric.window("all")
        code = metric.total() if window is None else metric.ranking_code(window)
        totals[code] = metric.total()
        if window is not None:
            totals |= {f"{code}{_TIE_BREAK}{each.total()}": each.total() for each in metric.separate_tie_breaks}
    return Coverage(family.rankings(), buckets, family.timetable.late, family.timetable.keep, totals)


_TIE_BREAK: Final = "+"


def _ranking_of(code: str) -> str:
    """The code of the ranking in a key of `Coverage.totals`."""
    return code.partition(_TIE_BREAK)[0]


def _season_coverage(family: Family, now: int) -> BucketCoverage:
    """The seasons that a definition in use completes: those that it names, and all in which no event can count yet."""
    timetable = family.timetable
    first = first_index(timetable.index("d", now + AHEAD) + 1)
    return BucketCoverage(frozenset({frozenset({"s"})}), first, frozenset(timetable.seasons.indexes))


def _bucket_coverage(metric: Metric, unit: Unit) -> BucketCoverage:
    return BucketCoverage(frozenset({frozenset(window.code for window in metric.kept_windows if window.unit == unit)}))


def _expires(timetable: Timetable, codes: frozenset[str], bucket: int) -> int:
    """The instant from which no period of these windows that contains a bucket can be read."""
    windows = [window_of(code) for code in codes]
    return max(timetable.readable_until(window, window.periods(bucket)[-1]) or 0 for window in windows)


def written_codes(family: Family) -> frozenset[str]:
    """The codes of all that is ranked on a board, of `season` one for each season: `frozenset({"G0Pa", "i4q7d"})`."""
    windows = {metric.ranking_code(window): window for metric in family.metrics.values() for window in metric.windows}
    seasons = {code for code, window in windows.items() if window.unit == "s"}
    return frozenset(windows.keys() - seasons) | {
        f"{code}{index}" for code in seasons for index in family.timetable.seasons.indexes
    }


REBUILD: Final = "rebuild"
DELETE: Final = "delete"
BOARD_TTL_S: Final = 60  # Seconds for which a process caches a board's record
MAX_ATTEMPT_S: Final = 60
"""Seconds for which a function goes on with a record that it took from the cache. No function that writes rankings runs
longer, or else it bounds its attempts by this."""
CLOCK_SKEW_S: Final = 60  # Seconds by which two clocks differ at most
PROPAGATION_WAIT: Final = (BOARD_TTL_S + MAX_ATTEMPT_S + CLOCK_SKEW_S) * SECOND
"""Milliseconds after which no function uses an older record of a board."""
ENDED_KEPT: Final = DAY  # Items of a board may be deleted so long after its end: longer than any clock is wrong
RECORD_KEPT: Final = 90 * DAY
"""So long after a board's end its name is taken: longer than any receipt, dead letter, parked record or item of a
removed member is kept."""


@dataclass(frozen=True, slots=True)
class BoardRecord:
    """What is stored about a board. A process caches records: whoever changes one waits `PROPAGATION_WAIT`.

    `version` grows by one with every write. `codes` has the codes of all rankings that any definition has written, such
    as `q8Qd`. Readers use `generation`, which has `coverage`; projectors write all in `written`. `latest` is the newest
    generation, created at `renewed`. `stale` ones await removal. A `deleted` board is not listed. `settled` has the
    codes of rankings that are settled, or being settled: history counts in none of them. None: nobody has looked for
    what version 0.3 settled of the board, or its family settled nothing when it began.

    The board began at `begun`, and ends at `ends` (None: never), which is fixed then (instants are in milliseconds):
    it takes no more events, and nothing of it is read. `RECORD_KEPT` later its name is free.
    """

    board: str
    version: int
    begun: int
    coverage: Coverage
    codes: frozenset[str]
    generation: int = 0
    written: tuple[int, ...] = (0,)
    latest: int = 0
    stale: tuple[int, ...] = ()
    deleted: bool = False
    renewed: int = 0
    job: "Job | None" = None
    settled: frozenset[str] | None = None
    ends: int | None = None

    def has_ended(self, now: int) -> bool:
        """Whether the board has ended by `now` (milliseconds). A board that was deleted before is deleted."""
        return self.ends is not None and now >= self.ends and not self.deleted

    @property
    def gone_at(self) -> int | None:
        """The instant (ms) from which the name is free, as if there were no record; None: never."""
        if self.ends is None:
            return None
        return (self.renewed if self.deleted else self.ends) + RECORD_KEPT

    def is_gone(self, now: int) -> bool:
        """Whether the record counts as none. DynamoDB deletes it some days later, or has already."""
        return self.gone_at is not None and now >= self.gone_at

    @property
    def expiry(self) -> int | None:
        """From when on DynamoDB may delete members' items, in seconds; None: never."""
        return None if self.ends is None else (self.ends + ENDED_KEPT) // SECOND

    @property
    def projected_since(self) -> int:
        """The instant (in milliseconds) from which on projectors wrote each change to every generation in `written`.

        The newest generation may lack earlier changes. Then it has no row that stops an old record of a removed member.
        """
        return self.renewed + PROPAGATION_WAIT + CLOCK_SKEW_S * SECOND

    @property
    def is_being_deleted(self) -> bool:
        """Whether events are refused and nothing is read, until the board's members and ranks are gone."""
        return self.job is not None and self.job.task == DELETE


class Job(NamedTuple):
    """A rebuild or deletion of a board that is not finished.

    `task` is `REBUILD` or `DELETE`. `phase` began at `since` (milliseconds). At the end the rankings have `coverage`.
    `members` members are done: those in the slots before `slot`, and in `slot` those up to `after`.
    """

    task: str
    phase: str
    since: int
    coverage: Coverage
    slot: int = 0
    after: str | None = None
    members: int = 0

    @property
    def token(self) -> str:
        """The fencing token of what is written in this phase: `rebuild/placing/1795256100000`."""
        return f"{self.task}/{self.phase}/{self.since}"
