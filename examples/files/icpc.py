"""Reads a contest package of the CLICS Contest API: `python3 icpc.py contest icpc-2026` prints events as JSON lines.

`pip install xcpcio`. Each team gets an event that sets its totals, with the time of its latest verdict: so after a
rejudge, the package that is read again is right. Of each solved problem count whole minutes, rounded down, and the
contest's `penalty_time` for each wrong try before. Hidden teams, and what came too late, count nothing.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from xcpcio.clics.reader.contest_package_reader import ContestPackageReader


def events(package: ContestPackageReader, board: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a contest."""
    for team in package.teams:
        if not team.get("hidden"):
            metrics, at = totals(package, team["id"])
            about = {"id": f"{board}/{team['id']}/{at}", "at": at, "board": board, "member": team["id"]}
            yield {**about, "set": True, "metrics": metrics}


def totals(package: ContestPackageReader, team: str) -> tuple[dict[str, float], str]:
    """Return what a team has, and when its latest verdict came."""
    contest, at = package.contest, package.contest["start_time"]
    wrong: Counter[str] = Counter()
    solved: dict[str, tuple[int, float]] = {}
    for one in sorted(package.submissions, key=lambda one: (seconds(one["contest_time"]), one["id"])):
        problem, time = one["problem_id"], seconds(one["contest_time"])
        judgements = package.judgements_by_submission_id.get(one["id"], [])
        if one["team_id"] != team or not judgements:
            continue
        last = max(judgements, key=lambda one: seconds(one["start_contest_time"]))  # The verdict that stands
        at = max(at, last["end_time"] or last["start_time"], key=datetime.fromisoformat)
        verdict = package.judgement_types_by_id.get(last["judgement_type_id"])
        if problem in solved or verdict is None or not 0 <= time < seconds(contest["duration"]):
            continue
        if verdict["solved"]:
            solved[problem] = int(time) // 60 + wrong[problem] * contest.get("penalty_time", 20), time
        elif verdict["penalty"]:
            wrong[problem] += 1
    penalty, latest = sum(one for one, _ in solved.values()), max((time for _, time in solved.values()), default=0)
    return {"solved": len(solved), "penalty": penalty, "latest": latest}, at


def seconds(time: str) -> float:
    """Return the seconds of a time in the contest: of `1:02:33.400` 3753.4."""
    hours, minutes, rest = time.removeprefix("-").split(":")
    length = int(hours) * 3600 + int(minutes) * 60 + float(rest)
    return -length if time.startswith("-") else length


if __name__ == "__main__":
    for event in events(ContestPackageReader(Path(sys.argv[1])), sys.argv[2]):
        print(json.dumps(event))
