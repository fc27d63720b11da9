"""Reads a private leaderboard of Advent of Code: `python3 advent.py 2026.json advent-2026` prints events as JSON lines.

The file is what the page's "API" link gives. Each star is an event at the second at which it was won, so it counts on
its day, and once, however often the file is read. Members have the numbers of the page: names may change. `local_score`
depends on all others, so it is not posted.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def events(leaderboard: dict[str, Any], board: str) -> Iterator[dict[str, Any]]:
    """Yield an event for each star."""
    for number, member in leaderboard["members"].items():
        for day, parts in member["completion_day_level"].items():
            for part, star in parts.items():
                about = {"id": f"{board}/{number}/{day}/{part}", "at": int(star["get_star_ts"])}
                yield {**about, "board": board, "member": number, "metrics": {"stars": 1}}


if __name__ == "__main__":
    for event in events(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), sys.argv[2]):
        print(json.dumps(event))
