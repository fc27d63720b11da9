"""Works out what a leaderboard should answer, and shares no code with the product.

`Calendar` knows the periods, `BoardModel` keeps all accepted events and adds and sorts them at each read, and `Listing`
answers every question about one sorted list.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial, reduce
from itertools import islice
from math import inf
from typing import Any, NamedTuple, TypeVar

METHODS = ("competition", "ordinal", "dense")
CALENDAR = ("hour", "day", "week", "month", "year")
SEASON = "season"
ENDING = (*CALENDAR, SEASON)
TRIAL = ""  # The id of an event that is tried
MAX_UNITS = 2**53 - 1
"""A score is at most so many units away from 0."""
TieBreaks = tuple[int | None, ...]
"""The number of each tie-break; None where a member has none."""
Bucket = datetime | date
"""An hour is given by its first instant, in UTC. A longer bucket is given by its first day."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(milliseconds=1)
T = TypeVar("T")


# ---- periods


class Season(NamedTuple):
    """A season of a board, from its first day to the first day that no longer belongs to it."""

    name: str
    starts: date
    ends: date


@dataclass
class Calendar:
    """A board's time zone, the first day of its weeks (Monday is 0), `late` and `keep`, and its seasons by start."""

    zone: tzinfo = UTC
    week_start: int = 0
    late: timedelta = timedelta(days=7)
    keep: timedelta = timedelta(days=35)
    seasons: tuple[Season, ...] = ()

    def bucket(self, kind: str, at: datetime) -> Bucket:
        """Return the hour, day, week, month or year that contains an instant."""
        local = at.astimezone(self.zone)
        if kind == "hour":
            elapsed = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
            return at.astimezone(UTC) - elapsed
        day = local.date()
        if kind == "week":
            return day - timedelta(days=(day.weekday() - self.week_start) % 7)
        return {"day": day, "month": day.replace(day=1), "year": day.replace(month=1, day=1)}[kind]

    def start(self, bucket: Bucket) -> datetime:
        if isinstance(bucket, datetime):
            return bucket
        return datetime(bucket.year, bucket.month, bucket.day, tzinfo=self.zone).astimezone(UTC)

    def end(self, kind: str, bucket: Bucket) -> datetime:
        if kind == SEASON:
            return self.start(next(season.ends for season in self.seasons if season.starts == bucket))
        return self.start(_following(kind, bucket))

    def season(self, on: datetime) -> Season | None:
        """Return the latest season that has begun at an instant, or None. It may have ended."""
        day = on.astimezone(self.zone).date()
        return next((season for season in reversed(self.seasons) if season.starts <= day), None)

    def late_for(self, kind: str) -> timedelta:
        return min(self.late, timedelta(days=1)) if kind == "hour" else self.late

    def takes(self, at: datetime, now: datetime, *, history: bool = False) -> dict[str, Bucket]:
        """Return the buckets in which an event applied at `now` counts: those that ended less than `late` ago.

        An event of history counts in all that can be read.
        """
        buckets: dict[str, Bucket] = {kind: self.bucket(kind, at) for kind in CALENDAR}
        season = self.season(at)
        if season is not None and at < self.start(season.ends):
            buckets[SEASON] = season.starts
        return {
            kind: bucket
            for kind, bucket in buckets.items()
            if now - self.end(kind, bucket) < self.late_for(kind) or (history and self.is_readable(kind, at, now))
        }

    def held(self, window: str, on: datetime) -> list[Bucket]:
        """Return the buckets of the period of a window that contains an instant, latest first. `all` has none.

        Of seasons, it is the latest that has begun.
        """
        if window == "all":
            return []
        if window == SEASON:
            season = self.season(on)
            return [] if season is None else [season.starts]
        bucket = self.bucket(unit(window), on)
        if window in CALENDAR:
            return [bucket]
        number = int(window.split("-")[1])
        step = timedelta(hours=1) if unit(window) == "hour" else timedelta(days=1)
        return [bucket - back * step for back in range(number)]

    def bounds(self, window: str, on: datetime) -> tuple[datetime, datetime] | tuple[None, None]:
        """Return start and end of the period of a window that contains an instant. `all` has neither."""
        held = self.held(window, on)
        return (self.start(held[-1]), self.end(unit(window), held[0])) if held else (None, None)

    def final_at(self, window: str, on: datetime) -> datetime | None:
        """Return when the period of a window that contains an instant is final: None if it never is."""
        end = self.bounds(window, on)[1]
        return end + self.late_for(window) + timedelta(minutes=5) if end and window in ENDING else None

    def state(self, window: str, on: datetime, now: datetime) -> str:
        """Return whether the period of a window that contains an instant is open, closing or final."""
        end, final = self.bounds(window, on)[1], self.final_at(window, on)
        return "open" if not (end and final) or now < end else "closing" if now < final else "final"

    def before(self, window: str, on: datetime) -> datetime | None:
        """Return an instant in the period before. A rolling period before is the one that ended a bucket earlier."""
        held = self.held(window, on)
        before = self.start(held[0]) - timedelta(milliseconds=1) if held else None
        return None if window == SEASON and before and not self.held(window, before) else before

    def is_readable(self, window: str, on: datetime, now: datetime) -> bool:
        """Whether the period of a window that contains an instant can still be read at `now`."""
        if window == "all":
            return True
        kind = unit(window)
        if window == SEASON:
            return self._is_season_readable(on, now)
        bucket = self.bucket(kind, on)
        end = self.end(kind, bucket)
        if window not in CALENDAR:
            return now < end + max(self.late_for(kind), end - self.start(bucket))
        keep = min(self.keep, self.late_for(kind) + timedelta(hours=1)) if kind == "hour" else self.keep
        following = _following(kind, bucket)
        return now < max(end + keep, self.end(kind, following) + self.late_for(kind))

    def _is_season_readable(self, on: datetime, now: datetime) -> bool:
        season = self.season(on)
        if season is None:
            return False
        following = [self.start(other.ends) + self.late for other in self.seasons if other.starts > season.starts]
        end = self.start(season.ends)
        return now < min(max([end + self.keep, *following[:1]]), end + timedelta(days=800))

    def earlier(self, window: str, now: datetime, than: datetime | None = None) -> Iterator[datetime]:
        """Yield an instant in each period before that of `than` (or of now) that can still be read, latest first."""
        on = self.before(window, than or now)
        while on is not None and self.is_readable(window, on, now):
            yield on
            on = self.before(window, on)

    def containing(self, window: str, at: datetime) -> list[datetime]:
        """An instant in each period of a window that contains this one."""
        if window in ("all", *ENDING):
            return [at]
        return [at, *islice(self.later(window, at), int(window.split("-")[1]) - 1)]

    def later(self, window: str, now: datetime) -> Iterator[datetime]:
        """Yield an instant in each later period, without end. A rolling period ends one bucket later each time."""
        held = self.held(window, now)
        while held:
            on = self.end(unit(window), held[0])
            yield on
            held = self.held(window, on)

    def named(self, window: str, on: datetime) -> str | None:
        """Return the name by which a reader requests the period that contains an instant, or None for `all`."""
        local = on.astimezone(self.zone)
        if window == "all":
            return None
        if window == SEASON:
            season = self.season(on)
            return season and season.name
        return f"{local:%Y-%m-%dT%H}{local.isoformat()[-6:]}" if unit(window) == "hour" else local.date().isoformat()


def unit(window: str) -> str:
    """Return the kind of bucket that the periods of a window consist of."""
    return window if window in (*CALENDAR, SEASON) else window.split("-")[2].removesuffix("s")


def _following(kind: str, bucket: Bucket) -> Bucket:
    if isinstance(bucket, datetime):
        return bucket + timedelta(hours=1)
    return {
        "day": bucket + timedelta(days=1),
        "week": bucket + timedelta(days=7),
        "month": (bucket.replace(day=1) + timedelta(days=32)).replace(day=1),
        "year": date(bucket.year + 1, 1, 1),
    }[kind]


# ---- one ranking


@dataclass(frozen=True)
class Metric:
    """How the values of one metric are combined and ranked. Scores are integers, in units of 10 ** -precision."""

    aggregate: str = "sum"
    precision: int = 0
    descending: bool = True
    ties: str = "member"
    windows: tuple[str, ...] = ("all",)
    notes: bool = False
    least: int | None = None
    most: int | None = None
    """The least and the most units of one amount."""
    tie_breaks: tuple[str, ...] = ()
    kept_with: str | None = None
    """The metric with whose number this one is kept, if it has none of its own."""
    ranked_from: int | None = None
    """Scores behind it are not ranked; None: all are."""

    @property
    def companions(self) -> tuple[str, ...]:
        """The tie-breaks that are of the event that made the number."""
        return () if self.aggregate == "sum" else self.tie_breaks

    def merged(self, amounts: Sequence[int]) -> int:
        """What several amounts for one member in one event come to."""
        if self.aggregate == "last":
            return amounts[-1]
        if self.aggregate == "sum":
            return sum(amounts)
        return max(amounts) if self.aggregate == "max" else min(amounts)

    def ranks(self, units: int) -> bool:
        """Whether a score is ranked."""
        if self.ranked_from is None or units == self.ranked_from:
            return True
        return (units > self.ranked_from) == self.descending

    def allows(self, units: int) -> bool:
        """Whether an event may have this amount."""
        return (self.least is None or units >= self.least) and (self.most is None or units <= self.most)


class Placed(NamedTuple):
    """A ranked member, its score, since when it has that score (milliseconds since 1970), and its tie-breaks."""

    member: str
    score: int
    since: float
    tie_breaks: TieBreaks = ()


class Line(NamedTuple):
    """A line of a list."""

    rank: int
    member: str
    score: int
    tie_breaks: TieBreaks = ()


class AroundScore(NamedTuple):
    """The rank of a score, and how many members are ahead of it, equal to it and behind it."""

    rank: int
    above: int
    at: int
    below: int


@dataclass(frozen=True)
class Listing:
    """The ranked members of one period, best first. Whether the highest leads: of scores, then of each tie-break."""

    placed: Sequence[Placed]
    descending: tuple[bool, ...]

    @property
    def total(self) -> int:
        return len(self.placed)

    def lines(self, method: str = "competition") -> list[Line]:
        """Return the whole list with ranks: competition 1224, ordinal 1234, dense 1223."""
        lines: list[Line] = []
        competition = dense = 0
        for position, one in enumerate(self.placed, start=1):
            if not lines or self.key(lines[-1]) != self.key(one):
                competition, dense = position, dense + 1
            rank = {"competition": competition, "ordinal": position, "dense": dense}[method]
            lines.append(Line(rank, one.member, one.score, one.tie_breaks))
        return lines

    def key(self, one: Placed | Line) -> tuple[tuple[bool, int], ...]:
        """Return what sorts members as the list does, and is equal for those who share a rank."""
        numbers = zip((one.score, *one.tie_breaks), self.descending, strict=True)
        return tuple((units is None, 0 if units is None else -units if down else units) for units, down in numbers)

    def line(self, member: str, method: str = "competition") -> Line | None:
        """Return a member's line, or None if it is not ranked."""
        return next((line for line in self.lines(method) if line.member == member), None)

    def around(self, member: str, radius: int, method: str = "competition") -> list[Line]:
        """Return a member's line with up to `radius` lines before and after it."""
        position = next(number for number, one in enumerate(self.placed) if one.member == member)
        return self.lines(method)[max(0, position - radius) : position + radius + 1]

    def among(self, members: Collection[str], method: str = "competition") -> dict[str, int]:
        """Return the rank of each ranked member of a group within that group."""
        group = Listing([one for one in self.placed if one.member in members], self.descending)
        return {line.member: line.rank for line in group.lines(method)}

    def of_score(self, score: int, tie_breaks: TieBreaks | None = None, method: str = "competition") -> AroundScore:
        """Return the rank that a new member with that score would get, ahead of its equals if it has no tie-breaks.

        By `ordinal` it comes after its equals.
        """
        length = 1 if tie_breaks is None else len(self.descending)
        found = Listing([], self.descending[:length]).key(Line(0, "", score, tie_breaks or ()))
        ahead = [key for one in self.placed if (key := self.key(one))[:length] < found]
        equal = [key for one in self.placed if (key := self.key(one))[:length] == found]
        before = {"competition": len(ahead), "ordinal": len(ahead) + len(equal), "dense": len(set(ahead))}[method]
        return AroundScore(1 + before, len(ahead), len(equal), self.total - len(ahead) - len(equal))

    def percentile(self, line: Line) -> Decimal:
        """Return 100 × members at or behind a line ÷ all members, rounded down to two decimals."""
        return Decimal(10_000 * self._at_or_behind(line) // self.total).scaleb(-2)

    def at_percentile(self, p: Decimal) -> Placed | None:
        """Return the last whose unrounded percentile is at least p, or None for an empty list."""
        for one in reversed(self.placed):
            if Fraction(100 * self._at_or_behind(one), self.total) >= Fraction(p):
                return one
        return None

    def between(self, low: int, high: int) -> int:
        """Return how many members have a score from `low` to `high`, both included."""
        return sum(low <= one.score <= high for one in self.placed)

    def _at_or_behind(self, than: Placed | Line) -> int:
        return sum(self.key(one) >= self.key(than) for one in self.placed)


# ---- a board


class Counted(NamedTuple):
    """One member's part of an accepted event, and the buckets in which it counts. `at` is in milliseconds.

    `applied` and `calendar` are of the moment at which it was counted.
    """

    id: str
    member: str
    at: int
    amounts: Mapping[str, int]
    buckets: Mapping[str, Bucket]
    applied: datetime
    calendar: Calendar
    note: Any = None
    longest: Mapping[str, int] | None = None
    """The buckets of the longest rolling window that was defined, by kind; None: long enough."""
    is_dated: bool = True
    """Whether the definition kept its instant."""
    history: bool = False
    taken: Mapping[str, int] | None = None
    """What it had counted, if it was taken back. Its amounts are 0 then; its instant stays."""
    hidden: frozenset[tuple[str, str]] = frozenset()
    """Each metric, with `all` or the kind of bucket, in which a best that was set has replaced it."""

    @property
    def since(self) -> float:
        return self.at if self.is_dated else -inf

    def own_bucket(self, kind: str) -> Bucket | None:
        """The bucket that contains its instant, closed or not; of `all` and closed seasons there is none."""
        if kind not in CALENDAR:
            return self.buckets.get(kind)
        return self.calendar.bucket(kind, _EPOCH + timedelta(milliseconds=self.at))

    def counts(self, window: str, on: datetime, held: Sequence[Bucket]) -> bool:
        """Whether it counts in the period that contains an instant, whose buckets are `held`."""
        if window == "all":
            return True
        kind = unit(window)
        if kind in self.buckets or window in ENDING:
            return self.buckets.get(kind) in held
        # Its own bucket has closed. A period of a rolling window may be open still; one that was not readable is free.
        own = self.calendar.bucket(kind, _EPOCH + timedelta(milliseconds=self.at))
        if self.history:
            return own in held
        if self.longest is not None:
            # If no window could take it then, nobody kept it (docs/decisions/0023).
            first_open: Any = self.calendar.bucket(kind, self.applied - self.calendar.late_for(kind))
            if first_open >= own + timedelta(**{f"{kind}s": self.longest.get(kind, 0)}):
                return False
        is_open = self.applied - self.calendar.end(kind, held[0]) < self.calendar.late_for(kind)
        return own in held and (is_open or not self.calendar.is_readable(window, on, self.applied))


@dataclass
class BoardModel:
    """One board: its metrics, its members and every event that counts on it."""

    metrics: Mapping[str, Metric]
    calendar: Calendar = field(default_factory=Calendar)
    registered: bool = False
    """Whether a member must be registered before its first event."""
    members: dict[str, bool] = field(default_factory=dict)
    """Every existing member, and whether it is hidden."""
    removed: set[str] = field(default_factory=set)
    """Every member that was ever removed, even if it came back."""
    removals: dict[str, datetime] = field(default_factory=dict)
    """By member, the instant of its latest removal. It is later than any at which the item was written before."""
    merges: dict[str, datetime] = field(default_factory=dict)
    """By member, the instant of its latest merge into another one."""
    sets: dict[tuple[str, ...], tuple[int, bytes]] = field(default_factory=dict)
    """By metric and member, `at` (milliseconds) and id of the latest number that was set: of bests by bucket too."""
    counted: list[Counted] = field(default_factory=list)
    written: dict[str, datetime] = field(default_factory=dict)
    """By member, the latest instant at which any function wrote its item. A clock that is behind does not go back."""
    longest: Mapping[str, int] | None = None
    """The buckets of the longest rolling window, by kind, if definitions change; see `Counted`."""
    keeps_instants: bool = True

    def at_rest(self) -> "BoardModel":
        """Return this board for one comparison: a ranking is worked out once, however often it is asked for.

        It shares its members with this board, so neither may change meanwhile.
        """
        if "listing" in vars(self):
            return self
        still = replace(self)
        for name in ("events", "_scores", "listing"):
            setattr(still, name, cache(getattr(still, name)))
        return still

    def refuses(self, member: str) -> bool:
        """Whether the board would refuse any event for this member."""
        return self.registered and member not in self.members

    def overflows(
        self, member: str, at: datetime, amounts: Mapping[str, int], now: datetime, *, history: bool = False
    ) -> bool:
        """Whether an event would take a sum of this member beyond the bounds, in any period in which it counts."""
        for name, units in amounts.items():
            earlier = [event.amounts.get(name, 0) for event in self.counted if event.member == member]
            if self.metrics[name].aggregate != "sum" or sum(map(abs, earlier)) + abs(units) <= MAX_UNITS:
                continue
            trial = replace(self, counted=[*self.counted], written={**self.written})
            trial.count(TRIAL, member, at, {name: units}, now, history=history)
            windows = dict.fromkeys(("all", *self.metrics[name].windows))
            periods = [(window, on) for window in windows for on in self.calendar.containing(window, at)]
            for window, on in periods:
                events = trial.events(name, window, on).get(member, [])
                counts = any(event.id == TRIAL for event in events)
                if counts and abs(sum(event.amounts[name] for event in events)) > MAX_UNITS:
                    return True
        return False

    def merged(self, updates: Sequence[Mapping[str, int]]) -> dict[str, int]:
        """Return what several updates of one member in one event come to: companions are of the update that counts."""
        amounts: dict[str, int] = {}
        for name in dict.fromkeys(name for update in updates for name in update):
            named, rules = [update for update in updates if name in update], self.metrics[name]
            if rules.companions:
                ordered = named[::-1] if rules.aggregate == "last" else sorted(named, key=partial(self.order, name))
                amounts |= {each: ordered[0][each] for each in (name, *rules.companions)}
            elif rules.kept_with is None:
                amounts[name] = rules.merged([update[name] for update in named])
        return amounts

    def sum(self, metric: str, member: str) -> int:
        """What the amounts of a member come to, whenever they counted."""
        return sum(event.amounts.get(metric, 0) for event in self.counted if event.member == member)

    def set_totals(self, event_id: str, member: str, at: datetime, totals: Mapping[str, int]) -> dict[str, int]:
        """Return the changes that take sums of a member to new totals, without those that are older than the latest.

        Bests are returned as they are: `count` sets them.
        """
        return {
            metric: total - self.sum(metric, member) if self.metrics[metric].aggregate == "sum" else total
            for metric, total in totals.items()
            if self.metrics[metric].aggregate != "sum" or self.is_latest(event_id, at, metric, member)
        }

    def is_latest(self, event_id: str, at: datetime, metric: str, member: str) -> bool:
        """Whether no later total, or best of `all`, was set."""
        of = (metric, member) if self.metrics[metric].aggregate == "sum" else (metric, member, "all", "None")
        return (_milliseconds(at), event_id.encode()) >= self.sets.get(of, (-inf, b""))

    def keep_sets(self, event_id: str, member: str, at: datetime, metrics: Iterable[str]) -> None:
        """Keep that these totals of a member were set."""
        sums = [metric for metric in metrics if self.metrics[metric].aggregate == "sum"]
        self.sets |= {(metric, member): (_milliseconds(at), event_id.encode()) for metric in sums}

    def _replacing(self, event: Counted) -> Counted:
        """Hide what the bests that an event sets replace, and in itself those that a later one has replaced before.

        A best is set in `all`, and in each bucket that takes the event.
        """
        hidden: set[tuple[str, str]] = set()
        key = event.at, event.id.encode()
        bests = [name for name in event.amounts if self.metrics[name].aggregate in ("max", "min")]
        for metric, kind in ((metric, kind) for metric in bests for kind in ("all", *CALENDAR, SEASON)):
            bucket = event.own_bucket(kind) if event.history else event.buckets.get(kind)
            place = (metric, event.member, kind, str(bucket))
            if (bucket is None and kind != "all") or key < self.sets.get(place, (-inf, b"")):
                hidden.add((metric, kind))
                continue
            self.sets[place] = key
            self.counted = [
                one._replace(hidden=one.hidden | {(metric, kind)})
                if one.member == event.member and metric in one.amounts and one.own_bucket(kind) == bucket
                else one
                for one in self.counted
            ]
        return event._replace(hidden=frozenset(hidden))

    def was_removed_since(self, member: str, counted: datetime, sent: datetime) -> bool:
        """Whether a member was removed after an instant, and more than a minute before another.

        If it was merged into another member after the first instant, what it had counts there.
        """
        removal = self.removals.get(member)
        if removal is None or counted < self.merges.get(member, counted):
            return False
        return counted < removal < sent - timedelta(minutes=1)

    def count(
        self,
        event_id: str,
        member: str,
        at: datetime,
        amounts: Mapping[str, int],
        now: datetime,
        note: Any = None,
        *,
        history: bool = False,
        sets: bool = False,
    ) -> None:
        """Count one member's part of an event at the instant `now`, by the clock of its writer.

        With `sets`, its bests replace those that are there.
        """
        self.members.setdefault(member, False)
        now = self._write(member, now)
        at_ms = _milliseconds(at)
        buckets = self.calendar.takes(_EPOCH + timedelta(milliseconds=at_ms), now, history=history)
        when = at_ms, dict(amounts), buckets, now, replace(self.calendar)
        event = Counted(event_id, member, *when, note, self.longest, self.keeps_instants, history)
        event = self._replacing(event) if sets else event
        self.counted.append(event)

    def take_back(self, event_id: str, now: datetime) -> set[str]:
        """Take back what an event counts at the instant `now`. Return the members for whom it counted."""
        theirs = [one for one in self.counted if one.id == event_id and one.taken is None]
        for one in theirs:
            self._write(one.member, now)
        self.counted = [
            one._replace(amounts=dict.fromkeys(one.amounts, 0), taken=one.amounts) if one in theirs else one
            for one in self.counted
        ]
        return {one.member for one in theirs}

    def has_closed(self, event_id: str, now: datetime, ranked: Collection[tuple[str, str]] | None = None) -> bool:
        """Whether an event counts in a period that has closed: of a rolling window, one that can still be read.

        Set `ranked` to look only at some pairs of metric and window.
        """
        return any(
            self._is_closed(one, window, on, now)
            for one in self.counted
            if one.id == event_id and one.taken is None
            for name in one.amounts
            for window in self._decided_by(name, ranked)
            for on in self.calendar.containing(window, _EPOCH + timedelta(milliseconds=one.at))
        )

    def _decided_by(self, metric: str, ranked: Collection[tuple[str, str]] | None) -> set[str]:
        """The windows in which a metric is ranked, or breaks ties."""
        named = {name: of for name, of in self.metrics.items() if name == metric or metric in of.tie_breaks}
        pairs = {(name, window) for name, rules in named.items() for window in rules.windows if window != "all"}
        return {window for name, window in pairs if ranked is None or (name, window) in ranked}

    def _is_closed(self, one: Counted, window: str, on: datetime, now: datetime) -> bool:
        held = self.calendar.held(window, on)
        if not held or not one.counts(window, on, held):
            return False
        kind = unit(window)
        is_over = now - self.calendar.end(kind, held[0]) >= self.calendar.late_for(kind)
        return is_over and (window in ENDING or self.calendar.is_readable(window, on, now))

    def _write(self, member: str, now: datetime) -> datetime:
        """Write a member's item at the instant `now`. Return the instant that it says."""
        self.written[member] = max(now, self.written.get(member, now))
        return self.written[member]

    def put(self, member: str, *, hidden: bool | None = None, now: datetime = _EPOCH) -> None:
        """Register a member if it is new. Hide or show it if `hidden` is given."""
        before = self.members.get(member)
        self.members[member] = bool(before) if hidden is None else hidden
        if self.members[member] != before:
            self._write(member, now)

    def remove(self, member: str, now: datetime = _EPOCH) -> bool:
        """Remove a member and everything counted for it. Return whether it existed."""
        if member not in self.members:
            return False
        self.removals[member] = self._write(member, max(now, self.written.get(member, now) + timedelta(milliseconds=1)))
        del self.members[member]
        self.removed.add(member)
        self.sets = {key: latest for key, latest in self.sets.items() if key[1] != member}
        self.counted = [event for event in self.counted if event.member != member]
        return True

    def merge(self, old: str, new: str, now: datetime = _EPOCH) -> bool:
        """Count all events of a member for another one, and remove the first. Return whether it existed."""
        if old not in self.members:
            return False
        moved = [event._replace(member=new) for event in self.counted if event.member == old]
        hidden = self.members[old] or self.members.get(new, False)
        at = max(now, *(self.written.get(one, now) for one in (old, new)), self.written.get(old, now) + _TICK)
        self.remove(old, at)
        self.merges[old] = self._write(new, at)
        self.counted += moved
        self.members[new] = hidden
        return True

    def overflows_if_merged(self, old: str, new: str, now: datetime) -> tuple[bool, bool]:
        """Whether a merge would take a number beyond the bounds: in a period that is read or to come, or in any."""
        trial = replace(self, counted=[*self.counted], written={**self.written}, members={**self.members})
        trial.removals, trial.merges, trial.sets = {}, {}, {}
        trial.removed = set()
        trial.merge(old, new, now)
        beyond = {False: False, True: False}
        for name, rules in self.metrics.items():
            instants = [datetime.fromtimestamp(one.at / 1000, UTC) for one in trial.counted if one.member == new]
            for window in dict.fromkeys(("all", *rules.windows)) if rules.aggregate == "sum" else ():
                for on in {on for at in instants for on in self.calendar.containing(window, at)}:
                    if abs(trial.total(name, window, on, new)) > MAX_UNITS:
                        beyond[on > now or self.calendar.is_readable(window, on, now)] = True
        return beyond[True], any(beyond.values())

    def total(self, metric: str, window: str, on: datetime, member: str) -> int:
        """What the amounts of a member come to in the period that contains an instant."""
        return sum(event.amounts[metric] for event in self.events(metric, window, on).get(member, []))

    def score(self, metric: str, window: str, on: datetime, member: str) -> Placed | None:
        """Return a member's score in the period that contains an instant, or None. Hidden members have scores too."""
        return self._scores(metric, window, on).get(member)

    def note(self, metric: str, window: str, on: datetime, member: str) -> Any:
        """Return the note of the event that a member's score came with; None if it had none."""
        return self._decisive(metric, self.events(metric, window, on)[member]).note

    def _decisive(self, metric: str, events: Sequence[Counted]) -> Counted:
        """Return the event that made the number of a metric that does not add up."""
        rules = self.metrics[metric]
        if rules.aggregate == "last":
            return max(events, key=lambda event: (event.since, event.id.encode()))
        return min(events, key=lambda event: (*self.order(metric, event.amounts), event.since, event.id.encode()))

    def order(self, metric: str, amounts: Mapping[str, int]) -> tuple[Any, ...]:
        """Return what sorts updates of a best: the better ones first, of equal ones that with the better companions."""
        units = amounts[metric]
        companions = [(self.metrics[each].descending, amounts[each]) for each in self.metrics[metric].companions]
        best = -units if self.metrics[metric].aggregate == "max" else units
        return (best, *(-other if descending else other for descending, other in companions))

    def listing(self, metric: str, window: str, on: datetime) -> Listing:
        """Return the ranking of the period of a window that contains an instant."""
        rules = self.metrics[metric]
        scores = self._scores(metric, window, on).values()
        shown = [one for one in scores if not self.members[one.member] and rules.ranks(one.score)]
        shown.sort(key=lambda one: one.member.encode())
        if rules.ties == "first":
            shown.sort(key=lambda one: one.since)
        listing = Listing(shown, (rules.descending, *(self.metrics[each].descending for each in rules.tie_breaks)))
        shown.sort(key=listing.key)
        return listing

    def _scores(self, metric: str, window: str, on: datetime) -> dict[str, Placed]:
        """Return every member's score in a period, with its tie-breaks in the same period."""
        if self.metrics[metric].companions:
            return self._own_scores(metric, window, on)
        named = self.metrics[metric].tie_breaks
        others = [(self._own_scores(each, window, on), self.metrics[each].aggregate) for each in named]
        missing = {"sum": 0}
        return {
            member: one._replace(
                tie_breaks=tuple(
                    scores[member].score if member in scores else missing.get(aggregate) for scores, aggregate in others
                )
            )
            for member, one in self._own_scores(metric, window, on).items()
        }

    def _own_scores(self, metric: str, window: str, on: datetime) -> dict[str, Placed]:
        events = self.events(metric, window, on)
        starts_at_0 = self.registered and window == "all" and self.metrics[metric].aggregate == "sum"
        scores = {
            member: self._placed(metric, member, theirs, starts_at_0=starts_at_0) for member, theirs in events.items()
        }
        for member in self.members if starts_at_0 else ():
            scores.setdefault(member, Placed(member, 0, -inf))
        return scores

    def events(self, metric: str, window: str, on: datetime) -> dict[str, list[Counted]]:
        """The events that count in a period, by member."""
        held = self.calendar.held(window, on)
        events: dict[str, list[Counted]] = {}
        for event in map(self._as_of_now, self.counted):
            is_hidden = (metric, "all" if window == "all" else unit(window)) in event.hidden
            if metric in event.amounts and not is_hidden and event.counts(window, on, held):
                events.setdefault(event.member, []).append(event)
        return events

    def _as_of_now(self, event: Counted) -> Counted:
        """An event with the buckets that hold it in the time zone of now, if another one was defined."""
        calendar = event.calendar
        if (calendar.zone, calendar.week_start) == (self.calendar.zone, self.calendar.week_start):
            return event
        at = _EPOCH + timedelta(milliseconds=event.at)
        return event._replace(buckets={kind: self.calendar.bucket(kind, at) for kind in event.buckets})

    def _placed(self, metric: str, member: str, events: Sequence[Counted], *, starts_at_0: bool) -> Placed:
        """Combine events of a member into a score, and work out since when the member has it.

        A member that `starts_at_0` had that score before its first event.
        """
        aggregate = self.metrics[metric].aggregate
        values = [(event.since, event.id.encode(), event.amounts[metric]) for event in events]
        if aggregate == "sum":
            # An amount of 0 changes no sum. It gives the time of a sum that nothing changed.
            changes = [event for event in events if (event.taken or event.amounts)[metric] or not event.is_dated]
            since = reduce(lambda latest, event: max(latest, event.at) if event.is_dated else -inf, changes, -inf)
            begun = -inf if starts_at_0 else min(at for at, _, _ in values)
            return Placed(member, sum(amount for _, _, amount in values), since if changes else begun)
        decisive = self._decisive(metric, events)
        companions = tuple(decisive.amounts[each] for each in self.metrics[metric].companions)
        return Placed(member, decisive.amounts[metric], decisive.since, companions)


def _milliseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)
