"""The README's table of our reads and those of the peers.

`peers.csv` has the reads and what each peer answers. The costs come from the results of `make reads`: the column `cost`
names a board (or a kind of profiles) and a read of one of them.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

TABLE: Final = Path(__file__).parent / "peers.csv"
_COST: Final = "cost"


def table(*results: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines of the table, with the costs of the largest boards of the results."""
    rows = (row for result in results for row in by_size(result))
    costs = {
        f"{row.get('board') or row['profiles']}: {row['read']}": f"{row['read_units_most']:g}"
        for row in rows
        if "read" in row
    }
    with TABLE.open(encoding="utf-8", newline="") as lines:
        reads = list(csv.DictReader(lines))
    columns = [name for name in reads[0] if name != _COST]
    yield f"| {columns[0]} | {columns[1]} | units | {' | '.join(columns[2:])} |"
    yield "|---" * (len(columns) + 1) + "|"
    for row in reads:
        cost = costs[row[_COST]] if row[_COST] else ""
        yield f"| {row[columns[0]]} | {row[columns[1]]} | {cost} | {' | '.join(row[name] for name in columns[2:])} |"


def by_size(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of a result by number of members, the largest boards last."""
    rows: list[Mapping[str, Any]] = result["reads"] if "reads" in result else result["rows"]
    return sorted(rows, key=lambda row: int(row.get("members", 0)))
