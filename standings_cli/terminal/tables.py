"""Tables, on a terminal and in a pipe. In a pipe no line is cut or folded. `rich` is imported at first use."""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from standings_cli.terminal.text import number, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

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


def standings(
    entries: Iterable[Mapping[str, Any]],
    member: str | None = None,
    bold: Collection[str] = (),
    movement: "Callable[[Mapping[str, Any]], Text] | None" = None,
    *,
    one_line: bool = False,
) -> "Table":
    """Make a table of a ranking's entries.

    The entry of `member` is marked, and members in `bold` are bold. `movement` fills a column beside the rank. With
    `one_line` a long name is cut instead of folded.
    """
    from rich.text import Text  # noqa: PLC0415 - at first use

    mark, moved = [""] * (member is not None), [""] * (movement is not None)
    rows = table(*mark, "rank", *moved, "member", "score", right=("rank", "score"))
    for entry in entries:
        name = Text(shown(entry["member"]))
        if one_line:
            name.no_wrap, name.overflow = True, "ellipsis"
        cells: list[str | Text] = [] if member is None else [">" if entry["member"] == member else ""]
        cells.append(number(entry["rank"]))
        if movement is not None:
            cells.append(movement(entry))
        rows.add_row(*cells, name, number(entry["score"]), style="bold" if entry["member"] in bold else None)
    return rows
