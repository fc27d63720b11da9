"""Windows of time (all, calendar periods, rolling windows, seasons), their periods, and instants as text.

Instants are milliseconds since 1970-01-01T00:00:00Z. Buckets have indexes: hours, days and weeks since 1970 in the
board's time zone, months as year * 12 + month - 1, years. Those of seasons are made from their names, starts and ends.
A rolling period has the index of its last bucket.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Final, Literal, NamedTuple

from standings.domain.zones import time_zone

Unit = Literal["h", "d", "w", "m", "y", "s"]  # An hour, a day, a week, a month or a year of the calendar, a season


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A span of time in which scores are ranked, such as each day or the last seven days.

    A *bucket* is one hour, day, week, month, year or season (`unit`). A period of a rolling window is `size` buckets, a
    period of any other window is one bucket. `all` has no unit. The codes of periods begin with `code`, such as `7d`.
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
        """The slab (time partition) of a rolling window's periods that contains this one.

        For `last-7-days`, 20778 is in the slab 20776 to 20783. The periods of a slab are computed together, as long as
        one of them can be read. No block reaches from one slab into the next.
        """
        length = 8 if self.size <= _SHORT else MAX_SLAB
        first = period - period % length
        return range(first, first + length)

    @property
    def longest_block(self) -> int:
        """The periods of the longest block with a list of its own: longer ones make writes cheaper, reads dearer."""
        return min(4 if self.size <= _SHORT else MAX_SLAB, self.size)


MAX_SLAB: Final = 16  # The most periods of a rolling window that are computed together (`Window.slab_of`)
_SHORT: Final = 10  # Buckets of a rolling window that has short slabs and blocks
_UNITS: Final[dict[str, Unit]] = {"hour": "h", "day": "d", "week": "w", "month": "m", "year": "y", "season": "s"}
NAMES: Final[dict[str, str]] = {"a": "all", **{unit: name for name, unit in _UNITS.items()}}  # By unit: "d" is "day"
MAX_ROLLING_BUCKETS: Final = 90
_ROLLING: Final = re.compile(r"last-([1-9][0-9]?)-(hours|days)")


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
    """The window of a code such as `7d`; ValueError for an unknown code."""
    rolling = f"last-{code[:-1]}-{'hours' if code.endswith('h') else 'days'}"
    return parse_window(NAMES.get(code, rolling))


SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

MAX_LATE_AND_KEEP: Final = 400 * DAY  # `late` and `keep` are at most this long
SEASON_KEPT: Final = 800 * DAY
"""How long after its end a season's scores and rankings are stored. Whether it can be read depends on the next season,
which may be added at any time."""


class Timetable:
    """The calendar of a board, with its rules of late events and of reading time.

    Hours, days, weeks, months, years and seasons begin by one time zone. Weeks begin on `week_start` (Monday is 0).
    Every hour has 3,600 seconds and begins where the zone's clocks showed a full hour in January 2025. So a day of 25
    hours has 25 of them, and hours of a half-hour zone begin at half past in UTC.

    `late` and `keep` are in milliseconds:

    - Late events: a bucket accepts an event until `late` after the bucket has ended, and so does a period of a rolling
      window. For hours, at most one day.
    - Reading time of a calendar period: `keep` after its end (for hours at most `late` and one hour), and until the
      next period accepts no late events. A season at most `SEASON_KEPT` after its end.
    - Reading time of a rolling period: `late` after its end, and at least as long as its last bucket.
    """

    def __init__(
        self, timezone: str, week_start: int, late: int = 0, keep: int = 0, seasons: "Seasons | None" = None
    ) -> None:
        self.timezone = timezone
        self.week_start = week_start
        self.late = late
        self.keep = keep
        self.seasons = seasons or Seasons()
        self._zone = None if timezone == "UTC" else time_zone(timezone)
        offset = datetime(2025, 1, 15, tzinfo=self._zone or UTC).utcoffset() or timedelta()
        self._hour_shift = int(offset.total_seconds()) * SECOND % HOUR
        self.start = lru_cache(maxsize=4096)(self._start)
        self.span = lru_cache(maxsize=4096)(self._span)
        self.limited = lru_cache(maxsize=16)(self._limited)
        self.readable_until = lru_cache(maxsize=4096)(self._readable_until)

    def index(self, unit: Unit, at: int) -> int:
        """The index of the bucket that contains an instant (ms): 20778; of seasons the latest begun, or NO_SEASON."""
        if unit == "h":
            return (at + self._hour_shift) // HOUR
        day = at // DAY if self._zone is None else self.local(at).toordinal() - _EPOCH_ORDINAL
        return self._index_of_day(unit, day)

    def _index_of_day(self, unit: Unit, day: int) -> int:
        if unit == "d":
            return day
        if unit == "w":
            return (day + _EPOCH_WEEKDAY - self.week_start) // 7
        if unit == "s":
            return self.seasons.begun(day)
        on = date.fromordinal(day + _EPOCH_ORDINAL)
        return on.year if unit == "y" else on.year * 12 + on.month - 1

    def _first_day(self, unit: Unit, index: int) -> int:
        if unit == "d":
            return index
        if unit == "w":
            return index * 7 - _EPOCH_WEEKDAY + self.week_start
        if unit == "s":
            return self.seasons[index].starts
        year, month = (index, 0) if unit == "y" else divmod(index, 12)
        return date(year, month + 1, 1).toordinal() - _EPOCH_ORDINAL

    def _start(self, unit: Unit, index: int) -> int:
        """The instant (ms) at which a bucket begins. A day whose midnight is skipped begins right after the gap."""
        if unit == "h":
            return index * HOUR - self._hour_shift
        day = self._first_day(unit, index)
        if self._zone is None:
            return day * DAY
        midnight = datetime.fromordinal(day + _EPOCH_ORDINAL).replace(tzinfo=self._zone)
        return (midnight - EPOCH) // timedelta(milliseconds=1)

    def end(self, unit: Unit, index: int) -> int:
        """The instant (ms) at which a bucket ends. Unless it is a season, the next one begins then."""
        return self.start("d", self.seasons[index].ends) if unit == "s" else self.start(unit, index + 1)

    def offset(self, unit: Unit, index: int, step: int) -> int | None:
        """The index of the bucket `step` buckets later; None if there is no such season."""
        return self.seasons.offset(index, step) if unit == "s" else index + step

    def has(self, unit: Unit, index: int) -> bool:
        """Whether there is such a bucket, and it began in 1970 or later."""
        return index in self.seasons if unit == "s" else index >= self.index(unit, 0)

    def local(self, at: int) -> datetime:
        """An instant (ms) as the board's clocks show it."""
        return (EPOCH + timedelta(milliseconds=at)).astimezone(self._zone or UTC)

    def current(self, window: Window, now: int) -> int:
        """The index of the period that contains `now`; 0 for `all`. For seasons as `index`."""
        return 0 if window.unit is None else self.index(window.unit, now)

    def bounds(self, window: Window, period: int) -> tuple[int, int] | None:
        """The start and the end of a period (ms): `(1795219200000, 1795305600000)`; None for `all` and NO_SEASON."""
        if window.unit is None or (window.unit == "s" and period == NO_SEASON):
            return None
        return self.start(window.unit, window.buckets(period)[0]), self.end(window.unit, period)

    def beside(self, window: Window, period: int, step: Literal[-1, 1]) -> int | None:
        """The period before (-1) or after (1) a period; None for `all`, and where there is no such season.

        It leaves out a date that the clocks skipped, such as 2011-12-30 in Pacific/Apia, and what began before 1970.
        """
        unit = window.unit
        if unit is None or (unit == "s" and period == NO_SEASON):
            return None
        while (beside := self.offset(unit, period, step)) is not None and self.has(unit, beside):
            if self.start(unit, beside) < self.end(unit, beside):
                return beside
            period = beside
        return None

    def _span(self, window: Window, period: int) -> "Span":
        """The name, the start and the end of a period by the zone's clocks; none for `all` and before all seasons."""
        bounds = self.bounds(window, period)
        if bounds is None or window.unit is None:
            return Span()
        starts, ends = (self.local(at).isoformat().replace("+00:00", "Z") for at in bounds)
        return Span(self._name(window.unit, period), starts, ends)

    def _name(self, unit: Unit, index: int) -> str:
        """What `parse_period` takes: a first day, an hour with its offset where the text needs one, a season's name."""
        if unit == "s":
            return self.seasons[index].name
        if unit != "h":
            return day_text(self._first_day(unit, index))
        # The clocks need not show a full hour at its start: after a change by half an hour they show half past. The
        # offset holds at its last moment: a full hour before a change may have another, or be one that they skip.
        last = self.local(self.end("h", index) - 1)
        shown, offset = last.replace(minute=0, second=0, microsecond=0), last.isoformat()[-6:]
        text = shown.isoformat()[:13]
        first, second = (shown.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1))
        return text + offset if first > second or self._hour(text) != index else text

    def parse_period(self, window: Window, text: str) -> int:
        """The index of the period that contains a day (`2026-11-20`), of an hour (`2026-11-20T15`) or a season's name.

        A week, a month and a year have names of their own too: `2026-W47`, `2026-11` and `2026`. Where weeks do not
        begin on Monday, the name is that of the week which has the most days of it.
        When the clocks show an hour twice, the text means the first one, unless it has an offset
        (`2026-10-25T02+01:00`). Raises ValueError for any other text.
        """
        unit = window.unit
        if unit is None:
            raise ValueError(f"the window {window.name!r} has no periods")
        if unit == "s":
            index = self.seasons.find(text, parse_day(text) if text[:1].isdigit() else None)
            if index is None:
                names = ", ".join(season.name for season in self.seasons.all)
                raise ValueError(f"expected a season or a day in one, got {text[:80]!r}; seasons: {names}")
            return index
        try:
            return self._hour(text) if unit == "h" else self._index_of_day(unit, _day_in(unit, text))
        except ValueError as error:
            day = f"{_NAMED.get(unit, _NOT_NAMED)[2]}a day such as 2026-11-20"
            example = "an hour such as 2026-11-20T15" if unit == "h" else day
            raise ValueError(f"expected {example} for a period of {window.name!r}, got {text[:80]!r}") from error

    def _hour(self, text: str) -> int:
        match = _HOUR_TEXT.fullmatch(text)
        if match is None:
            raise ValueError(text)
        parse_day(match[1])
        on = datetime.fromisoformat(f"{match[1]}T{match[2]}:00:00{(match[3] or '').replace(' ', '+')}")
        on = on if on.tzinfo else on.replace(tzinfo=self._zone or UTC)
        return self.index("h", (on - EPOCH) // timedelta(milliseconds=1))

    def late_for(self, unit: Unit) -> int:
        """How long after its end a bucket accepts events, in milliseconds."""
        return min(self.late, DAY) if unit == "h" else self.late

    def bucket_for(self, unit: Unit, at: int, now: int) -> int | None:
        """The index of the bucket in which an event of the instant `at` counts now; None if the event is too late."""
        if now - at > (max(366, self.seasons.longest) + 1) * DAY + self.late:
            return None  # Longer than any bucket: `at` may be in a year for which Python has no calendar.
        index = self.index(unit, at)
        if unit == "s" and (index == NO_SEASON or at >= self.end(unit, index)):
            return None  # It is in a gap between seasons.
        return index if now - self.end(unit, index) < self.late_for(unit) else None

    def _readable_until(self, window: Window, period: int) -> int | None:
        """The instant from which a period can no longer be read; None for `all`, which always can."""
        unit = window.unit
        if unit is None:
            return None
        if window.rolling:
            return self.rolling_until(unit, period)
        end, late = self.end(unit, period), self.late_for(unit)
        keep = min(self.keep, late + HOUR) if unit == "h" else self.keep
        following = self.offset(unit, period, 1)
        until = end + keep if following is None else max(end + keep, self.end(unit, following) + late)
        return min(until, end + SEASON_KEPT) if unit == "s" else until

    def rolling_until(self, unit: Unit, period: int) -> int:
        """The instant from which a period of a rolling window can no longer be read."""
        end = self.end(unit, period)
        return end + max(self.late_for(unit), end - self.start(unit, period))

    def kept_until(self, window: Window, period: int) -> int | None:
        """The instant from which a period's scores and ranking may be gone; None for `all`."""
        return self.end("s", period) + SEASON_KEPT if window.unit == "s" else self.readable_until(window, period)

    def _limited(self, late: int, keep: int) -> "Timetable":
        if (late, keep) == (self.late, self.keep):
            return self
        return Timetable(self.timezone, self.week_start, late, keep, self.seasons)


NO_SEASON: Final = -1  # The index of the time before the first season


class Seasons:
    """The seasons of a family, by start. They never overlap, but may have gaps between them. `longest` is in days."""

    def __init__(self, seasons: Iterable["Season"] = ()) -> None:
        self.all = tuple(sorted(seasons, key=lambda season: season.starts))
        self.indexes = tuple(season.index for season in self.all)
        self.longest = max((season.ends - season.starts for season in self.all), default=0)
        self._by_index = {season.index: season for season in self.all}

    def __contains__(self, index: int) -> bool:
        return index in self._by_index

    def __getitem__(self, index: int) -> "Season":
        return self._by_index[index]

    def begun(self, day: int) -> int:
        """The index of the latest season that has begun on a day, though it may have ended; or NO_SEASON."""
        position = bisect_right(self.all, day, key=lambda season: season.starts)
        return self.indexes[position - 1] if position else NO_SEASON

    def offset(self, index: int, step: int) -> int | None:
        """The index of the season `step` seasons later; None if there is none."""
        position = self.indexes.index(index) + step
        return self.indexes[position] if 0 <= position < len(self.indexes) else None

    def find(self, name: str, day: int | None) -> int | None:
        """The index of the season with this name, or that contains this day; None if there is none."""
        found = (one for one in self.all if one.name == name or (day is not None and one.starts <= day < one.ends))
        return next((season.index for season in found), None)


@dataclass(frozen=True)
class Season:
    """A span of days with a name. Days are counted since 1970; `ends` is the first day that no longer belongs to it."""

    name: str
    starts: int
    ends: int

    @cached_property
    def index(self) -> int:
        """A number made from the name, the start and the end. A season that starts later has a greater one."""
        digest = blake2b(repr((self.name, self.ends)).encode(), digest_size=8).digest()
        return first_index(self.starts) + int.from_bytes(digest, "big") % first_index(1)


def first_index(day: int) -> int:
    """The least index of seasons that start on this day or later."""
    return day * 10**6


EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL: Final = EPOCH.toordinal()
_EPOCH_WEEKDAY: Final = 3  # 1970-01-01 was a Thursday; Monday is 0
_DAY_TEXT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})")
# A `+` that nobody has encoded comes out of a query as a space.
_HOUR_TEXT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2})(Z|[ +-][0-9]{2}:[0-9]{2})?")
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Span(NamedTuple):
    """A period for clients: its name in `?period=`, its start and its end, `2026-11-22T00:00:00+01:00`; or None."""

    name: str | None = None
    starts: str | None = None
    ends: str | None = None


def parse_day(text: str) -> int:
    """The number of a day such as `2026-11-20`: days since 1970. ValueError for any other text."""
    match = _DAY_TEXT.fullmatch(text)
    day = date.fromisoformat(match[1]) if match else date.min
    if not EPOCH.year <= day.year < date.max.year:
        raise ValueError(f"expected a day such as 2026-11-20, got {text[:80]!r}")
    return day.toordinal() - _EPOCH_ORDINAL


_NAMED: Final[dict[Unit, tuple[str, str, str]]] = {
    "w": ("[0-9]{4}-W[0-9]{2}", "-4", "a week such as 2026-W47 or "),
    "m": ("[0-9]{4}-[0-9]{2}", "-01", "a month such as 2026-11 or "),
    "y": ("[0-9]{4}", "-01-01", "a year such as 2026 or "),
}
"""What else than by a day names a period, what makes such a name a day in it (of a week its Thursday), an example."""
_NOT_NAMED: Final = ("", "", "")


def _day_in(unit: Unit, text: str) -> int:
    """The number of the day that a text names, or of one in the week, the month or the year that it names."""
    pattern, rest, _ = _NAMED.get(unit, _NOT_NAMED)
    return parse_day(date.fromisoformat(text + rest).isoformat() if re.fullmatch(pattern, text) else text)


def day_text(day: int) -> str:
    """A day as text, the inverse of `parse_day`: 20778 is `2026-11-21`."""
    return date.fromordinal(day + _EPOCH_ORDINAL).isoformat()


def instant(at: int | None) -> str | None:
    """An instant as text in UTC, such as `2026-11-21T10:15:00.000Z`; None for None."""
    if at is None:
        return None
    when = EPOCH + timedelta(milliseconds=at)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


SPANS: Final = {"day": DAY, "hour": HOUR, "minute": MINUTE}


def span_text(milliseconds: int) -> str:
    """A span as `boards.toml` writes it, in the largest unit that fits: `11 days`, `36 hours`."""
    unit, size = next((unit, size) for unit, size in SPANS.items() if milliseconds % size == 0)
    number = milliseconds // size
    return f"{number} {unit}{'' if number == 1 else 's'}"


State = Literal["open", "closing", "final"]
CLOCKS_DIFFER: Final = 5 * MINUTE
"""A period is final this much later than by the calendar. A writer decides by its own clock what is late, and then
needs some seconds to write it. So this is the most by which a writer's clock may be behind a reader's."""


def final_at(timetable: Timetable, window: Window, period: int) -> int | None:
    """The instant (ms) from which no event changes a period's scores; None for `all`, and for rolling windows."""
    bounds = timetable.bounds(window, period)
    if window.unit is None or window.rolling or bounds is None:
        return None
    return bounds[1] + timetable.late_for(window.unit) + CLOCKS_DIFFER


def state_of(timetable: Timetable, window: Window, period: int, now: int) -> State:
    """Whether a period is `open`, has ended and takes late events (`closing`), or is `final`: nothing changes it."""
    final, bounds = final_at(timetable, window, period), timetable.bounds(window, period)
    if final is None or bounds is None or now < bounds[1]:
        return "open"
    return "closing" if now < final else "final"


def label_of(timetable: Timetable, window: Window, period: int) -> str:
    """A period's name in files: its first day, such as `2026-11-16`, or a season's name. ValueError for `all`."""
    name = timetable.span(window, period).name
    if name is None:
        raise ValueError(f"the window {window.name!r} has no periods")
    return name


_UTC: Final = Timetable("UTC", 0)
_MAX_READ_LENGTH: Final[dict[Unit, int]] = {
    "h": (MAX_ROLLING_BUCKETS + MAX_SLAB - 1) * HOUR + DAY,
    "d": (MAX_ROLLING_BUCKETS + MAX_SLAB - 1) * DAY + MAX_LATE_AND_KEEP,
    "w": 7 * DAY + MAX_LATE_AND_KEEP,
    "m": 31 * DAY + MAX_LATE_AND_KEEP,
    "y": 366 * DAY + MAX_LATE_AND_KEEP,
    "s": 366 * DAY + SEASON_KEPT,
}
"""How long after the end of a bucket some definition may still need it. A bucket stays part of the longest rolling
window and of the slab in which that ends, or is kept until the next calendar period has ended; then come `late` and
`keep`."""


MAX_READ: Final = 2 * max(_MAX_READ_LENGTH.values())
"""No period of any definition can be read that contains an instant so long ago, in milliseconds."""


def is_past_reading(unit: Unit, index: int, now: int) -> bool:
    """Whether no possible definition reads a bucket any more, or counts an event in it."""
    long_ago = now - _MAX_READ_LENGTH[unit]
    # Another time zone or week start moves a bucket by less than its length: hence one bucket more.
    if unit == "s":  # A definition that does not know a season makes it unreadable, so that it may have been longer.
        return index < first_index(_UTC.index("d", long_ago) - 1)
    return index < _UTC.index(unit, long_ago) - 1
