"""What every ranking should be, by a plain sort of the events. It uses no code of the product."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import ceil, floor
from typing import Any, Final
from zoneinfo import ZoneInfo

_SPAN: Final = re.compile(r"(\d+) (\w+?)s?")
_LENGTHS: Final = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True)
class Metric:
    """What a metric of the board counts, and the windows in which it ranks."""

    name: str
    aggregate: str
    descending: bool
    windows: tuple[str, ...]
    least: int | None = None
    most: int | None = None

    def within(self, amount: int) -> int:
        """The whole number nearest to an amount that the metric's limits allow."""
        raised = amount if self.least is None else max(amount, self.least)
        return raised if self.most is None else min(raised, self.most)

    @property
    def takes_whole_numbers(self) -> bool:
        """Whether any whole number is within the limits."""
        return self.least is None or self.most is None or self.least <= self.most


@dataclass(frozen=True, slots=True)
class Season:
    """A season, from its first day to the first that no longer belongs to it."""

    name: str
    starts: date
    ends: date


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a board. Events of the last `late` count in every period that they fall in."""

    board: str
    timezone: ZoneInfo
    week_start: int
    late: timedelta
    is_open: bool
    metrics: tuple[Metric, ...]
    seasons: tuple[Season, ...] = ()

    def season(self, at: datetime) -> Season | None:
        """The season at a time; None in a gap."""
        day = at.astimezone(self.timezone).date()
        return next((season for season in self.seasons if season.starts <= day < season.ends), None)


def rules_of(answer: Mapping[str, Any]) -> Rules:
    """The rules in an answer of the API."""
    metrics = tuple(
        Metric(
            one["metric"],
            one["aggregate"],
            one["order"] == "descending",
            tuple(window["window"] for window in one["windows"]),
            None if one["least"] is None else ceil(one["least"]),
            None if one["most"] is None else floor(one["most"]),
        )
        for one in answer["metrics"]
    )
    return Rules(
        answer["board"],
        ZoneInfo(answer["timezone"]),
        _WEEKDAYS.index(answer["week_start"]),
        _span(answer["late"]),
        answer["members"] == "open",
        metrics,
        tuple(
            Season(one["name"], date.fromisoformat(one["starts"]), date.fromisoformat(one["ends"]))
            for one in answer.get("seasons", ())
        ),
    )


def _span(text: str) -> timedelta:
    number, unit = _SPAN.fullmatch(text).groups()  # type: ignore[union-attr]
    return int(number) * _LENGTHS[unit]


_ROLLING: Final = re.compile(r"last-(\d+)-(hours|days)")
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Event:
    """What an event adds to each metric of its members: a whole number, or the nearest that the metric takes."""

    id: str
    at: datetime
    members: tuple[str, ...]
    amount: int


@dataclass(frozen=True, slots=True)
class Standing:
    """A member's rank and score."""

    rank: int
    member: str
    score: int


def bounds(window: str, at: datetime, rules: Rules) -> tuple[datetime, datetime] | None:
    """The first instant of a window's period at a time, and the first after it; None for `all`."""
    if window == "all":
        return None
    if window == "season":
        season = season_of(at, rules)
        return _midnight(season.starts, rules), _midnight(season.ends, rules)
    local = at.astimezone(rules.timezone)
    if match := _ROLLING.fullmatch("last-1-hours" if window == "hour" else window):
        count = int(match[1])
        return _hours(at, count, rules) if match[2] == "hours" else _days(local, 1 - count, 1, rules)
    weekday = (local.weekday() - rules.week_start) % 7
    match window:
        case "day":
            return _days(local, 0, 1, rules)
        case "week":
            return _days(local, -weekday, 7 - weekday, rules)
        case "month":
            first = local.replace(day=1)
            following = (first.replace(hour=12) + timedelta(days=31)).replace(day=1)
        case "year":
            first = local.replace(month=1, day=1)
            following = first.replace(year=first.year + 1)
        case _:
            raise ValueError(f"expected a window that this version knows, got {window!r}: use its own command line")
    return _midnight(first, rules), _midnight(following, rules)


def label(window: str, at: datetime, rules: Rules) -> str | None:
    """The name of a period in `?period=`; None for `all`."""
    if window == "all":
        return None
    if window == "season":
        return season_of(at, rules).name
    local = at.astimezone(rules.timezone)
    if window != "hour" and not window.endswith("-hours"):
        return local.date().isoformat()
    # An hour that the clocks show twice is named with its offset.
    offset = local.strftime("%z")
    is_twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    return f"{local:%Y-%m-%dT%H}" + (f"{offset[:3]}:{offset[3:]}" if is_twice else "")


def season_of(at: datetime, rules: Rules) -> Season:
    """The season at a time; ValueError in a gap."""
    season = rules.season(at)
    if season is None:
        raise ValueError(f"expected a time in a season, got {at.isoformat()}")
    return season


def standings(events: Iterable[Event], metric: Metric, period: tuple[datetime, datetime] | None) -> list[Standing]:
    """The members with an event in a period, from the first to the last, equals by member."""
    amounts: dict[str, list[tuple[datetime, str, int]]] = {}
    for event in events:
        if period is None or period[0] <= event.at < period[1]:
            for member in event.members:
                amounts.setdefault(member, []).append((event.at, event.id, metric.within(event.amount)))
    scores = {member: _aggregate(metric.aggregate, given) for member, given in amounts.items()}
    sign = -1 if metric.descending else 1
    placed: list[Standing] = []
    order = sorted(scores.items(), key=lambda one: (sign * one[1], one[0]))
    for position, (member, score) in enumerate(order, start=1):
        tied = placed and placed[-1].score == score
        placed.append(Standing(placed[-1].rank if tied else position, member, score))
    return placed


def percentile(standing: Standing, total: int) -> float:
    """The share of members at or behind this one, in per cent, rounded half up to two decimals."""
    hundredths = (20_000 * (total - standing.rank + 1) + total) // (2 * total)
    return hundredths / 100


def _aggregate(name: str, given: Sequence[tuple[datetime, str, int]]) -> int:
    values = [amount for _, _, amount in given]
    match name:
        case "sum":
            return sum(values)
        case "max":
            return max(values)
        case "min":
            return min(values)
        case _:
            return max(given)[2]  # the latest, of several such the one with the greatest id


def _hours(at: datetime, count: int, rules: Rules) -> tuple[datetime, datetime]:
    # Hours begin where the zone's clocks show a full hour: in some zones at half past in UTC.
    shift = (datetime(2025, 1, 15, tzinfo=rules.timezone).utcoffset() or timedelta()) % _HOUR
    end = (at.astimezone(UTC) + shift).replace(minute=0, second=0, microsecond=0) - shift + _HOUR
    return end - count * _HOUR, end


def _days(local: datetime, first: int, following: int, rules: Rules) -> tuple[datetime, datetime]:
    noon = local.replace(hour=12, fold=0)  # a day is never a multiple of 24 hours away by the clock alone
    return _midnight(noon + timedelta(days=first), rules), _midnight(noon + timedelta(days=following), rules)


def _midnight(local: date, rules: Rules) -> datetime:
    """The first instant of a day."""
    # Where the clocks skip midnight, this is the instant at which they do.
    return datetime(local.year, local.month, local.day, tzinfo=rules.timezone).astimezone(UTC)
