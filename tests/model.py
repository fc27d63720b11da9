"""What a leaderboard should say: all that was accepted, counted by hand and sorted. It knows nothing of the design."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo

CALENDAR = ("hour", "day", "week", "month", "year")
Bucket = datetime | date
Line = tuple[int, str, int]


@dataclass
class Model:
    """One metric of one board. Scores are whole units; instants are aware datetimes; `late` as in `boards.toml`."""

    zone: tzinfo = UTC
    week_start: int = 0
    late: timedelta = timedelta(days=7)
    counted: list[tuple[str, int, dict[str, Bucket]]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def add(self, event_id: str, member: str, at: datetime, units: int, now: datetime) -> None:
        """An event that is applied at the instant `now`, once."""
        if event_id in self.seen:
            return
        self.seen.add(event_id)
        buckets = {}
        for kind in CALENDAR:
            late = min(self.late, timedelta(days=1)) if kind == "hour" else self.late
            if now - self.end(kind, self.bucket(kind, at)) < late:
                buckets[kind] = self.bucket(kind, at)
        self.counted.append((member, units, buckets))

    def bucket(self, kind: str, at: datetime) -> Bucket:
        """The hour (as an instant in UTC), day, or first day of the week, month or year that holds an instant."""
        local = at.astimezone(self.zone)
        if kind == "hour":
            return (
                at - timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
            ).astimezone(UTC)
        day = local.date()
        if kind == "week":
            return day - timedelta(days=(day.weekday() - self.week_start) % 7)
        return {"day": day, "month": day.replace(day=1), "year": day.replace(month=1, day=1)}[kind]

    def end(self, kind: str, bucket: Bucket) -> datetime:
        if isinstance(bucket, datetime):
            return bucket + timedelta(hours=1)
        following = {
            "day": bucket + timedelta(days=1),
            "week": bucket + timedelta(days=7),
            "month": (bucket.replace(day=1) + timedelta(days=32)).replace(day=1),
            "year": date(bucket.year + 1, 1, 1),
        }[kind]
        return datetime(following.year, following.month, following.day, tzinfo=self.zone)

    def scores(self, window: str, on: datetime) -> dict[str, int]:
        """The score of every ranked member in the period of a window that holds an instant."""
        kind = window
        held: set[Bucket] = set()
        if window in CALENDAR:
            held = {self.bucket(window, on)}
        elif window != "all":
            _, number, unit = window.split("-")
            kind = unit[:-1]
            held = set(self._last(kind, int(number), on))
        scores: dict[str, int] = {}
        for member, units, buckets in self.counted:
            if window == "all" or buckets.get(kind) in held:
                scores[member] = scores.get(member, 0) + units
        return scores

    def _last(self, kind: str, number: int, on: datetime) -> Iterator[Bucket]:
        bucket = self.bucket(kind, on)
        step = timedelta(hours=1) if kind == "hour" else timedelta(days=1)
        for back in range(number):
            yield bucket - back * step

    def standings(self, window: str, on: datetime, *, descending: bool = True) -> list[Line]:
        """The list as (rank, member, score): by score, then by member; equals share the best rank of theirs."""
        return standings(self.scores(window, on), descending=descending)


def standings(scores: dict[str, int], *, descending: bool = True) -> list[Line]:
    ordered = sorted(scores.items(), key=lambda line: (-line[1] if descending else line[1], line[0]))
    lines: list[Line] = []
    for position, (member, score) in enumerate(ordered, start=1):
        rank = lines[-1][0] if lines and lines[-1][2] == score else position
        lines.append((rank, member, score))
    return lines
