"""Read the seasons of a family from `boards.toml`."""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from itertools import pairwise
from typing import Any, Final

from standings.domain.boards.mistakes import Mistake, Path, check_keys
from standings.domain.windows.calendar import parse_day
from standings.domain.windows.seasons import Season, Seasons

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
