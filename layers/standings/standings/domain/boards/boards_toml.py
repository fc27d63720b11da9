"""Read `boards.toml`. A mistake in it is an error with its line."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from standings.domain.boards.announce_toml import announced_tops
from standings.domain.boards.definitions import (
    MAX_UNITS,
    AggregateFunction,
    Boards,
    Family,
    Members,
    Metric,
    Order,
    Ties,
)
from standings.domain.boards.endings_toml import endings
from standings.domain.boards.item_size import MAX_ITEM_BYTES, MAX_NOTED_BYTES, most_bytes
from standings.domain.boards.mistakes import Mistake, Path, check_keys, line_of
from standings.domain.boards.seasons_toml import check_use, parse_seasons
from standings.domain.windows.calendar import DAY, HOUR, MINUTE
from standings.domain.windows.late_and_keep import MAX_LATE_AND_KEEP, Timetable
from standings.domain.windows.window import WEEKDAYS, Window, parse_window

METRIC_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
MAX_METRICS: Final = 20
MAX_DECIMALS: Final = 9
MAX_SHARDS: Final = 64

_SPAN: Final = re.compile(r"([0-9]{1,6}) (minute|hour|day)s?")
_SPAN_UNITS: Final = {"minute": MINUTE, "hour": HOUR, "day": DAY}
_FAMILY_KEYS: Final = (
    "announce",
    "keep",
    "late",
    "members",
    "metrics",
    "prizes",
    "seasons",
    "settle",
    "shards",
    "timezone",
    "week_start",
)
_METRIC_KEYS: Final = ("aggregate", "least", "most", "notes", "order", "precision", "ties", "windows")


class DefinitionError(ValueError):
    """A mistake in `boards.toml`: its line, counted from 1, and the reason."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class _Exact(Decimal):
    """A number with all its decimals, shown in messages as it is written."""

    __repr__ = Decimal.__str__


def parse_boards(text: str) -> Boards:
    """The boards that a `boards.toml` defines; DefinitionError for the first mistake in it."""
    try:
        document = tomllib.loads(text, parse_float=_Exact)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line ([0-9]+)", str(error))
        line = int(where[1]) if where else text.count("\n") + 1
        raise DefinitionError(line, str(error)) from error
    try:
        return Boards(tuple(_families(document)))
    except Mistake as mistake:
        raise DefinitionError(line_of(text, mistake.path), str(mistake)) from mistake


def _families(document: Mapping[str, Any]) -> Iterator[Family]:
    for key in document:
        if key != "boards":
            raise Mistake((key,), 'unknown key, expected families of boards such as [boards."berlin-*"]')
    boards = document.get("boards", {})
    if not isinstance(boards, dict) or not boards:
        raise Mistake(("boards",), f'expected a family of boards such as [boards."*"], got {boards!r}')
    for pattern, table in boards.items():
        yield _family(("boards", pattern), table)


def _family(path: Path, table: Any) -> Family:
    pattern = path[-1]
    if not isinstance(table, dict):
        raise Mistake(path, f"expected a table, got {table!r}")
    if not re.fullmatch(r"[A-Za-z0-9._:*?\[\]!-]{1,128}", pattern):
        raise Mistake(path, f"expected a pattern of letters, digits, . _ : - and * ? [ ] !, got {pattern!r}")
    check_keys(path, table, _FAMILY_KEYS)
    timetable, members = _timetable(path, table), _choice(path, table, "members", get_args(Members))
    shards = _whole_number(path, table, "shards", range(1, MAX_SHARDS + 1), 1)
    metrics, path = table.get("metrics", {}), (*path, "metrics")
    count = len(metrics) if isinstance(metrics, dict) else repr(metrics)
    if count not in range(1, MAX_METRICS + 1):
        raise Mistake(path, f"expected 1 to {MAX_METRICS} metrics, got {count}")
    parsed = {name: _metric((*path, name), metric, timetable, shards) for name, metric in metrics.items()}
    windows = [((*path, name, "windows"), window.name) for name in parsed for window in parsed[name].windows]
    check_use(path[:-1], timetable.seasons, windows)
    ends = endings(path[:-1], table, timetable, parsed)
    announce = announced_tops(path[:-1], table, parsed)
    try:
        family = Family(pattern, timetable, parsed, members, shards, ends, announce)
    except ValueError as error:
        raise Mistake(path, str(error)) from error
    notes = any(metric.notes for metric in parsed.values())
    bounds = [(MAX_NOTED_BYTES, " with notes", False)] if notes else []
    for most, kind, late in (*bounds, (MAX_ITEM_BYTES, "", True)):
        # Late events are rare: they count for what DynamoDB takes, not for what a write usually costs.
        if (size := most_bytes(family, late=late)) > most:
            reason = f"expected members' items of at most {most:,} bytes, got up to {size:,}{kind}"
            raise Mistake(path, f"{reason}: shorten late, keep or a window, or rank fewer metrics{kind}")
    return family


def _timetable(path: Path, table: Mapping[str, Any]) -> Timetable:
    timezone = table.get("timezone", "UTC")
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError) as error:
        reason = f'expected an IANA time zone such as "Europe/Berlin", got {timezone!r}'
        raise Mistake((*path, "timezone"), reason) from error
    week_start = _choice(path, table, "week_start", WEEKDAYS)
    late, keep = _span(path, table, "late", "7 days"), _span(path, table, "keep", "35 days")
    if keep < late:
        key = "keep" if "keep" in table else "late"
        raise Mistake((*path, key), "expected keep to be at least as long as late (by default 35 and 7 days)")
    seasons = parse_seasons((*path, "seasons"), table.get("seasons", []))
    return Timetable(timezone, WEEKDAYS.index(week_start), late, keep, seasons)


def _metric(path: Path, table: Any, timetable: Timetable, shards: int) -> Metric:
    name = path[-1]
    if not METRIC_NAME.fullmatch(name):
        raise Mistake(path, f"expected a metric's name: a-z, then up to 63 of a-z 0-9 _, got {name!r}")
    if not isinstance(table, dict):
        raise Mistake(path, f'expected a table such as {{ aggregate = "sum", windows = ["all"] }}, got {table!r}')
    check_keys(path, table, _METRIC_KEYS)
    if "aggregate" not in table:
        raise Mistake(path, 'expected an aggregate such as aggregate = "sum", got none')
    precision = _whole_number(path, table, "precision", range(MAX_DECIMALS + 1), 0)
    least, most = (_bound(path, table, key, precision) for key in ("least", "most"))
    if least is not None and most is not None and least > most:
        reason = f"expected least to be no more than most, got {table['least']} and {table['most']}"
        raise Mistake((*path, "least"), reason)
    return Metric(
        name,
        _choice(path, table, "aggregate", get_args(AggregateFunction)),
        precision,
        _choice(path, table, "order", get_args(Order)),
        _choice(path, table, "ties", get_args(Ties)),
        _windows((*path, "windows"), table.get("windows", [])),
        timetable,
        shards,
        least,
        most,
        _notes(path, table),
    )


def _notes(path: Path, table: Mapping[str, Any]) -> bool:
    """Whether scores of a metric keep notes."""
    notes = table.get("notes", False)
    if not isinstance(notes, bool):
        raise Mistake((*path, "notes"), f"expected true or false, got {notes!r}")
    if notes and table["aggregate"] == "sum":
        raise Mistake((*path, "notes"), "expected max, min or last: a sum comes from many events, each with a note")
    return notes


def _bound(path: Path, table: Mapping[str, Any], key: str, precision: int) -> int | None:
    """A bound of amounts in units of the metric; None if there is none."""
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not Decimal(value).is_finite():
        raise Mistake((*path, key), f"expected a number, got {value!r}")
    units = int(Decimal(value).scaleb(precision))
    if Decimal(units).scaleb(-precision) != value:
        raise Mistake((*path, key), f"expected at most {precision} decimals, got {value!r}")
    if abs(units) > MAX_UNITS:
        raise Mistake((*path, key), f"expected at most ±(2^53 - 1) units, got {value!r}")
    return units


def _windows(path: Path, names: Any) -> tuple[Window, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Mistake(path, f'expected a list such as ["all", "last-7-days"], got {names!r}')
    if len(set(names)) < len(names):
        raise Mistake(path, f"expected each window once, got {names!r}")
    try:
        return tuple(parse_window(name) for name in names)
    except ValueError as error:
        raise Mistake(path, str(error)) from error


def read_span(text: str) -> int | None:
    """The milliseconds of a span such as "7 days", "36 hours" or "90 minutes"; None for any other text."""
    match = _SPAN.fullmatch(text)
    return None if match is None else int(match[1]) * _SPAN_UNITS[match[2]]


def _span(path: Path, table: Mapping[str, Any], key: str, default: str) -> int:
    value = table.get(key, default)
    span = read_span(value) if isinstance(value, str) else None
    if span is None:
        raise Mistake((*path, key), f'expected a span such as "7 days", "36 hours" or "90 minutes", got {value!r}')
    if span > MAX_LATE_AND_KEEP:
        raise Mistake((*path, key), f"expected at most 400 days, got {value!r}")
    return span


def _choice(path: Path, table: Mapping[str, Any], key: str, texts: tuple[Any, ...]) -> Any:
    """One of these texts; the first one by default."""
    value = table.get(key, texts[0])
    if value not in texts:
        raise Mistake((*path, key), f"expected one of {', '.join(texts)}, got {value!r}")
    return value


def _whole_number(path: Path, table: Mapping[str, Any], key: str, allowed: range, default: int) -> int:
    value = table.get(key, default)
    if type(value) is not int or value not in allowed:
        raise Mistake((*path, key), f"expected a whole number from {allowed[0]} to {allowed[-1]}, got {value!r}")
    return value
