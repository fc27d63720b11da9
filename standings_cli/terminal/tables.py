"""Tables, on a terminal and in a pipe. In a pipe no line is cut or folded."""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from standings_cli.terminal.text import number, shown

_PIPE_WIDTH: Final = 10_000

Side = Literal["left", "right"]


def console() -> Console:
    """Make a console for results. It interprets no markup and no emoji codes, and colours no numbers."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(markup=False, highlight=False, emoji=False, width=width)


def table(*columns: tuple[str, Side]) -> Table:
    """Make a table without lines from the names and sides of its columns."""
    empty = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, side in columns:
        empty.add_column(name, justify=side, overflow="fold", no_wrap=side == "right")
    return empty


def standings(
    entries: Iterable[Mapping[str, Any]],
    member: str | None = None,
    bold: Collection[str] = (),
    movement: Callable[[Mapping[str, Any]], Text] | None = None,
    *,
    one_line: bool = False,
) -> Table:
    """Make a table of a ranking's entries.

    The entry of `member` is marked, and members in `bold` are bold. `movement` fills a column beside the rank. With
    `one_line` a long name is cut instead of folded.
    """
    columns: list[tuple[str, Side]] = [("rank", "right"), ("member", "left"), ("score", "right")]
    if movement is not None:
        columns.insert(1, ("", "left"))
    if member is not None:
        columns.insert(0, ("", "left"))
    rows = table(*columns)
    for entry in entries:
        name = Text(shown(entry["member"]))
        if one_line:
            name.no_wrap, name.overflow = True, "ellipsis"
        cells: list[str | Text] = [number(entry["rank"]), name, number(entry["score"])]
        if movement is not None:
            cells.insert(1, movement(entry))
        if member is not None:
            cells.insert(0, ">" if entry["member"] == member else "")
        rows.add_row(*cells, style="bold" if entry["member"] in bold else None)
    return rows
