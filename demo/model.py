"""Computes rankings by brute force, without any code of the product.

It has the rules of the boards `demo-*`. Days and weeks are in UTC, and weeks begin on Monday. An event always counts in
`all`, and in a period if that has ended less than 35 days ago.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

WINDOWS = ("all", "day", "week", "month", "year", "last-7-days")
LATE = timedelta(days=35)

_DAY = timedelta(days=1)
_EVER = datetime.min.replace(tzinfo=UTC)
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Share:
    """A member's points in an event."""

    member: str
    points: int


@dataclass(frozen=True, slots=True)
class Event:
    """An event of one or more members."""

    id: str
    at: datetime
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Period:
    """One period of a window. `label` is its name in `?period=`, None for `all`."""

    window: str
    start: datetime
    end: datetime
    label: str | None


@dataclass(frozen=True, slots=True)
class Standing:
    """A member's place in a ranking."""

    rank: int
    member: str
    score: int


def period(window: str, at: datetime) -> Period:
    """Return the period of a window at a time."""
    day = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    label = day.date().isoformat()
    match window:
        case "all":
            return Period(window, _EVER, _NEVER, None)
        case "day":
            return Period(window, day, day + _DAY, label)
        case "week":
            monday = day - day.weekday() * _DAY
            return Period(window, monday, monday + 7 * _DAY, label)
        case "month":
            first = day.replace(day=1)
            return Period(window, first, (first + 31 * _DAY).replace(day=1), label)
        case "year":
            first = day.replace(month=1, day=1)
            return Period(window, first, first.replace(year=first.year + 1), label)
        case "last-7-days":
            return Period(window, day - 6 * _DAY, day + _DAY, label)
    raise ValueError(f"expected one of {WINDOWS}, got {window!r}")


def standings(events: Iterable[Event], of: Period, applied: datetime) -> list[Standing]:
    """Sort the members that have an event in the period, by score and then by member id.

    `applied` is when the events were applied: those that were too late then do not count.
    """
    scores: dict[str, int] = defaultdict(int)
    for event in events:
        if of.start <= event.at < of.end and applied - _closed(of.window, event.at) < LATE:
            for share in event.shares:
                scores[share.member] += share.points
    placed: list[Standing] = []
    order = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    for position, (member, score) in enumerate(order, start=1):
        tied = placed and placed[-1].score == score
        placed.append(Standing(placed[-1].rank if tied else position, member, score))
    return placed


def percentile(standing: Standing, total: int) -> float:
    """Return the share of members at or behind this one, in per cent, rounded down to two decimals.

    It computes with integers, and converts only the result to a float.
    """
    at_or_behind = total - standing.rank + 1
    return 10_000 * at_or_behind // total / 100


def acceptance_is_settled(at: datetime, now: datetime, margin: timedelta) -> bool:
    """Whether an event counts in the same periods at any time from `margin` before `now` to `margin` after it."""
    ends = (_closed(window, at) for window in WINDOWS if window != "all")
    return not any(now - LATE - margin <= end <= now - LATE + margin for end in ends)


def _closed(window: str, at: datetime) -> datetime:
    """Return the end of the period of an event, for a rolling window the end of its day."""
    return period("day" if window.startswith("last-") else window, at).end
