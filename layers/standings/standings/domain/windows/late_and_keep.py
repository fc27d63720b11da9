"""Late events and reading time: how long after its end a period accepts events (`late`) and can be read (`keep`)."""

from functools import lru_cache
from typing import Final

from standings.domain.windows.calendar import DAY, HOUR, Calendar
from standings.domain.windows.seasons import NO_SEASON, NO_SEASONS, Seasons, first_index
from standings.domain.windows.window import MAX_ROLLING_BUCKETS, MAX_SLAB, Unit, Window

MAX_LATE_AND_KEEP: Final = 400 * DAY  # `late` and `keep` are at most this long
SEASON_KEPT: Final = 800 * DAY
"""How long after its end a season's scores and rankings are stored. Whether it can be read depends on the next season,
which may be added at any time."""
_MAX_BUCKET_LENGTH: Final = 367 * DAY


class Timetable(Calendar):
    """A calendar with the rules of late events and of reading time. `late` and `keep` are in milliseconds.

    - Late events: a bucket accepts an event until `late` after the bucket has ended, and so does a period of a rolling
      window. For hours, at most one day.
    - Reading time of a calendar period: `keep` after its end (for hours at most `late` and one hour), and until the
      next period accepts no late events. A season at most `SEASON_KEPT` after its end.
    - Reading time of a rolling period: `late` after its end, and at least as long as its last bucket.
    """

    def __init__(self, timezone: str, week_start: int, late: int, keep: int, seasons: Seasons = NO_SEASONS) -> None:
        super().__init__(timezone, week_start, seasons)
        self.late = late
        self.keep = keep
        self.limited = lru_cache(maxsize=16)(self._limited)
        self.readable_until = lru_cache(maxsize=4096)(self._readable_until)

    def _limited(self, late: int, keep: int) -> "Timetable":
        """The same calendar with another `late` and `keep`."""
        if (late, keep) == (self.late, self.keep):
            return self
        return Timetable(self.timezone, self.week_start, late, keep, self.seasons)

    def late_for(self, unit: Unit) -> int:
        """How long after its end a bucket accepts events."""
        return min(self.late, DAY) if unit == "h" else self.late

    def accepts(self, unit: Unit, at: int, now: int) -> int | None:
        """The index of the bucket in which an event of the instant `at` counts now; None if the event is too late."""
        if now - at > max(_MAX_BUCKET_LENGTH, (self.seasons.longest + 1) * DAY) + self.late:
            return None  # `at` may be in a year for which Python has no calendar.
        index = self.index(unit, at)
        if unit == "s" and (index == NO_SEASON or at >= self.end(unit, index)):
            return None  # It is in a gap between seasons.
        return index if now - self.end(unit, index) < self.late_for(unit) else None

    def _readable_until(self, window: Window, period: int) -> int | None:
        """The instant from which a period can no longer be read; None for `all`, which always can."""
        unit = window.unit
        if unit is None:
            return None
        end, late = self.end(unit, period), self.late_for(unit)
        if window.rolling:
            return self.rolling_until(unit, period)
        keep = min(self.keep, late + HOUR) if unit == "h" else self.keep
        following = self.beside(unit, period, 1)
        until = end + keep if following is None else max(end + keep, self.end(unit, following) + late)
        return min(until, end + SEASON_KEPT) if unit == "s" else until

    def rolling_until(self, unit: Unit, period: int) -> int:
        """The instant from which a period of a rolling window can no longer be read."""
        end = self.end(unit, period)
        return end + max(self.late_for(unit), end - self.start(unit, period))

    def kept_until(self, window: Window, period: int) -> int | None:
        """The instant from which a period's scores and ranking may be gone; None for `all`."""
        return self.end("s", period) + SEASON_KEPT if window.unit == "s" else self.readable_until(window, period)


# How long after the end of a bucket some definition may still need it. A bucket stays part of the longest rolling
# window and of the slab in which that ends, or is kept until the next calendar period has ended; then come `late` and
# `keep`.
_MAX_READ_LENGTH: Final[dict[Unit, int]] = {
    "h": (MAX_ROLLING_BUCKETS + MAX_SLAB - 1) * HOUR + DAY,
    "d": (MAX_ROLLING_BUCKETS + MAX_SLAB - 1) * DAY + MAX_LATE_AND_KEEP,
    "w": 7 * DAY + MAX_LATE_AND_KEEP,
    "m": 31 * DAY + MAX_LATE_AND_KEEP,
    "y": 366 * DAY + MAX_LATE_AND_KEEP,
    "s": 366 * DAY + SEASON_KEPT,
}
_UTC: Final = Calendar("UTC", 0)


def is_past_reading(unit: Unit, index: int, now: int) -> bool:
    """Whether no possible definition reads a bucket any more, or counts an event in it."""
    long_ago = now - _MAX_READ_LENGTH[unit]
    # Another time zone or week start moves a bucket by less than its length: hence one bucket more.
    if unit == "s":  # A definition that does not know a season makes it unreadable, so that it may have been longer.
        return index < first_index(_UTC.index("d", long_ago) - 1)
    return index < _UTC.index(unit, long_ago) - 1
