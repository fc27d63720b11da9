"""Works out the hours, days, weeks, months, years and seasons of a board from the calendar alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import NamedTuple

CALENDAR = ("hour", "day", "week", "month", "year")
ENDING = (*CALENDAR, "season")
SEASON = "season"
Bucket = datetime | date
"""An hour is given by its first instant, in UTC. A longer bucket is given by its first day."""


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

    def takes(self, at: datetime, now: datetime) -> dict[str, Bucket]:
        """Return the buckets in which an event applied at `now` counts: those that ended less than `late` ago."""
        buckets: dict[str, Bucket] = {kind: self.bucket(kind, at) for kind in CALENDAR}
        season = self.season(at)
        if season is not None and at < self.start(season.ends):
            buckets[SEASON] = season.starts
        return {kind: bucket for kind, bucket in buckets.items() if now - self.end(kind, bucket) < self.late_for(kind)}

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
