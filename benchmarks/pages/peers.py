"""The table of what we answer and what the peers do, on a page of its own, and its short list in the README.

`peers.csv` has the questions and what each peer answers; those with an entry in the column `README` are short-listed.
The costs come from the results of `make reads`: the column `cost` names a board (or a kind of profiles) and a read of
one of them.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

TABLE: Final = Path(__file__).parent / "peers.csv"
PAGE: Final = "docs/comparison.md"
_COST: Final = "cost"
_SHORT: Final = "README"


def table(*results: Mapping[str, Any], short: bool = False) -> Iterator[str]:
    """Return the lines of the table, with the costs of the largest boards of the results; short: of the short list."""
    rows = (row for result in results for row in by_size(result))
    costs = {
        f"{row.get('board') or row['profiles']}: {row['read']}": f"{row['read_units_most']:g}"
        for row in rows
        if "read" in row
    }
    with TABLE.open(encoding="utf-8", newline="") as lines:
        reads = [row for row in csv.DictReader(lines) if row[_SHORT] or not short]
    columns = [name for name in reads[0] if name not in (_COST, _SHORT)]
    yield f"| {columns[0]} | {columns[1]} | units | {' | '.join(columns[2:])} |"
    yield "|---" * (len(columns) + 1) + "|"
    for row in reads:
        cost = costs[row[_COST]] if row[_COST] else ""
        yield f"| {row[columns[0]]} | {row[columns[1]]} | {cost} | {' | '.join(row[name] for name in columns[2:])} |"


def by_size(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of a result by number of members, the largest boards last."""
    rows: list[Mapping[str, Any]] = result["reads"] if "reads" in result else result["rows"]
    return sorted(rows, key=lambda row: int(row.get("members", 0)))
