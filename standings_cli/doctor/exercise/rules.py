"""The rules of a board, as `GET /boards/{board}` tells them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
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


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a board. Events of the last `late` count in every period that they fall in."""

    board: str
    timezone: ZoneInfo
    week_start: int
    late: timedelta
    is_open: bool
    metrics: tuple[Metric, ...]


def rules_of(answer: Mapping[str, Any]) -> Rules:
    """The rules in an answer of the API."""
    metrics = tuple(
        Metric(
            one["metric"],
            one["aggregate"],
            one["order"] == "descending",
            tuple(window["window"] for window in one["windows"]),
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
    )


def _span(text: str) -> timedelta:
    number, unit = _SPAN.fullmatch(text).groups()  # type: ignore[union-attr]
    return int(number) * _LENGTHS[unit]
