"""Reads `announce` of a family in `boards.toml`: the windows whose top is announced, and how long the top is."""

from collections.abc import Mapping
from typing import Any, Final

from standings.domain.boards.definitions import Metric
from standings.domain.boards.mistakes import Mistake, Path, check_keys

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
