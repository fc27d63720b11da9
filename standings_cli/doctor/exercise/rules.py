"""The rules of a board, as `GET /boards/{board}` tells them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
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
