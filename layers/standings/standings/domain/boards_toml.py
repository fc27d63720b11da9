"""Parses `boards.toml` into boards. A mistake is named with its place, what was expected and what to do."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from standings.domain.boards import (
    MAX_UNITS,
    SETTLED_WINDOWS,
    AggregateFunction,
    Boards,
    Endings,
    Family,
    Members,
    Metric,
    Order,
    Prize,
    Ties,
    late_name,
)
from standings.domain.windows import (
    DAY,
    HOUR,
    MAX_LATE_AND_KEEP,
    MINUTE,
    SEASON_KEPT,
    WEEKDAYS,
    Season,
    Seasons,
    Timetable,
    Unit,
    Window,
    parse_day,
    parse_window,
)

# Mistakes in `boards.toml`, and the lines that they are in.

Path = tuple[str, ...]
"""Keys from the top of the file to a value. That of an element of a list is its position, from 0."""


class Mistake(Exception):
    """A value that is wrong: the path to it, and the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path[-1]}: {reason}")
        self.path = path


def check_keys(path: Path, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Mistake for a key that is not known."""
    for key in table:
        if key not in known:
            raise Mistake((*path, key), f"unknown key, expected one of {', '.join(known)}")


def line_of(text: str, path: Path) -> int:
    """The line of the statement that adds the path, or as much of it as the document has.

    tomllib keeps no positions. So parse longer and longer beginnings of the text until one has that much of the path.
    """
    lines = text.splitlines()
    depth = _depth(tomllib.loads(text), path)
    line = 1
    for end in range(1, len(lines) + 1):
        try:
            document = tomllib.loads("\n".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue  # The statement goes on in the next line.
        if _depth(document, path) >= depth:
            break
        line = end + 1
    return line


def _depth(value: Any, path: Path) -> int:
    """How many steps of a path are there."""
    if not path:
        return 0
    key = path[0]
    if isinstance(value, list):
        value = {str(position): element for position, element in enumerate(value)}
    if not isinstance(value, dict) or key not in value:
        return 0
    return 1 + _depth(value[key], path[1:])


# How large a member's item can grow: it has a number, and maybe a note, for each bucket that a period still needs.

MAX_ITEM_BYTES: Final = 400_000
"""DynamoDB takes 400 KiB, 409,600 bytes."""
MAX_NOTED_BYTES: Final = 100_000
"""Of items with notes. Each write of an item costs a unit for each KB of it."""

_NOW: Final = 1_774_000_000_000  # Any instant: another one changes the number of buckets by one at most
_BESIDE: Final = 1_500  # Keys, version, clocks
_VALUE: Final = 12
_TIE_KEY: Final = 10 + 4 * 128  # An instant and an event's id, of characters of up to four bytes
_NOTE: Final = 256


def most_bytes(family: Family, *, late: bool) -> int:
    """The most bytes of a member's item on a board of the family, if the member is active in every bucket.

    With `late`, it also has events in every bucket that came when the bucket had closed.
    """
    return _BESIDE + sum(_bytes(metric, late=late) for metric in family.metrics.values())


def _bytes(metric: Metric, *, late: bool) -> int:
    names = [metric.total()]
    for unit in metric.bucket_codes:
        buckets = _buckets(metric, unit)
        names += [metric.bucket(unit, bucket) for bucket in buckets]
        if late and any(window.rolling and window.unit == unit for window in metric.windows):
            names += _late_buckets(metric, unit, buckets)
    texts = (_TIE_KEY if metric.has_tie_keys else 0) + (_NOTE if metric.notes else 0)
    copies = 1 + metric.has_tie_keys + metric.notes  # The name stands with the value, the tie key and the note
    return sum(copies * (len(name) + 1) + _VALUE + texts for name in names)


def _late_buckets(metric: Metric, unit: Unit, buckets: Iterable[int]) -> Iterable[str]:
    """The late buckets that an item may hold beside these buckets."""
    timetable = metric.timetable
    first = timetable.index(unit, _NOW - timetable.late_for(unit))
    for bucket in buckets:
        if bucket < first:
            yield (name := late_name(metric.bucket(unit, bucket)))
            if timetable.rolling_until(unit, first - 1) > _NOW:
                yield from (f"{name}f{of}" for of in (first - 1, first))


def _buckets(metric: Metric, unit: Unit) -> Iterable[int]:
    """The buckets that an item may hold together."""
    if unit == "s":
        stored = SEASON_KEPT // DAY + 2
        seasons = metric.timetable.seasons.all
        together = [
            [one.index for one in seasons if one.starts <= newest.starts <= one.ends + stored] for newest in seasons
        ]
        return max(together, key=len)
    newest = metric.timetable.index(unit, _NOW) + 1
    return range(_oldest(metric, unit, newest), newest + 1)


def _oldest(metric: Metric, unit: Unit, newest: int) -> int:
    """The oldest bucket that an item may still hold. An expired one goes with the first write a day later."""
    bucket = newest
    while metric.expires(unit, bucket - 1) + 2 * DAY > _NOW:
        bucket -= 1
    return bucket


# Reads `announce` of a family in `boards.toml`: the windows whose top is announced, and how long the top is.

MAX_TOP: Final = 100


def announced_tops(path: Path, table: Mapping[str, Any], metrics: Mapping[str, Metric]) -> dict[str, int]:
    """The length of the top by window, for the windows that a family announces."""
    listed = table.get("announce", {})
    path = (*path, "announce")
    if not isinstance(listed, dict):
        raise Mistake(path, f"expected tops by window such as day = {{ top = 10 }}, got {listed!r}")
    return {name: _top((*path, name), content, metrics) for name, content in listed.items()}


def _top(path: Path, content: Any, metrics: Mapping[str, Metric]) -> int:
    window = next((window for metric in metrics.values() if (window := metric.window(path[-1])) is not None), None)
    if window is None:
        raise Mistake(path, "expected a window that a metric is ranked in")
    if window.rolling:
        raise Mistake(path, "expected all, a calendar window or season: in a rolling window the top changes by itself")
    if not isinstance(content, dict):
        raise Mistake(path, f"expected a length such as {{ top = 10 }}, got {content!r}")
    check_keys(path, content, ("top",))
    top = content.get("top")
    if type(top) is not int or not 1 <= top <= MAX_TOP:
        raise Mistake(path, f"top: expected a whole number from 1 to {MAX_TOP}, got {top!r}")
    return top


# Reads `settle` and `prizes` of a family in `boards.toml`.

MAX_PRIZES: Final = 20  # Prizes of one window
TIME_TO_SETTLE: Final = 2 * DAY
"""How much longer than `late` the periods of a family that settles are kept."""

_PRIZE_KEYS: Final = ("metric", "name", "percent", "ranks")
_PRIZE_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
_RANKS: Final = re.compile(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?")


def endings(path: Path, table: Mapping[str, Any], timetable: Timetable, metrics: Mapping[str, Metric]) -> Endings:
    """The windows that a family settles, and their prizes."""
    ranked = {
        name: [metric.name for metric in metrics.values() if metric.window(name) is not None]
        for name in SETTLED_WINDOWS
    }
    settle = _settle((*path, "settle"), table.get("settle", []), ranked)
    if settle and timetable.keep < timetable.late + TIME_TO_SETTLE:
        raise Mistake((*path, "settle"), "expected keep to be at least 2 days longer than late, to have time to settle")
    prizes = table.get("prizes", {})
    path = (*path, "prizes")
    if not isinstance(prizes, dict):
        raise Mistake(
            path, f'expected prizes by window such as week = [{{ ranks = "1", name = "gold" }}], got {prizes!r}'
        )
    for window in prizes:
        if window not in settle:
            raise Mistake((*path, window), f"expected a window that settle names ({', '.join(settle) or 'none'})")
    return Endings(
        settle,
        {window: tuple(_prizes((*path, window), listed, ranked[window])) for window, listed in prizes.items()},
    )


def _settle(path: Path, names: Any, ranked: Mapping[str, list[str]]) -> tuple[str, ...]:
    if not isinstance(names, list) or len({str(name) for name in names}) < len(names):
        raise Mistake(path, f'expected a list such as ["week", "month"] with each window once, got {names!r}')
    for name in names:
        if not isinstance(name, str) or name not in ranked:
            raise Mistake(path, f"expected windows of {', '.join(SETTLED_WINDOWS)}, got {name!r}")
        if not ranked[name]:
            raise Mistake(path, f"expected a window that a metric is ranked in, got {name!r}")
    return tuple(names)


def _prizes(path: Path, listed: Any, metrics: list[str]) -> Iterator[Prize]:
    if not isinstance(listed, list) or not 1 <= len(listed) <= MAX_PRIZES:
        raise Mistake(path, f'expected a list of 1 to {MAX_PRIZES} prizes such as [{{ ranks = "1", name = "gold" }}]')
    named: set[tuple[str, str]] = set()
    for table in listed:
        prize = _prize(path, table, metrics)
        if (prize.metric, prize.name) in named:
            raise Mistake(path, f"expected each name once for a metric, got {prize.name!r} twice")
        named.add((prize.metric, prize.name))
        yield prize


def _prize(path: Path, table: Any, metrics: list[str]) -> Prize:
    if not isinstance(table, dict):
        raise Mistake(path, f'expected prizes such as {{ ranks = "1", name = "gold" }}, got {table!r}')
    check_keys(path, table, _PRIZE_KEYS)
    name = table.get("name")
    if not isinstance(name, str) or not _PRIZE_NAME.fullmatch(name):
        raise Mistake(path, f"name: expected a-z, then up to 31 of a-z 0-9 -, got {name!r}")
    if ("ranks" in table) == ("percent" in table):
        raise Mistake(path, f"{name}: expected either ranks or percent")
    metric = table.get("metric", metrics[0] if len(metrics) == 1 else None)
    if metric not in metrics:
        raise Mistake(path, f"{name}: metric: expected one of {', '.join(metrics)}, got {metric!r}")
    if "ranks" in table:
        return Prize(name, metric, *_ranks(path, name, table["ranks"]))
    percent = table["percent"]
    if type(percent) is not int or not 1 <= percent <= 100:  # noqa: PLR2004 - percent
        raise Mistake(path, f"{name}: percent: expected a whole number from 1 to 100, got {percent!r}")
    return Prize(name, metric, 1, 0, percent)


def _ranks(path: Path, name: str, text: Any) -> tuple[int, int]:
    match = _RANKS.fullmatch(text) if isinstance(text, str) else None
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if last < first:
        raise Mistake(path, f'{name}: ranks: expected a rank such as "1" or ranks such as "2-3", got {text!r}')
    return first, last


# Read the seasons of a family from `boards.toml`.

MAX_SEASONS: Final = 100
LAST_YEAR: Final = 2999
_KEYS: Final = ("ends", "name", "starts")
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")


def parse_seasons(path: Path, tables: Any) -> Seasons:
    """The seasons of a family; Mistake where they are wrong."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise Mistake(path, f'expected tables such as [[boards."{path[-2]}".seasons]], got {tables!r}')
    if len(tables) > MAX_SEASONS:
        raise Mistake(path, f"expected at most {MAX_SEASONS} seasons, got {len(tables)}: remove the oldest")
    seasons = [_season((*path, str(number)), table) for number, table in enumerate(tables)]
    names = [season.name for season in seasons]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise Mistake((*path, str(number), "name"), f"expected another name, there is a season {name!r} already")
    for before, after in pairwise(sorted(seasons, key=lambda season: season.starts)):
        if after.starts < before.ends:
            number = max(seasons.index(before), seasons.index(after))
            reason = (
                f"{before.name!r} and {after.name!r} overlap: expected each season to end by the day on which the next"
            )
            raise Mistake((*path, str(number), "starts"), f"{reason} starts")
    return Seasons(seasons)


def _season(path: Path, table: Mapping[str, Any]) -> Season:
    check_keys(path, table, _KEYS)
    name = table.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        reason = 'expected a name such as "winter-2026": a-z, then up to 31 of a-z 0-9 -'
        raise Mistake((*path, "name"), f"{reason}, got {'none' if name is None else repr(name)}")
    starts, ends = _day(path, table, "starts"), _day(path, table, "ends")
    if starts >= ends:
        reason = (
            f"expected a day after starts ({table['starts']}), got {table['ends']}: the season's last day is before it"
        )
        raise Mistake((*path, "ends"), reason)
    return Season(name, starts, ends)


def _day(path: Path, table: Mapping[str, Any], key: str) -> int:
    value = table.get(key)
    expected = f'expected a day in quotes such as "2026-12-01", from 1970 to {LAST_YEAR}'
    if not isinstance(value, str):
        shown = "none" if value is None else value.isoformat() if isinstance(value, date) else repr(value)
        raise Mistake((*path, key), f"{expected}, got {shown}")
    try:
        day = parse_day(value)
    except ValueError as error:
        raise Mistake((*path, key), f"{expected}, got {value!r}") from error
    if int(value[:4]) > LAST_YEAR:
        raise Mistake((*path, key), f"{expected}, got {value!r}")
    return day


def check_use(path: Path, seasons: Seasons, windows: Iterable[tuple[Path, str]]) -> None:
    """Mistake if the window `season` is used without seasons, or the other way round.

    `windows` are the names of all windows, each with the path of its list.
    """
    used = [where for where, name in windows if name == "season"]
    if used and not seasons.all:
        where = f'[[boards."{path[-1]}".seasons]]'
        raise Mistake(used[0], f'expected seasons for the window "season": add {where} with name, starts and ends')
    if seasons.all and not used:
        reason = 'expected a metric with the window "season": add it to its windows, or remove the seasons'
        raise Mistake((*path, "seasons"), reason)


# Read `boards.toml`. A mistake in it is an error with its line.

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
