"""Reads `settle` and `prizes` of a family in `boards.toml`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from standings.domain.boards.definitions import Metric
from standings.domain.boards.endings import SETTLED_WINDOWS, Endings, Prize
from standings.domain.boards.mistakes import Mistake, Path, check_keys
from standings.domain.windows.calendar import DAY
from standings.domain.windows.late_and_keep import Timetable

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
