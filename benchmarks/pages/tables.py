"""The two forms of the pages' tables: one line for each row of a result, or cells by line and column."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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
