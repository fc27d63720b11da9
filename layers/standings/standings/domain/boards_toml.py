"""Parses `boards.toml` into boards. A mistake is named with its place, what was expected and what to do."""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, NamedTuple, get_args

from standings.domain import boards, windows, zones
from standings.domain.boards import Boards, Endings, Family, Metric, Prize, late_name
from standings.domain.scoring import UnitsError, units_of
from standings.domain.windows import DAY, WEEKDAYS, Season, Seasons, Timetable, Unit, Window, span_text


def parse_boards(text: str) -> Boards:
    """The boards that the text of a `boards.toml` defines; DefinitionError for the first mistake in it."""
    families, mistakes = _families(text)
    if mistakes:
        raise mistakes[0]
    return Boards(tuple(families))


def mistakes_in(text: str) -> list["DefinitionError"]:
    """The first mistake of each family, by line; empty for a file that can be deployed."""
    return _families(text)[1]


class DefinitionError(ValueError):
    """A mistake in `boards.toml`: its line, counted from 1, and the reason."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


def _families(text: str) -> tuple[list[Family], list[DefinitionError]]:
    try:
        document = tomllib.loads(text, parse_float=_Exact)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line ([0-9]+)", str(error))
        line = int(where[1]) if where else text.count("\n") + 1
        is_open = any(one.count("{") > one.count("}") for one in text.split("\n")[line - 1 : line])
        advice = ": an inline table is one line, from { to }" if is_open else ""
        return [], [DefinitionError(line, f"{error}{advice}")]
    found: list[Family] = []
    mistakes: list[_Mistake] = []
    tables = document.get("boards", {})
    if unknown := [key for key in document if key != "boards"][:1]:
        mistakes.append(_Mistake((*unknown,), 'unknown key, expected families of boards such as [boards."berlin-*"]'))
    elif not isinstance(tables, dict) or not tables:
        mistakes.append(_Mistake(("boards",), f'expected a family of boards such as [boards."*"], got {tables!r}'))
    else:
        for pattern, table in tables.items():
            try:
                found.append(_family(("boards", pattern), table))
            except _Mistake as mistake:
                mistakes.append(mistake)
    errors = [DefinitionError(_line_of(text, mistake.path), str(mistake)) for mistake in mistakes]
    return found, sorted(errors, key=lambda error: error.line)


_Path = tuple[str, ...]
"""Keys from the top of the file to a value, such as `("boards", "*", "metrics", "points")`. A list's elements have
their positions, from 0, as keys."""


class _Mistake(Exception):
    """A value that is wrong: the path to it, and the reason."""

    def __init__(self, path: _Path, reason: str) -> None:
        super().__init__(f"{path[-1]}: {reason}")
        self.path = path


def _line_of(text: str, path: _Path) -> int:
    """The line of the statement that adds the path, or as much of it as the document has."""
    # tomllib keeps no positions. So parse longer and longer beginnings, until one has that much of the path.
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


def _depth(value: Any, path: _Path) -> int:
    """How many steps of a path are there."""
    for step, key in enumerate(path):
        if isinstance(value, list):
            value = {str(position): element for position, element in enumerate(value)}
        if not isinstance(value, dict) or key not in value:
            return step
        value = value[key]
    return len(path)


def _family(path: _Path, table: Any) -> Family:
    pattern = path[-1]
    if not re.fullmatch(r"[A-Za-z0-9._:*?\[\]!-]{1,128}", pattern):
        raise _Mistake(path, f"expected a pattern of letters, digits, . _ : - and * ? [ ] !, got {pattern!r}")
    values = _table(path, table, _FAMILY)
    late, keep = values["late"], values["keep"]
    if keep < late:
        key = "keep" if "keep" in table else "late"
        raise _Mistake((*path, key), "expected keep to be at least as long as late (by default 35 and 7 days)")
    seasons, shards = _seasons((*path, "seasons"), values["seasons"]), values["shards"]
    timetable = Timetable(values["timezone"], WEEKDAYS.index(values["week_start"]), late, keep, seasons)
    metrics = _metrics((*path, "metrics"), values["metrics"], timetable, shards)
    _check_use(path, seasons, metrics)
    endings = _endings(path, values, metrics)
    _check_expires((*path, "expires"), values, timetable)
    announced = _announced((*path, "announce"), values["announce"], metrics)
    members, expires = values["members"], values["expires"]
    try:
        family = Family(pattern, timetable, metrics, members, shards, endings, announced, expires)
    except ValueError as error:
        raise _Mistake((*path, "metrics"), str(error)) from error
    _check_size(path, family)
    return family


class _Key(NamedTuple):
    """What a value has to be, and a function that converts it; if the value is wrong, to None, or with ValueError.

    The text of ValueError replaces `expected`. `default` is the value of a key that is left out.
    """

    expected: str
    make: Callable[[Any], Any]
    default: Any = None
    is_optional: bool = False


def _table(path: _Path, table: Any, keys: Mapping[str, _Key], expected: str = "a table") -> dict[str, Any]:
    """A table's converted values by key; None for an optional one that is left out. `_Mistake` for a wrong value."""
    if not isinstance(table, dict):
        raise _Mistake(path, f"expected {expected}, got {table!r}")
    found: dict[str, Any] = {}
    for name in dict.fromkeys([*table, *keys]):
        if name not in keys:
            raise _Mistake((*path, name), f"unknown key, expected one of {', '.join(keys)}")
        key, value = keys[name], table.get(name, keys[name].default)
        try:
            found[name] = key.make(value)
        except ValueError as error:
            raise _Mistake((*path, name), str(error)) from error
        if found[name] is None and not (value is None and key.is_optional):
            raise _Mistake((*path, name), f"expected {key.expected}, got {_shown(value)}")
    return found


def _shown(value: Any) -> str:
    return "none" if value is None else value.isoformat() if isinstance(value, date) else repr(value)


def _if(holds: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Leaves a value as it is if something holds."""
    return lambda value: value if holds(value) else None


def _choice(texts: tuple[str, ...]) -> _Key:
    """One of these texts; the first one by default."""
    return _Key(f"one of {', '.join(texts)}", _if(lambda value: value in texts), texts[0])


def _whole_number(least: int, most: int, default: int | None = None) -> _Key:
    expected = f"a whole number from {least} to {most}"
    return _Key(expected, _if(lambda value: type(value) is int and least <= value <= most), default)


def _name(expected: str) -> _Key:
    is_name = _if(lambda value: isinstance(value, str) and re.fullmatch("[a-z][a-z0-9-]{0,31}", value))
    return _Key(f"{expected}a-z, then up to 31 of a-z 0-9 -", is_name)


def _is_list(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


MAX_METRICS: Final = 20
MAX_SHARDS: Final = 64


def _span(text: Any) -> int | None:
    """The milliseconds of a span such as `36 hours`."""
    match = re.fullmatch(r"([0-9]{1,6}) (minute|hour|day)s?", text) if isinstance(text, str) else None
    span = int(match[1]) * windows.SPANS[match[2]] if match else None
    if span is not None and span > windows.MAX_LATE_AND_KEEP:
        raise ValueError(f"expected at most 400 days, got {text!r}")
    return span


def _some_metrics(table: Any) -> dict[str, Any]:
    count = len(table) if isinstance(table, dict) else repr(table)
    if count not in range(1, MAX_METRICS + 1):
        raise ValueError(f"expected 1 to {MAX_METRICS} metrics, got {count}")
    return dict(table)


def _settled(names: Any) -> tuple[str, ...] | None:
    if not isinstance(names, list) or len({str(name) for name in names}) < len(names):
        return None
    for name in names:
        if name not in boards.SETTLED_WINDOWS:
            raise ValueError(f"expected windows of {', '.join(boards.SETTLED_WINDOWS)}, got {name!r}")
    return tuple(names)


_SPAN_EXPECTED: Final = 'a span such as "7 days", "36 hours" or "90 minutes"'
_IF_TABLE: Final = _if(lambda value: isinstance(value, dict))
_ZONE: Final = _if(lambda value: isinstance(value, str) and value in zones.names())
_FAMILY: Final = {
    "announce": _Key("tops by window such as day = { top = 10 }", _IF_TABLE, {}),
    "expires": _Key(_SPAN_EXPECTED, _span, is_optional=True),
    "keep": _Key(_SPAN_EXPECTED, _span, "35 days"),
    "late": _Key(_SPAN_EXPECTED, _span, "7 days"),
    "members": _choice(get_args(boards.Members)),
    "metrics": _Key("metrics", _some_metrics, {}),
    "prizes": _Key('prizes by window such as week = [{ ranks = "1", name = "gold" }]', _IF_TABLE, {}),
    "seasons": _Key("seasons", _if(lambda _: True), []),
    "settle": _Key('a list such as ["week", "month"] with each window once', _settled, []),
    "shards": _whole_number(1, MAX_SHARDS, 1),
    "timezone": _Key('an IANA time zone such as "Europe/Berlin"', _ZONE, "UTC"),
    "week_start": _choice(WEEKDAYS),
}
METRIC_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
METRIC_RULE: Final = "a metric's name (a-z, then a-z, 0-9 and _, at most 64)"
MAX_DECIMALS: Final = 9


def _metrics(path: _Path, tables: Mapping[str, Any], timetable: Timetable, shards: int) -> dict[str, Metric]:
    """The metrics by name, each with those that it names as its tie-breaks."""
    values = {name: _metric((*path, name), table) for name, table in tables.items()}
    named_in: dict[str, dict[Window, None]] = {name: {} for name in values}
    for name, one in values.items():
        _check_tie_breaks((*path, name, "tie_breaks"), name, values)
        _check_companion((*path, name, "with"), name, values)
        for each in one["tie_breaks"] if one["aggregate"] == "sum" else ():
            named_in[each] |= dict.fromkeys(one["windows"])
    built: dict[str, Metric] = {}

    def metric(name: str) -> Metric:
        if name not in built:
            fields = {**values[name], "named_in": tuple(named_in[name])}
            fields["tie_breaks"] = tuple(map(metric, fields["tie_breaks"]))
            if fields["kept_with"] is not None:
                fields["aggregate"] = values[fields["kept_with"]]["aggregate"]
            built[name] = Metric(name, timetable=timetable, shards=shards, **fields)
        return built[name]

    return {name: metric(name) for name in values}


_Values = Mapping[str, Mapping[str, Any]]  # The values of each metric, whose tie-breaks are names


def _check_tie_breaks(path: _Path, name: str, values: _Values) -> None:
    """`_Mistake` if a metric names what cannot break its ties."""
    aggregate = values[name]["aggregate"]
    for each in values[name]["tie_breaks"]:
        if each not in values:
            there = ", ".join(other for other in values if other != name) or "none"
            reason = f"expected other metrics of this family ({there}), got {each!r}"
            raise _Mistake(path, f"{reason}: correct the name, or add the metric")
        if circle := _circle(each, name, values):
            chain = " by ".join((name, *circle))
            raise _Mistake(path, f"expected no circle, got {chain}: remove one of these names")
        kept_with = values[each]["kept_with"]
        if aggregate == "sum" and kept_with is not None:
            reason = f"of a sum, expected metrics with an aggregate of their own, got {each!r} with {kept_with!r}"
            raise _Mistake(path, f"{reason}: give it an aggregate instead")
        if aggregate != "sum" and kept_with != name:
            reason = f"of {aggregate}, expected metrics of the event that made the number, got {each!r}"
            raise _Mistake(path, f'{reason}: define it with = "{name}" and no aggregate')


def _check_companion(path: _Path, name: str, values: _Values) -> None:
    """`_Mistake` if a metric is kept with one that cannot keep it."""
    best = values[name]["kept_with"]
    if best is None:
        return
    bests = [other for other, one in values.items() if one["aggregate"] in ("max", "min", "last")]
    if best not in bests:
        there = ", ".join(bests) or "none"
        reason = f"expected a metric with aggregate max, min or last ({there}), got {best!r}"
        raise _Mistake(path, f"{reason}: name one of these, or give {name!r} an aggregate instead")
    if name not in values[best]["tie_breaks"]:
        raise _Mistake(path, f"expected a tie-break of {best!r}: add {name!r} to its tie_breaks")


def _circle(name: str, back_to: str, values: _Values) -> tuple[str, ...]:
    """The names of metrics that lead by their tie-breaks from one metric back to another; empty if none do."""
    found: list[tuple[str, ...]] = [(name,)]
    for way in found:
        if way[-1] == back_to:
            return way
        found += ((*way, each) for each in values.get(way[-1], {"tie_breaks": ()})["tie_breaks"] if each not in way)
    return ()


def _metric(path: _Path, table: Any) -> dict[str, Any]:
    """The values of a metric, whose tie-breaks are names."""
    name = path[-1]
    if not METRIC_NAME.fullmatch(name):
        raise _Mistake(path, f"expected a metric's name: a-z, then up to 63 of a-z 0-9 _, got {name!r}")
    is_companion = isinstance(table, dict) and "with" in table
    example = 'a table such as { aggregate = "sum", windows = ["all"] }'
    values = _DEFAULTS | _table(path, table, _COMPANION if is_companion else _METRIC, example)
    values["kept_with"] = values.pop("with", None)
    if values["notes"] and values["aggregate"] == "sum":
        raise _Mistake((*path, "notes"), "expected max, min or last: a sum comes from many events, each with a note")
    if values["ranked_from"] is not None and not values["windows"]:
        raise _Mistake((*path, "ranked_from"), "expected windows, in which the metric ranks: add them, or remove it")
    for key in ("least", "most", "ranked_from"):
        given = values[key]
        try:
            values[key] = None if given is None else units_of(Decimal(given), values["precision"])
        except UnitsError as error:
            raise _Mistake((*path, key), f"expected {error}, got {given!r}") from None
    if None not in (values["least"], values["most"]) and values["least"] > values["most"]:
        reason = f"expected least to be no more than most, got {table['least']} and {table['most']}"
        raise _Mistake((*path, "least"), reason)
    return values


class _Exact(Decimal):
    """A number with all its decimals, shown in messages as it is written."""

    __repr__ = Decimal.__str__


def _windows(names: Any) -> tuple[Window, ...] | None:
    if not _is_list(names, str):
        return None
    if len(set(names)) < len(names):
        raise ValueError(f"expected each window once, got {names!r}")
    return tuple(map(windows.parse_window, names))


MAX_TIE_BREAKS: Final = 3


def _tie_breaks(names: Any) -> tuple[str, ...] | None:
    if not _is_list(names, str):
        return None
    if len(names) > MAX_TIE_BREAKS:
        raise ValueError(f"expected at most {MAX_TIE_BREAKS} metrics, got {len(names)}: remove the last ones")
    if len(set(names)) < len(names):
        raise ValueError(f"expected each metric once, got {names!r}: remove the second one")
    return tuple(names)


_LIMIT: Final = _Key(
    "a number", _if(lambda value: type(value) in (int, _Exact) and Decimal(value).is_finite()), is_optional=True
)
_UNIT_TEXT: Final = re.compile("(?! |(?i:times?)$).{0,15}[^ ]|time")
_UNIT: Final = _Key(
    'time, where numbers are seconds, or a text of 1 to 16 characters such as "km"',
    _if(lambda value: isinstance(value, str) and value.isprintable() and _UNIT_TEXT.fullmatch(value)),
    is_optional=True,
)
_METRIC: Final = {
    "aggregate": _choice(get_args(boards.AggregateFunction))._replace(default=None),
    "least": _LIMIT,
    "most": _LIMIT,
    "notes": _Key("true or false", _if(lambda value: isinstance(value, bool)), default=False),
    "order": _choice(get_args(boards.Order)),
    "precision": _whole_number(0, MAX_DECIMALS, 0),
    "ranked_from": _LIMIT,
    "tie_breaks": _Key('a list of metrics such as ["penalty"]', _tie_breaks, []),
    "ties": _choice(get_args(boards.Ties)),
    "unit": _UNIT,
    "windows": _Key('a list such as ["all", "last-7-days"]', _windows, []),
}
_COMPANION: Final = {
    **{name: _METRIC[name] for name in ("least", "most", "order", "precision", "unit")},
    "with": _Key('a metric such as "best"', _if(lambda value: isinstance(value, str))),
}
_DEFAULTS: Final = {name: key.make(key.default) for name, key in _METRIC.items()}
"""The values of a metric whose table says nothing. One that is kept with another has these of all but its own keys."""
MAX_SEASONS: Final = 100
LAST_YEAR: Final = 2999


def _seasons(path: _Path, tables: Any) -> Seasons:
    if not _is_list(tables, dict):
        raise _Mistake(path, f'expected tables such as [[boards."{path[-2]}".seasons]], got {tables!r}')
    if len(tables) > MAX_SEASONS:
        raise _Mistake(path, f"expected at most {MAX_SEASONS} seasons, got {len(tables)}: remove the oldest")
    seasons: list[Season] = []
    for number, table in enumerate(tables):
        where = (*path, str(number))
        season = Season(**_table(where, table, _SEASON))
        if season.starts >= season.ends:
            expected = f"expected a day after starts ({table['starts']}), got {table['ends']}"
            raise _Mistake((*where, "ends"), f"{expected}: the season's last day is before it")
        if any(season.name == earlier.name for earlier in seasons):
            raise _Mistake((*where, "name"), f"expected another name, there is a season {season.name!r} already")
        seasons.append(season)
    for before, after in pairwise(sorted(seasons, key=lambda season: season.starts)):
        if after.starts < before.ends:
            number = max(seasons.index(before), seasons.index(after))
            expected = "expected each season to end by the day on which the next starts"
            raise _Mistake((*path, str(number), "starts"), f"{before.name!r} and {after.name!r} overlap: {expected}")
    return Seasons(seasons)


def _check_use(path: _Path, seasons: Seasons, metrics: Mapping[str, Metric]) -> None:
    """`_Mistake` if the window `season` is used without seasons, or the other way round."""
    used = [metric.name for metric in metrics.values() if metric.window("season") is not None]
    if used and not seasons.all:
        expected = f'expected seasons for the window "season": add [[boards."{path[-1]}".seasons]]'
        raise _Mistake((*path, "metrics", used[0], "windows"), f"{expected} with name, starts and ends")
    if seasons.all and not used:
        reason = 'expected a metric with the window "season": add it to its windows, or remove the seasons'
        raise _Mistake((*path, "seasons"), reason)


def _day(value: Any) -> int | None:
    try:
        return windows.parse_day(value) if int(value[:4]) <= LAST_YEAR else None
    except (ValueError, TypeError):
        return None


_DAY: Final = _Key(f'a day in quotes such as "2026-12-01", from 1970 to {LAST_YEAR}', _day)
_SEASON: Final = {"ends": _DAY, "name": _name('a name such as "winter-2026": '), "starts": _DAY}


def _announced(path: _Path, tops: Mapping[str, Any], metrics: Mapping[str, Metric]) -> dict[str, int]:
    """The length of the top by window whose top is announced: `{"day": 10}`."""
    announced: dict[str, int] = {}
    for name, table in tops.items():
        where = (*path, name)
        window = next((window for metric in metrics.values() if (window := metric.window(name)) is not None), None)
        if window is None:
            raise _Mistake(where, "expected a window that a metric is ranked in")
        if window.rolling:
            reason = "expected all, a calendar window or season: in a rolling window the top changes by itself"
            raise _Mistake(where, reason)
        announced[name] = _table(where, table, {"top": _whole_number(1, 100)}, "a length such as { top = 10 }")["top"]
    return announced


MAX_PRIZES: Final = 20  # Prizes of one window


def _endings(path: _Path, values: Mapping[str, Any], metrics: Mapping[str, Metric]) -> Endings:
    settle: tuple[str, ...] = values["settle"]
    ranked = {name: [metric.name for metric in metrics.values() if metric.window(name)] for name in settle}
    for name in settle:
        if not ranked[name]:
            raise _Mistake((*path, "settle"), f"expected a window that a metric is ranked in, got {name!r}")
    if settle and values["keep"] < values["late"] + SETTLED_FOR:
        reason = "expected keep to be at least 2 days longer than late, to have time to settle"
        raise _Mistake((*path, "settle"), reason)
    prizes: dict[str, tuple[Prize, ...]] = {}
    for window, listed in values["prizes"].items():
        where = (*path, "prizes", window)
        if window not in settle:
            raise _Mistake(where, f"expected a window that settle names ({', '.join(settle) or 'none'})")
        if not _is_list(listed, dict) or not 1 <= len(listed) <= MAX_PRIZES:
            example = '[{ ranks = "1", name = "gold" }]'
            raise _Mistake(where, f"expected a list of 1 to {MAX_PRIZES} prizes such as {example}, got {listed!r}")
        prizes[window] = tuple(_prize(where, table, ranked[window]) for table in listed)
        for prize in prizes[window]:
            if sum((one.metric, one.name) == (prize.metric, prize.name) for one in prizes[window]) > 1:
                raise _Mistake(where, f"expected each name once for a metric, got {prize.name!r} twice")
    return Endings(settle, prizes)


SETTLED_FOR: Final = 2 * DAY  # Time to settle what is final, before it can no longer be read


def _check_expires(path: _Path, values: Mapping[str, Any], timetable: Timetable) -> None:
    """`_Mistake` if a board would end before its first period of each settled window could be settled."""
    days = {"day": 1, "week": 7, "month": 31, "year": 366, "season": timetable.seasons.longest}
    longest = max((days[name] * DAY for name in values["settle"]), default=0)
    least = longest + timetable.late + SETTLED_FOR
    if values["expires"] is not None and values["expires"] < least:
        settled = f"the longest window that is settled ({longest // DAY} days), late and " if longest else "late and "
        reason = f"expected at least {settled}2 days, {span_text(least)} in all, got {span_text(values['expires'])}"
        raise _Mistake(path, f"{reason}: lengthen it, or shorten late")


def _prize(path: _Path, table: Mapping[str, Any], metrics: list[str]) -> Prize:
    name = table.get("name", "a prize")
    try:
        values = _table(path, table, _PRIZE)
    except _Mistake as mistake:
        raise _Mistake(path, f"{name}: {mistake}") from mistake
    if (values["ranks"] is None) == (values["percent"] is None):
        raise _Mistake(path, f"{name}: expected either ranks or percent")
    metric = table.get("metric", metrics[0] if len(metrics) == 1 else None)
    if metric not in metrics:
        advice = "" if metric else f': several metrics rank in this window, so add metric = "{metrics[0]}"'
        raise _Mistake(path, f"{name}: metric: expected one of {', '.join(metrics)}, got {_shown(metric)}{advice}")
    first, last = values["ranks"] or (1, 0)
    return Prize(name, metric, first, last, values["percent"], values["method"])


def _ranks(text: Any) -> tuple[int, int] | None:
    match = re.fullmatch(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?", text) if isinstance(text, str) else None
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    return (first, last) if first <= last else None


_PRIZE: Final = {
    "method": _choice(get_args(boards.PrizeMethod)),
    "metric": _Key("a metric", _if(lambda _: True), is_optional=True),
    "name": _name(""),
    "percent": _whole_number(1, 100)._replace(is_optional=True),
    "ranks": _Key('a rank such as "1" or ranks such as "2-3"', _ranks, is_optional=True),
}
MAX_ITEM_BYTES: Final = 400_000  # DynamoDB takes 400 KiB, 409,600 bytes
MAX_NOTED_BYTES: Final = 100_000  # The limit for items with notes: each write costs a unit for each KB of the item


def _check_size(path: _Path, family: Family) -> None:
    has_notes = any(metric.notes for metric in family.metrics.values())
    limits = [(MAX_NOTED_BYTES, " with notes", False)] if has_notes else []
    for most, kind, late in (*limits, (MAX_ITEM_BYTES, "", True)):
        # Late events are rare: they count for what DynamoDB takes, not for what a write usually costs.
        if (size := most_bytes(family, late=late)) > most:
            reason = f"expected members' items of at most {most:,} bytes, got up to {size:,}{kind}"
            advice = f"shorten late, keep or a window, or rank fewer metrics{kind}"
            raise _Mistake((*path, "metrics"), f"{reason}: {advice}")


_NOW: Final = 1_774_000_000_000  # Any instant: another one changes the number of buckets by one at most
_OVERHEAD: Final = 1_500  # Keys, version, clocks
_VALUE: Final = 12
_TIE_KEY: Final = 10 + 4 * 128  # An instant and an event's id, of characters of up to four bytes
_NOTE: Final = 256
_COMPANION_BYTES: Final = 24


def most_bytes(family: Family, *, late: bool) -> int:
    """The most bytes of an item of a member that is active in every bucket; with `late`, of late events in each too."""
    size = _OVERHEAD
    for metric in family.counted_metrics:
        texts = (_TIE_KEY if metric.has_tie_keys else 0) + (_NOTE if metric.notes else 0)
        texts += _COMPANION_BYTES * len(metric.tie_breaks) if metric.has_companions else 0
        # The name stands with the value, the tie key, the note and the companions.
        copies = 1 + metric.has_tie_keys + metric.notes + metric.has_companions
        size += sum(copies * (len(name) + 1) + _VALUE + texts for name in _attributes(metric, late=late))
    return size


def _attributes(metric: Metric, *, late: bool) -> Iterator[str]:
    """The attributes that an item may hold together for a metric."""
    yield metric.total()
    timetable = metric.timetable
    for unit in metric.bucket_codes:
        buckets = _buckets(metric, unit)
        yield from (metric.bucket(unit, bucket) for bucket in buckets)
        if late and any(window.rolling and window.unit == unit for window in metric.kept_windows):
            first = timetable.index(unit, _NOW - timetable.late_for(unit))
            names_first = (first - 1, first) if timetable.rolling_until(unit, first - 1) > _NOW else ()
            for name in (late_name(metric.bucket(unit, bucket)) for bucket in buckets if bucket < first):
                yield name
                yield from (f"{name}f{of}" for of in names_first)


def _buckets(metric: Metric, unit: Unit) -> Iterable[int]:
    """The buckets that an item may hold together."""
    if unit == "s":
        stored = windows.SEASON_KEPT // DAY + 2
        seasons = metric.timetable.seasons.all
        together = [
            [one.index for one in seasons if one.starts <= newest.starts <= one.ends + stored] for newest in seasons
        ]
        return max(together, key=len)
    buckets = range(metric.timetable.index(unit, 0), metric.timetable.index(unit, _NOW) + 2)
    # The first write a day after a bucket expired removes it. Buckets expire in their order.
    return buckets[bisect_right(buckets, _NOW - 2 * DAY, key=lambda bucket: metric.expires(unit, bucket)) :]
