"""Tables, on a terminal and in a pipe. In a pipe no line is cut or folded. `rich` is imported at first use."""

import sys
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from standings_cli.terminal.text import number, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_PIPE_WIDTH: Final = 10_000


def console() -> "Console":
    """Make a console for results. It interprets no markup and no emoji codes, and colours no numbers.

    There are colours on a terminal alone, and none where the environment has NO_COLOR.
    """
    from rich.console import Console  # noqa: PLC0415 - at first use

    is_terminal = sys.stdout.isatty()
    width = None if is_terminal else _PIPE_WIDTH
    # Without this, FORCE_COLOR in the environment would colour what goes into a pipe.
    forced = None if is_terminal else False
    return Console(markup=False, highlight=False, emoji=False, width=width, force_terminal=forced)


def table(*columns: str, right: Collection[str]) -> "Table":
    """Make a table without lines. The columns in `right` are aligned there."""
    from rich.table import Table  # noqa: PLC0415 - at first use

    empty = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        empty.add_column(name, justify="right" if name in right else "left", overflow="fold", no_wrap=name in right)
    return empty


def standings(entries: Iterable[Mapping[str, Any]], member: str | None = None) -> "Table":
    """Make a table of a ranking's entries. The entry of `member` is marked, and bold."""
    mark = [""] * (member is not None)
    rows = table(*mark, "rank", "member", "score", right=("rank", "score"))
    for entry in entries:
        is_member = entry["member"] == member
        marks = [] if member is None else [">" if is_member else ""]
        cells = (number(entry["rank"]), shown(entry["member"]), number(entry["score"]))
        rows.add_row(*marks, *cells, style="bold" if is_member else None)
    return rows
