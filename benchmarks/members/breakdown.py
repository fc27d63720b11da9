"""What the units of a board's events are for: the writer, each calendar window, and the parts of rolling windows."""

import re
from collections import defaultdict
from typing import Final

from benchmarks.harness.capacity_units import Units
from benchmarks.harness.meter import Snapshot
from standings.aws.dynamodb.keys import PLACES
from standings.domain.boards.definitions import Metric

WRITER: Final = "writer"
_KEY: Final = re.compile(r"[^#]+#([^#/]+)([#/]?)(.*)", re.DOTALL)


def breakdown(metric: Metric, cost: Snapshot) -> dict[str, Units]:
    """Return units by part."""
    parts: defaultdict[str, Units] = defaultdict(Units)
    for (table, key), units in cost.targets.items():
        parts[_part(metric, table, key)] += units
    return dict(parts)


def _part(metric: Metric, table: str, key: str) -> str:
    if not table.startswith("Rankings"):
        return WRITER
    match = _KEY.fullmatch(key)
    if match is None:
        raise ValueError(f"expected a key of Rankings, got {key!r}")
    code, separator, rest = match.groups()
    for window in metric.windows:
        period = code.removeprefix(metric.ranking_code(window))
        if period != code and (not period or period.isdigit()):
            if not window.rolling:
                return window.name
            if table.endswith(PLACES):
                return "list"
            if separator == "#":
                return "list" if period else "rows"
            return "log" if not period and rest.startswith("log") else "nodes"
    raise ValueError(f"expected a key of one of the windows, got {key!r}")
