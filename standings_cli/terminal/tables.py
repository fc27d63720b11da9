"""Tables on a terminal, or for whoever reads a pipe: there no line is cut or folded."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from standings_cli.terminal.text import number, shown

_PIPE_WIDTH: Final = 10_000

Side = Literal["left", "right"]


def console() -> Console:
    """Where results go. Nothing in them is taken for markup, a number to colour or the name of a picture."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(markup=False, highlight=False, emoji=False, width=width)


def table(*columns: tuple[str, Side]) -> Table:
    """A table without lines; what a column is called, and the side on which it stands."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, side in columns:
        made.add_column(name, justify=side, overflow="fold", no_wrap=side == "right")
    return made


def standings(entries: Iterable[Mapping[str, Any]], member: str | None = None) -> Table:
    """Entries of a ranking; that of a member is marked."""
    columns: list[tuple[str, Side]] = [("rank", "right"), ("member", "left"), ("score", "right")]
    made = table(*columns) if member is None else table(("", "left"), *columns)
    for entry in entries:
        mine = entry["member"] == member
        cells: list[str | Text] = [number(entry["rank"]), Text(shown(entry["member"])), number(entry["score"])]
        made.add_row(*cells if member is None else [">" if mine else "", *cells], style="bold" if mine else None)
    return made
