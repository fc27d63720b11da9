"""Windows of time, their periods, and when each is open, readable and gone.

Instants are integers: milliseconds since 1970-01-01T00:00:00Z. A period of a calendar window, and a bucket of a
rolling one, is an integer index: hours and days since 1970 as the board's time zone has them, weeks likewise,
months as year × 12 + month - 1, years. A rolling period has the index of its last bucket.
"""

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from standings.domain.windows.calendar import DAY, HOUR, SECOND
from standings.domain.windows.window import MAX_ROLLING_BUCKETS, Unit, Window

MAX_LATE_AND_KEEP: Final = 400 * DAY
"""`late` and `keep` are at most this long."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_EPOCH_WEEKDAY: Final = 3  # 1970-01-01 was a Thursday; Monday is 0
_DAY_TEXT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HOUR_TEXT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?")
# The longest calendar period: what ended before this plus `late` needs no calendar to be told late.
_MAX_PERIOD_LENGTH: Final = 367 * DAY


class Timetable:
    """When periods begin and end in one time zone, and how long they take events and can be read.

    Two rules carry everything: an event counts in a bucket or calendar period that ended less than `late` ago, and an
    ended period stays readable for `keep` (calendar) or `late` (rolling). For hours `late` is at most a day, `keep` at
    most that and the next hour.

    Hours are 3,600 seconds each and begin where the zone's clocks, in January 2025, showed a full hour: so a day of 25
    hours has 25 of them, and half-hour zones have theirs on the half hour of UTC.
    """

    def __init__(self, timezone: str, week_start: int, late: int, keep: int) -> None:
        self.timezone = timezone
        self.week_start = week_start
        self.late = late
        self.keep = keep
        self._zone = None if timezone == "UTC" else ZoneInfo(timezone)
        self._hour_shift = 0
        if self._zone is not None:
            offset = datetime(2025, 1, 15, tzinfo=self._zone).utcoffset() or timedelta()
            self._hour_shift = int(offset.total_seconds()) * SECOND % HOUR
        self.limited = lru_cache(maxsize=16)(self._limited)
        self.start = lru_cache(maxsize=4096)(self._start)
        self.readable_until = lru_cache(maxsize=4096)(self._readable_until)

    def _limited(self, late: int, keep: int) -> "Timetable":
        """The same calendar under other limits."""
        return self if (late, keep) == (self.late, self.keep) else Timetable(self.timezone, self.week_start, late, keep)

    def index(self, unit: Unit, at: int) -> int:
        """The index of the bucket or calendar period that holds an instant."""
        if unit == "h":
            return (at + self._hour_shift) // HOUR
        day = at // DAY if self._zone is None else self.local(at).toordinal() - _EPOCH_ORDINAL
        return self._index_of_day(unit, day)

    def _start(self, unit: Unit, index: int) -> int:
        """The instant at which a bucket or calendar period begins; where midnight is skipped, the first after it."""
        if unit == "h":
            return index * HOUR - self._hour_shift
        if unit == "d":
            day = index
        elif unit == "w":
            day = index * 7 - _EPOCH_WEEKDAY + self.week_start
        else:
            year, month = (index, 0) if unit == "y" else divmod(index, 12)
            day = date(year, month + 1, 1).toordinal() - _EPOCH_ORDINAL
        if self._zone is None:
            return day * DAY
        on = date.fromordinal(day + _EPOCH_ORDINAL)
        midnight = datetime(on.year, on.month, on.day, tzinfo=self._zone)
        return (midnight - _EPOCH) // timedelta(milliseconds=1)

    def end(self, unit: Unit, index: int) -> int:
        """The instant at which it has ended: the start of the next."""
        return self.start(unit, index + 1)

    def local(self, at: int) -> datetime:
        """An instant as the board's clocks show it."""
        return (_EPOCH + timedelta(milliseconds=at)).astimezone(self._zone or UTC)

    def late_for(self, unit: Unit) -> int:
        """How long after its end a bucket or calendar period takes events."""
        return min(self.late, DAY) if unit == "h" else self.late

    def keep_for(self, unit: Unit) -> int:
        """How long after its end a calendar period stays readable, its successor's events aside."""
        return min(self.keep, self.late_for(unit) + HOUR) if unit == "h" else self.keep

    def accepts(self, unit: Unit, at: int, now: int) -> int | None:
        """The index of the bucket in which an event of that instant counts now; None when it comes too late."""
        if now - at > _MAX_PERIOD_LENGTH + self.late:
            return None
        index = self.index(unit, at)
        return index if now - self.end(unit, index) < self.late_for(unit) else None

    def current(self, window: Window, now: int) -> int:
        """The index of the period that holds `now`; 0 for `all`."""
        return 0 if window.unit is None else self.index(window.unit, now)

    def bounds(self, window: Window, index: int) -> tuple[int, int] | None:
        """The start and the end of a period; None for `all`, which has neither."""
        if window.unit is None:
            return None
        return self.start(window.unit, index - window.size + 1), self.end(window.unit, index)

    def _readable_until(self, window: Window, index: int) -> int | None:
        """The instant at which a period can no longer be read; None for `all`, which always can."""
        unit = window.unit
        if unit is None:
            return None
        end = self.end(unit, index)
        if window.rolling:
            return end + max(self.late_for(unit), end - self.start(unit, index))
        return max(end + self.keep_for(unit), self.end(unit, index + 1) + self.late_for(unit))

    def parse_period(self, window: Window, text: str) -> int:
        """The index of the period that a reader names: a day in it (`2026-11-20`), for hours `2026-11-20T15`.

        An hour that the clocks show twice is the first of the two, unless an offset is given (`2026-10-25T02+01:00`).
        ValueError says what is expected.
        """
        unit = window.unit
        if unit is None:
            raise ValueError(f"the window {window.name!r} has no periods")
        try:
            if unit != "h":
                if not _DAY_TEXT.fullmatch(text):
                    raise ValueError(text)
                return self._index_of_day(unit, _day_in_reach(date.fromisoformat(text)))
            if not (match := _HOUR_TEXT.fullmatch(text)):
                raise ValueError(text)
            _day_in_reach(date.fromisoformat(match[1]))
            on = datetime.fromisoformat(f"{match[1]}T{match[2]}:00:00{match[3] or ''}")
            on = on if on.tzinfo else on.replace(tzinfo=self._zone or UTC)
            return self.index("h", (on - _EPOCH) // timedelta(milliseconds=1))
        except ValueError as error:
            example = "an hour such as 2026-11-20T15" if unit == "h" else "a day such as 2026-11-20"
            raise ValueError(f"a period of {window.name!r} is named by {example}") from error

    def _index_of_day(self, unit: Unit, day: int) -> int:
        if unit == "d":
            return day
        if unit == "w":
            return (day + _EPOCH_WEEKDAY - self.week_start) // 7
        on = date.fromordinal(day + _EPOCH_ORDINAL)
        return on.year if unit == "y" else on.year * 12 + on.month - 1


# How long after the end of a bucket some definition may still read it: the longest rolling window goes on after it, or
# the next calendar period does; then come `late` and `keep`.
_MAX_READ_LENGTH: Final[dict[Unit, int]] = {
    "h": (MAX_ROLLING_BUCKETS - 1) * HOUR + DAY,
    "d": (MAX_ROLLING_BUCKETS - 1) * DAY + MAX_LATE_AND_KEEP,
    "w": 7 * DAY + MAX_LATE_AND_KEEP,
    "m": 31 * DAY + MAX_LATE_AND_KEEP,
    "y": 366 * DAY + MAX_LATE_AND_KEEP,
}
_UTC: Final = Timetable("UTC", 0, 0, 0)


def is_past_reading(unit: Unit, index: int, now: int) -> bool:
    """Whether no definition there can be reads a bucket or calendar period any more, or counts an event in it.

    The calendar is UTC's. Another zone or start of the week moves a period by less than its length: that is what one
    period more is for.
    """
    return index < _UTC.index(unit, now - _MAX_READ_LENGTH[unit]) - 1


def _day_in_reach(day: date) -> int:
    """A day's index; ValueError for one whose neighbours a calendar could not name."""
    if not _EPOCH.year <= day.year < date.max.year:
        raise ValueError(f"{day} is out of reach")
    return day.toordinal() - _EPOCH_ORDINAL
