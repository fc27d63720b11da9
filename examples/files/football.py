"""Reads results as football-data.co.uk has them: `python3 football.py E0.csv football-2026` prints JSON lines.

A match is one event with two updates: it counts for both sides or for neither. `Date` has the day first, in two or four
digits of the year, and `Time` is that of England.
"""

import csv
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from standings.client import time_zone

LONDON: Final = time_zone("Europe/London")


def events(file: Path, board: str) -> Iterator[dict[str, Any]]:
    """Yield the event of each match that has been played."""
    with file.open(encoding="utf-8-sig", newline="") as rows:
        for match in csv.DictReader(rows):
            if match["FTHG"]:
                yield event(match, board)


def event(match: dict[str, str], board: str) -> dict[str, Any]:
    """Return the event of a match."""
    home, away, form = int(match["FTHG"]), int(match["FTAG"]), "%d/%m/%Y" if len(match["Date"]) > 8 else "%d/%m/%y"
    text = f"{match['Date']} {match.get('Time') or '15:00'}"
    begins = datetime.strptime(text, f"{form} %H:%M").replace(tzinfo=LONDON)
    sides = ((match["HomeTeam"], home, away), (match["AwayTeam"], away, home))
    return {
        "id": f"{board}/{match['HomeTeam']}/{match['AwayTeam']}",
        "at": begins.isoformat(),
        "updates": [{"board": board, "member": team, "metrics": numbers(*goals)} for team, *goals in sides],
    }


def numbers(scored: int, against: int) -> dict[str, int]:
    """Return what a side gets: three points for a win, one for a draw."""
    points = 3 if scored > against else int(scored == against)
    return {"points": points, "difference": scored - against, "goals": scored}


if __name__ == "__main__":
    for one in events(Path(sys.argv[1]), sys.argv[2]):
        print(json.dumps(one))
