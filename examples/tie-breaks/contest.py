"""The producer of a programming contest: reads submissions in their order, and prints events as JSON lines.

`python3 contest.py contest-autumn submissions.csv` prints an event for each team, with zeros, and one for each problem
that a team solves: `{"solved": 1, "penalty": 54}` for one solved in minute 14 after two wrong tries. With a third
argument, `latest`, each event also has the minute: `{"solved": 1, "penalty": 54, "latest": 14}`.
"""

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

WRONG_TRY: Final = 20
"""Minutes that each wrong try at a problem costs, once the problem is solved."""


def events(contest: str, submissions: Iterable[dict[str, str]], minute: str = "") -> Iterator[dict[str, Any]]:
    """Yield the events of a contest. Each has an id of its own, so that a second run counts nothing twice.

    `minute` is the metric of the minute in which a problem was solved; empty if there is none.
    """
    wrong: Counter[tuple[str, str]] = Counter()
    teams: set[str] = set()
    solved: set[tuple[str, str]] = set()
    for one in submissions:
        team, problem = pair = one["team"], one["problem"]
        if team not in teams:
            teams.add(team)
            yield _event(f"{contest}/{team}", contest, team, solved=0, penalty=0, **({minute: 0} if minute else {}))
        if pair in solved or one["verdict"] == "compile error":
            continue
        if one["verdict"] != "accepted":
            wrong[pair] += 1
            continue
        solved.add(pair)
        penalty = int(one["minute"]) + WRONG_TRY * wrong[pair]
        when = {minute: int(one["minute"])} if minute else {}
        yield _event(f"{contest}/{team}/{problem}", contest, team, solved=1, penalty=penalty, **when)


def _event(event_id: str, board: str, member: str, **metrics: int) -> dict[str, Any]:
    return {"id": event_id, "board": board, "member": member, "metrics": metrics}


if __name__ == "__main__":
    board, file, *third = sys.argv[1:]
    with Path(file).open(encoding="utf-8", newline="") as rows:
        for event in events(board, csv.DictReader(rows), *third):
            print(json.dumps(event))
