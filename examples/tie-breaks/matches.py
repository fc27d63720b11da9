"""The producer of a football table: reads results of matches, and prints an event for each, as JSON lines.

`python3 matches.py matches.csv` prints events with two updates, one for each side. A match counts for both or for
neither.
"""

import csv
import json
import sys
from pathlib import Path
from typing import Any


def event(match: dict[str, str]) -> dict[str, Any]:
    """Return the event of a match: `{"points": 3, "difference": 1, "goals": 2}` for the winner of a 2:1."""
    home, away = int(match["home_goals"]), int(match["away_goals"])
    sides = ((match["home"], home, away), (match["away"], away, home))
    return {
        "id": f"{match['board']}/{match['home']}/{match['away']}",
        "updates": [
            {
                "board": match["board"],
                "member": team,
                "metrics": {"points": points(scored, against), "difference": scored - against, "goals": scored},
            }
            for team, scored, against in sides
        ],
    }


def points(scored: int, against: int) -> int:
    """Return three points for a win, one for a draw."""
    return 3 if scored > against else int(scored == against)


if __name__ == "__main__":
    with Path(sys.argv[1]).open(encoding="utf-8", newline="") as rows:
        for one in csv.DictReader(rows):
            print(json.dumps(event(one)))
