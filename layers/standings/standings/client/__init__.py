"""A client for programs in Python: posts events to the queue, and reads ranks from the tables or over the API.

    from standings.client import connect

    standings = connect("standings")
    standings.post("berlin-2026", "u123", points=3)
    standings.board("berlin-2026").rank("u123", window="last-7-days")  # {"rank": 211, "score": 50, …}

`connect` says what it needs; nothing is requested before the first call. Answers are as the API's, and their types are
in `standings.client.answer_types`. Numbers with decimals are floats; they print as in the API.

A failed call raises an `ApiError`: `NotFound`, `BadArgument`, `NotAllowed` or `Unavailable`, with `kind` and `detail`.
"""

from typing import TYPE_CHECKING, Any

from standings.client.errors import (
    ApiError,
    BadArgument,
    NotAllowed,
    NotFound,
    PostError,
    StackError,
    StaleBoards,
    Unavailable,
    Unsent,
)

if TYPE_CHECKING:
    from standings.client.posts import Batch
    from standings.client.standings import Board, Standings, connect, time_zone

__all__ = [
    "ApiError",
    "BadArgument",
    "Batch",
    "Board",
    "NotAllowed",
    "NotFound",
    "PostError",
    "StackError",
    "StaleBoards",
    "Standings",
    "Unavailable",
    "Unsent",
    "connect",
    "time_zone",
]


def __getattr__(name: str) -> Any:
    """Import the client when it is first used: the command line needs only its errors, and starts faster."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from standings.client import standings  # noqa: PLC0415 - as said

    return getattr(standings, name)
