"""Our reads beside those of the peers, as the README shows them: what is asked, how, and what it costs here.

`peers.csv` says what each of them answers; the costs come from a result of `reads`. A cost is named by a board of that
result and a read of it.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

TABLE: Final = Path(__file__).parent / "peers.csv"
_COST: Final = "cost"


def table(result: Mapping[str, Any]) -> Iterator[str]:
    """The peers' table, with the costs at the most members of the result."""
    costs = {f"{row['board']}: {row['read']}": f"{row['read_units_most']:g}" for row in by_size(result)}
    with TABLE.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    columns = [name for name in rows[0] if name != _COST]
    yield f"| {columns[0]} | {columns[1]} | units | {' | '.join(columns[2:])} |"
    yield "|---" * (len(columns) + 1) + "|"
    for row in rows:
        cost = costs[row[_COST]] if row[_COST] else ""
        yield f"| {row[columns[0]]} | {row[columns[1]]} | {cost} | {' | '.join(row[name] for name in columns[2:])} |"


def by_size(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of a result, those of the most members last."""
    return sorted(result["reads"], key=lambda row: int(row["members"]))
