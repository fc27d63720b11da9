"""Reads a tournament report of FIDE (TRF): `python3 chess.py open.trf chess-open` prints events as JSON lines.

`pip install trf`. The points are those of the report, which knows the tournament's own rule for byes. The place is the
arbiter's: tie-breaks such as Buchholz go by the opponents' points. Both are set, so a later report replaces them. The
time of the report is for `post --at`: programs write its dates in forms of their own.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trf


def events(tournament: Any, board: str) -> Iterator[dict[str, Any]]:
    """Yield two events for each player: the total of points, and the place."""
    for player in tournament.players:
        about = {"board": board, "member": str(player.id or player.name)}
        yield {**about, "set": True, "metrics": {"points": player.points}}
        if player.rank:
            yield {**about, "metrics": {"place": player.rank}}


if __name__ == "__main__":
    for event in events(trf.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), sys.argv[2]):
        print(json.dumps(event))
