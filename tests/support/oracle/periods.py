"""Which hours, days, weeks, months and years there are on a board's clocks, by the calendar alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

CALENDAR = ("hour", "day", "week", "month", "year")
Bucket = datetime | date
"""An hour is the instant at which it begins, in UTC; anything longer is its first day."""


@dataclass
class Calendar:
    """A board's time zone, the day its weeks begin with (Monday is 0), and its `late` and `keep`."""

    zone: tzinfo = UTC
    week_start: int = 0
    late: timedelta = timedelta(days=7)
    keep: timedelta = timedelta(days=35)

    def bucket(self, kind: str, at: datetime) -> Bucket:
        """The hour, day, week, month or year that holds an instant."""
        local = at.astimezone(self.zone)
        if kind == "hour":
            since = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
            return at.astimezone(UTC) - since
        day = local.date()
        if kind == "week":
            return day - timedelta(days=(day.weekday() - self.week_start) % 7)
        return {"day": day, "month": day.replace(day=1), "year": day.replace(month=1, day=1)}[kind]

    def start(self, bucket: Bucket) -> datetime:
        if isinstance(bucket, datetime):
            return bucket
        return datetime(bucket.year, bucket.month, bucket.day, tzinfo=self.zone).astimezone(UTC)

    def end(self, kind: str, bucket: Bucket) -> datetime:
        return self.start(_following(kind, bucket))

    def late_for(self, kind: str) -> timedelta:
        return min(self.late, timedelta(days=1)) if kind == "hour" else self.late

    def takes(self, at: datetime, now: datetime) -> dict[str, Bucket]:
        """Where an event of an instant counts that is applied at another: what ended less than `late` before."""
        buckets = {kind: self.bucket(kind, at) for kind in CALENDAR}
        return {kind: bucket for kind, bucket in buckets.items() if now - self.end(kind, bucket) < self.late_for(kind)}

    def held(self, window: str, on: datetime) -> list[Bucket]:
        """The buckets that make up the period of a window that holds an instant, the last first; none for `all`."""
        if window == "all":
            return []
        bucket = self.bucket(unit(window), on)
        if window in CALENDAR:
            return [bucket]
        number = int(window.split("-")[1])
        step = timedelta(hours=1) if unit(window) == "hour" else timedelta(days=1)
        return [bucket - back * step for back in range(number)]

    def bounds(self, window: str, on: datetime) -> tuple[datetime, datetime] | tuple[None, None]:
        """When the period of a window that holds an instant begins and ends."""
        held = self.held(window, on)
        return (self.start(held[-1]), self.end(unit(window), held[0])) if held else (None, None)

    def before(self, window: str, on: datetime) -> datetime | None:
        """An instant in the period before: for a rolling window, the one that ended a bucket earlier."""
        held = self.held(window, on)
        return self.start(held[0]) - timedelta(milliseconds=1) if held else None

    def is_readable(self, window: str, on: datetime, now: datetime) -> bool:
        """Whether the period of a window that holds an instant can still be read."""
        if window == "all":
            return True
        kind = unit(window)
        bucket = self.bucket(kind, on)
        end = self.end(kind, bucket)
        if window not in CALENDAR:
            return now < end + max(self.late_for(kind), end - self.start(bucket))
        keep = min(self.keep, self.late_for(kind) + timedelta(hours=1)) if kind == "hour" else self.keep
        following = _following(kind, bucket)
        return now < max(end + keep, self.end(kind, following) + self.late_for(kind))

    def earlier(self, window: str, now: datetime) -> Iterator[datetime]:
        """An instant in each period before the current one that can still be read, the latest first."""
        on = self.before(window, now)
        while on is not None and self.is_readable(window, on, now):
            yield on
            on = self.before(window, on)

    def later(self, window: str, now: datetime) -> Iterator[datetime]:
        """An instant in each period after the current one, without end; a rolling one ends a bucket later each time."""
        held = self.held(window, now)
        while held:
            on = self.end(unit(window), held[0])
            yield on
            held = self.held(window, on)

    def named(self, window: str, on: datetime) -> str | None:
        """What a reader calls the period that holds an instant."""
        local = on.astimezone(self.zone)
        if window == "all":
            return None
        return f"{local:%Y-%m-%dT%H}{local.isoformat()[-6:]}" if unit(window) == "hour" else local.date().isoformat()


def unit(window: str) -> str:
    """The kind of bucket that the periods of a window are made of."""
    return window if window in CALENDAR else window.split("-")[2].removesuffix("s")


def _following(kind: str, bucket: Bucket) -> Bucket:
    if isinstance(bucket, datetime):
        return bucket + timedelta(hours=1)
    return {
        "day": bucket + timedelta(days=1),
        "week": bucket + timedelta(days=7),
        "month": (bucket.replace(day=1) + timedelta(days=32)).replace(day=1),
        "year": date(bucket.year + 1, 1, 1),
    }[kind]
