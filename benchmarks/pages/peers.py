"""The table of what we answer and what the peers do, on a page of its own, and its short list in the README.

`peers.csv` has the questions and what each peer answers; those with an entry in the column `README` are short-listed.
The costs come from the result of `make reads`: the column `cost` names a board and a read of it.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.pages.tables import Result

TABLE: Final = Path(__file__).parent / "peers.csv"
_COST: Final = "cost"
_SHORT: Final = "README"


def table(result: Result, *, short: bool = False) -> Iterator[str]:
    """Return the lines of the table, with the costs on the largest boards; short: of the short list."""
    rows = sorted(result["reads"], key=lambda row: int(row["members"]))
    costs = {f"{row['board']}: {row['read']}": f"{row['read_units_most']:g}" for row in rows}
    with TABLE.open(encoding="utf-8", newline="") as lines:
        reads = [row for row in csv.DictReader(lines) if row[_SHORT] or not short]
    columns = [name for name in reads[0] if name not in (_COST, _SHORT)]
    yield f"| {columns[0]} | {columns[1]} | units | {' | '.join(columns[2:])} |"
    yield "|---" * (len(columns) + 1) + "|"
    for row in reads:
        cost = costs[row[_COST]] if row[_COST] else ""
        yield f"| {row[columns[0]]} | {row[columns[1]]} | {cost} | {' | '.join(row[name] for name in columns[2:])} |"
