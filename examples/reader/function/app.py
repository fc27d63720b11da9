"""Counts the points of a run, and answers with the member's rank and who is around it. It calls no API.

The layer of the stack has the client and the stack's `boards.toml`. Both policies are outputs of the stack.
"""

import os
from typing import Any

from standings.client import NotFound, connect

standings = connect(
    queue_url=os.environ["QUEUE_URL"],
    tables={name: os.environ[f"{name.upper()}_TABLE"] for name in ("scores", "rankings", "profiles")},
)


def handler(run: dict[str, Any], _: Any) -> dict[str, Any]:
    """Take a run such as `{"id": "run-17", "board": "berlin-2026", "member": "u123", "points": 3}`.

    The id makes the run count once, however often it is delivered. Without `points` it is only asked for the rank. A
    rank follows its events within seconds, so the answer may be that of a moment ago; `rank` is None for nobody yet.
    """
    board, member = standings.board(run["board"]), run["member"]
    if "points" in run:
        standings.post(board.name, member, id=run["id"], points=run["points"])
    try:
        around = board.around(member, limit=5, me=member)
    except NotFound:
        return {"rank": None, "around": []}
    return {"rank": around["me"] and around["me"]["rank"], "around": around["entries"]}
