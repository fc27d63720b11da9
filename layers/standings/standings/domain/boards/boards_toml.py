"""Reads `boards.toml`. A mistake is an error with its line, before anything is deployed."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from standings.domain.boards.definitions import Boards, Family, Metric
from standings.domain.windows.calendar import DAY, HOUR, MINUTE
from standings.domain.windows.late_and_keep import MAX_LATE_AND_KEEP, Timetable
from standings.domain.windows.window import WEEKDAYS, Window, parse_window

METRIC_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
MAX_METRICS: Final = 20
MAX_DECIMALS: Final = 9
MAX_SHARDS: Final = 64
AGGREGATES: Final = ("sum", "max", "min", "last")

_DURATION: Final = re.compile(r"([0-9]{1,6}) (minute|hour|day)s?")
_SPAN: Final = {"minute": MINUTE, "hour": HOUR, "day": DAY}
_FAMILY_KEYS: Final = {"timezone", "week_start", "members", "late", "keep", "shards", "metrics"}
_METRIC_KEYS: Final = {"aggregate", "precision", "order", "ties", "windows"}

_Path = tuple[str, ...]


class DefinitionError(ValueError):
    """A mistake in `boards.toml`: `line` counts from 1, `reason` says what is wrong."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class _Mistake(Exception):
    def __init__(self, path: _Path, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


def parse_boards(text: str) -> Boards:
    """The boards that a `boards.toml` defines; DefinitionError for the first mistake in it."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line ([0-9]+)", str(error))
        line = int(where[1]) if where else text.count("\n") + 1
        raise DefinitionError(line, str(error)) from error
    try:
        return Boards(tuple(_families(document)))
    except _Mistake as mistake:
        raise DefinitionError(_line_of(text, mistake.path), mistake.reason) from mistake


def _families(document: Mapping[str, Any]) -> Iterator[Family]:
    for key in document:
        if key != "boards":
            _fail(
                (key,),
                f'unknown key {key!r}; families of boards are tables such as [boards."berlin-*"]',
            )
    boards = document.get("boards")
    if not isinstance(boards, dict) or not boards:
        _fail((), 'no family of boards: at least [boards."*"] is needed')
    for pattern, table in boards.items():
        yield _family(("boards", pattern), pattern, table)


def _family(path: _Path, pattern: str, table: Any) -> Family:
    if not isinstance(table, dict):
        _fail(path, f"{pattern!r} must be a table")
    if not re.fullmatch(r"[A-Za-z0-9._:*?\[\]!-]{1,128}", pattern):
        _fail(path, f"{pattern!r} can match no board: names are made of letters, digits and . _ : -")
    _only(path, table, _FAMILY_KEYS)
    timetable = _timetable(path, table)
    members = table.get("members", "open")
    if members not in ("open", "registered"):
        _fail((*path, "members"), f'members: {members!r} is neither "open" nor "registered"')
    shards = _whole(path, "shards", table.get("shards", 1), range(1, MAX_SHARDS + 1))
    metrics = table.get("metrics")
    if not isinstance(metrics, dict) or not 1 <= len(metrics) <= MAX_METRICS:
        _fail((*path, "metrics"), f"metrics: a family needs 1 to {MAX_METRICS} of them")
    parsed = {
        name: _metric((*path, "metrics", name), name, value, timetable, shards) for name, value in metrics.items()
    }
    try:
        return Family(pattern, timetable, parsed, members, shards)
    except ValueError as error:
        _fail((*path, "metrics"), str(error))


def _timetable(path: _Path, table: Mapping[str, Any]) -> Timetable:
    timezone = table.get("timezone", "UTC")
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        _fail(
            (*path, "timezone"),
            f'timezone: {timezone!r} is no IANA time zone such as "Europe/Berlin"',
        )
    week_start = table.get("week_start", "monday")
    if week_start not in WEEKDAYS:
        _fail((*path, "week_start"), f"week_start: {week_start!r} is none of {', '.join(WEEKDAYS)}")
    late = _duration(path, "late", table.get("late", "7 days"))
    keep = _duration(path, "keep", table.get("keep", "35 days"))
    if keep < late:
        at = "keep" if "keep" in table else "late"
        _fail((*path, at), "keep must be at least as long as late (by default 35 and 7 days)")
    return Timetable(timezone, WEEKDAYS.index(week_start), late, keep)


def read_span(text: str) -> int | None:
    """The milliseconds of a span such as "7 days", "36 hours" or "90 minutes"; None for what is none."""
    match = _DURATION.fullmatch(text)
    return None if match is None else int(match[1]) * _SPAN[match[2]]


def _duration(path: _Path, key: str, value: Any) -> int:
    span = read_span(value) if isinstance(value, str) else None
    if span is None:
        _fail(
            (*path, key),
            f'{key}: {value!r} is no span such as "7 days", "36 hours" or "90 minutes"',
        )
    if span > MAX_LATE_AND_KEEP:
        _fail((*path, key), f"{key}: {value!r} is more than 400 days")
    return span


def _metric(path: _Path, name: str, table: Any, timetable: Timetable, shards: int) -> Metric:
    if not METRIC_NAME.fullmatch(name):
        _fail(
            path,
            f"{name!r} is no name of a metric: a-z first, then a-z, 0-9 and _, up to 64 characters",
        )
    if not isinstance(table, dict):
        _fail(path, f'{name}: must be a table such as {{ aggregate = "sum", windows = ["all"] }}')
    _only(path, table, _METRIC_KEYS)
    if "aggregate" not in table:
        _fail(path, f'{name}: aggregate is missing, such as aggregate = "sum"')
    aggregate = table["aggregate"]
    if aggregate not in AGGREGATES:
        _fail((*path, "aggregate"), f"aggregate: {aggregate!r} is none of {', '.join(AGGREGATES)}")
    precision = _whole(path, "precision", table.get("precision", 0), range(MAX_DECIMALS + 1))
    order = table.get("order", "descending")
    if order not in ("descending", "ascending"):
        _fail((*path, "order"), f'order: {order!r} is neither "descending" nor "ascending"')
    ties = table.get("ties", "member")
    if ties not in ("member", "first"):
        _fail((*path, "ties"), f'ties: {ties!r} is neither "member" nor "first"')
    windows = _windows((*path, "windows"), table.get("windows", []))
    return Metric(name, aggregate, precision, order, ties, windows, timetable, shards)


def _whole(path: _Path, key: str, value: Any, allowed: range) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
        _fail((*path, key), f"{key}: must be a whole number from {allowed[0]} to {allowed[-1]}, is {value!r}")
    return value


def _windows(path: _Path, names: Any) -> tuple[Window, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        _fail(path, 'windows: must be a list such as ["all", "last-7-days"]')
    if len(set(names)) < len(names):
        _fail(path, "windows: one of them stands there twice")
    try:
        return tuple(parse_window(name) for name in names)
    except ValueError as error:
        _fail(path, f"windows: {error}")


def _only(path: _Path, table: Mapping[str, Any], known: set[str]) -> None:
    for key in table:
        if key not in known:
            _fail((*path, key), f"unknown key {key!r}; known are {', '.join(sorted(known))}")


def _fail(path: _Path, reason: str) -> NoReturn:
    raise _Mistake(path, reason)


def _line_of(text: str, path: _Path) -> int:
    """The line on which the deepest part of a path that is there was first said.

    tomllib keeps no positions. But a document cut after a whole statement is a document: the statement that brings
    the path in is the one that follows the last cut without it.
    """
    lines = text.splitlines()
    depth = _depth(tomllib.loads(text), path)
    whole = 0
    for count in range(1, len(lines) + 1):
        try:
            document = tomllib.loads("\n".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
        if _depth(document, path) >= depth:
            break
        whole = count
    return next(
        (
            n
            for n in range(whole + 1, len(lines) + 1)
            if not lines[n - 1].lstrip().startswith(("#", "\n")) and lines[n - 1].strip()
        ),
        1,
    )


def _depth(document: Any, path: _Path) -> int:
    depth = 0
    for key in path:
        if not isinstance(document, dict) or key not in document:
            break
        document = document[key]
        depth += 1
    return depth
