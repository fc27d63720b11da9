"""The forms of the pages' tables: a line for each row of a result, cells by line and column, and the peers."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Result = Mapping[str, Any]
Row = Mapping[str, Any]
Lines = Callable[[Result], Iterable[str]]
"""Makes the lines of a page's table from a result."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a line for each row. `line` names the row's values as `str.format` does.

    `rows` is the name of a list in the result, or a function that returns the rows.
    """

    head: str
    line: str
    rows: str | Callable[[Result], Iterable[Row]]

    def __call__(self, result: Result) -> Iterator[str]:
        yield f"| {self.head} |"
        yield "|---" * (self.head.count(" | ") + 1) + "|"
        rows = result[self.rows] if isinstance(self.rows, str) else self.rows(result)
        yield from (re.sub(r"(?<=\d)%", " %", f"| {self.line.format_map(row)} |") for row in rows)


def crossed(corner: str, cells: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Return a table of cells, each given with its line and its column, in the order in which these first come."""
    texts = {(line, column): text for line, column, text in cells}
    columns = list(dict.fromkeys(column for _, column in texts))
    yield f"| {corner} | {' | '.join(columns)} |"
    yield "|---" * (corner.count(" | ") + 1 + len(columns)) + "|"
    for line in dict.fromkeys(line for line, _ in texts):
        yield f"| {line} | {' | '.join(texts.get((line, column), '') for column in columns)} |"


PEERS: Final = Path(__file__).parent / "peers.csv"
"""What we answer and what the peers do.

The column `cost` names a board and a read, `link` a page below `docs`; `README` marks the short list.
"""
CHOICES: Final = ("Standings", "Redis sorted sets", "Nakama", "PlayFab v2", "Unity")
"""The columns of the short list: what most people choose between."""


def of_peers(result: Result, *, short: bool = False) -> Iterator[str]:
    """Return the table of the peers, with our costs on the largest boards; short: of a few questions and `CHOICES`."""
    rows = sorted(result["reads"], key=lambda row: int(row["members"]))
    costs = {f"{row['board']}: {row['read']}": f"{row['read_units_most']:g}" for row in rows}
    with PEERS.open(encoding="utf-8", newline="") as lines:
        reads = [row for row in csv.DictReader(lines) if row["README"] or not short]
    columns = [name for name in reads[0] if name not in ("cost", "link", "README")]
    if short:
        yield from crossed(columns[0], ((row[columns[0]], name, row[name]) for row in reads for name in CHOICES))
        return
    yield f"| {columns[0]} | {columns[1]} | read units | {' | '.join(columns[2:])} |"
    yield "|---" * (len(columns) + 1) + "|"
    for row in reads:
        cost = costs[row["cost"]] if row["cost"] else ""
        ours = f"[{row['Standings']}]({row['link']})" if row["link"] else row["Standings"]
        yield f"| {row[columns[0]]} | {ours} | {cost} | {' | '.join(row[name] for name in columns[2:])} |"
