"""The calendar of a board: which bucket an instant is in, and when a bucket or period begins and ends.

Instants are milliseconds since 1970-01-01T00:00:00Z. Buckets have indexes: hours, days and weeks since 1970 in the
board's time zone, months as year × 12 + month - 1, years. Those of seasons are made from their names, starts and ends
(`seasons`). A rolling period has the index of its last bucket.
"""

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from standings.domain.windows.seasons import NO_SEASON, NO_SEASONS, Seasons
from standings.domain.windows.window import Unit, Window

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL: Final = EPOCH.toordinal()
_EPOCH_WEEKDAY: Final = 3  # 1970-01-01 was a Thursday; Monday is 0
_DAY_TEXT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})")
_HOUR_TEXT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?")


class Calendar:
    """Hours, days, weeks, months, years and seasons in one time zone. Weeks begin on `week_start` (Monday is 0).

    Every hour has 3,600 seconds and begins where the zone's clocks showed a full hour in January 2025. So a day of 25
    hours has 25 of them, and hours of a half-hour zone begin at half past in UTC.
    """

    def __init__(self, timezone: str, week_start: int, seasons: Seasons = NO_SEASONS) -> None:
        self.timezone = timezone
        self.week_start = week_start
        self.seasons = seasons
        self._zone = None if timezone == "UTC" else ZoneInfo(timezone)
        offset = datetime(2025, 1, 15, tzinfo=self._zone or UTC).utcoffset() or timedelta()
        self._hour_shift = int(offset.total_seconds()) * SECOND % HOUR
        self.start = lru_cache(maxsize=4096)(self._start)

    def index(self, unit: Unit, at: int) -> int:
        """The index of the bucket that contains an instant. For seasons: the latest that has begun, or NO_SEASON."""
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

    def _start(self, unit: Unit, index: int) -> int:
        """The instant at which a bucket begins. A day whose midnight the clocks skip begins right after the gap."""
        if unit == "h":
            return index * HOUR - self._hour_shift
        if unit == "d":
            day = index
        elif unit == "w":
            day = index * 7 - _EPOCH_WEEKDAY + self.week_start
        elif unit == "s":
            day = self.seasons[index].starts
        else:
            year, month = (index, 0) if unit == "y" else divmod(index, 12)
            day = date(year, month + 1, 1).toordinal() - _EPOCH_ORDINAL
        if self._zone is None:
            return day * DAY
        midnight = datetime.fromordinal(day + _EPOCH_ORDINAL).replace(tzinfo=self._zone)
        return (midnight - EPOCH) // timedelta(milliseconds=1)

    def end(self, unit: Unit, index: int) -> int:
        """The instant at which a bucket ends. Unless it is a season, the next one begins then."""
        return self.start("d", self.seasons[index].ends) if unit == "s" else self.start(unit, index + 1)

    def beside(self, unit: Unit, index: int, step: int) -> int | None:
        """The index of the bucket so many buckets later; None if there is no such season."""
        return self.seasons.beside(index, step) if unit == "s" else index + step

    def has(self, unit: Unit, index: int) -> bool:
        """Whether there is such a bucket, and it began in 1970 or later."""
        return index in self.seasons if unit == "s" else index >= self.index(unit, 0)

    def local(self, at: int) -> datetime:
        """An instant as the board's clocks show it."""
        return (EPOCH + timedelta(milliseconds=at)).astimezone(self._zone or UTC)

    def current(self, window: Window, now: int) -> int:
        """The index of the period that contains `now`; 0 for `all`. For seasons as `index`."""
        return 0 if window.unit is None else self.index(window.unit, now)

    def bounds(self, window: Window, period: int) -> tuple[int, int] | None:
        """The start and the end of a period; None for `all` and before the first season."""
        if window.unit is None or (window.unit == "s" and period == NO_SEASON):
            return None
        return self.start(window.unit, window.buckets(period)[0]), self.end(window.unit, period)

    def parse_period(self, window: Window, text: str) -> int:
        """The index of the period that contains a day (`2026-11-20`), of an hour (`2026-11-20T15`) or a season's name.

        When the clocks show an hour twice, the text means the first one, unless it has an offset
        (`2026-10-25T02+01:00`). Raises ValueError for any other text.
        """
        unit = window.unit
        if unit is None:
            raise ValueError(f"the window {window.name!r} has no periods")
        if unit == "s":
            return self._parse_season(text)
        try:
            if unit != "h":
                return self._index_of_day(unit, parse_day(text))
            match = _HOUR_TEXT.fullmatch(text)
            if match is None:
                raise ValueError(text)
            parse_day(match[1])
            on = datetime.fromisoformat(f"{match[1]}T{match[2]}:00:00{match[3] or ''}")
            on = on if on.tzinfo else on.replace(tzinfo=self._zone or UTC)
            return self.index("h", (on - EPOCH) // timedelta(milliseconds=1))
        except ValueError as error:
            example = "an hour such as 2026-11-20T15" if unit == "h" else "a day such as 2026-11-20"
            raise ValueError(f"expected {example} for a period of {window.name!r}, got {text[:80]!r}") from error

    def _parse_season(self, text: str) -> int:
        day = parse_day(text) if text[:1].isdigit() else None
        index = self.seasons.find(text, day)
        if index is None:
            names = ", ".join(season.name for season in self.seasons.all)
            raise ValueError(f"expected a season or a day in one, got {text[:80]!r}; seasons: {names}")
        return index


def parse_day(text: str) -> int:
    """The number of a day such as `2026-11-20`: days since 1970. ValueError for any other text."""
    match = _DAY_TEXT.fullmatch(text)
    day = date.fromisoformat(match[1]) if match else date.min
    if not EPOCH.year <= day.year < date.max.year:
        raise ValueError(f"expected a day such as 2026-11-20, got {text[:80]!r}")
    return day.toordinal() - _EPOCH_ORDINAL


def day_text(day: int) -> str:
    """A day with this number as text: the inverse of `parse_day`."""
    return date.fromordinal(day + _EPOCH_ORDINAL).isoformat()


def instant(at: int | None) -> str | None:
    """An instant as text, in UTC, to the millisecond."""
    if at is None:
        return None
    when = EPOCH + timedelta(milliseconds=at)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
