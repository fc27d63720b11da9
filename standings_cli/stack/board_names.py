"""Tells a board that nobody has posted to from one with another name."""

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from standings_cli.terminal import DIFFERS, OK, shown

if TYPE_CHECKING:
    from standings_cli.stack.api import Api

_MOST: Final = 1_000  # the most boards that the API answers at once


def unknown_board(api: "Api", board: str) -> str | None:
    """Return that a board has had no event, and what may be meant; None if it has had one."""
    first = api.read("boards", prefix=board, limit=1)["boards"]
    if first and first[0]["board"] == board:
        return None
    names = [each["board"] for each in api.read("boards", limit=_MOST)["boards"]]
    close = get_close_matches(board, names, n=1)
    if close:
        hint = f"did you mean {close[0]!r}?"
    elif names:
        hint = "`standings boards list` shows the boards"
    else:
        hint = "no board has: post one with `standings post BOARD MEMBER METRIC=AMOUNT`"
    return f"board {board!r} has had no event: {hint}"


def unknown_status(api: "Api", board: str) -> int:
    """Return the exit status of an answer that an unknown board gives as well. If the board is unknown, say so."""
    problem = unknown_board(api, board)
    if problem is not None:
        print(f"standings: {shown(problem)}", file=sys.stderr)
    return OK if problem is None else DIFFERS
