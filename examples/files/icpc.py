"""Reads a contest package of the CLICS Contest API: `python3 icpc.py contest icpc-2026` prints events as JSON lines.

`pip install xcpcio`. A team gets an event with zeros, and one for each problem that it solves: whole minutes, rounded
down, the contest's `penalty_time` for each wrong try before, and the time of the solution. Hidden teams, and what came
too late, count nothing.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xcpcio.clics.reader.contest_package_reader import ContestPackageReader


def events(package: ContestPackageReader, board: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a contest."""
    contest, teams = package.contest, {team["id"]: team for team in package.teams if not team.get("hidden")}
    for team in teams:
        started = {"id": f"{board}/{team}", "at": contest["start_time"], "board": board, "member": team}
        yield {**started, "metrics": {"solved": 0, "penalty": 0}}
    wrong: Counter[tuple[str, str]] = Counter()
    solved: set[tuple[str, str]] = set()
    for one in sorted(package.submissions, key=lambda one: (seconds(one["contest_time"]), one["id"])):
        pair = team, problem = one["team_id"], one["problem_id"]
        verdict = verdict_of(package, one["id"])
        in_time = 0 <= seconds(one["contest_time"]) < seconds(contest["duration"])
        if team not in teams or pair in solved or verdict is None or not in_time:
            continue
        if verdict["solved"]:
            solved.add(pair)
            minutes = int(seconds(one["contest_time"])) // 60 + wrong[pair] * contest.get("penalty_time", 20)
            about = {"id": f"{board}/{team}/{problem}", "at": one["time"], "board": board, "member": team}
            yield {**about, "metrics": {"solved": 1, "penalty": minutes, "latest": seconds(one["contest_time"])}}
        elif verdict["penalty"]:
            wrong[pair] += 1


def verdict_of(package: ContestPackageReader, submission: str) -> dict[str, Any] | None:
    """Return the verdict that stands: the last one. None while there is none."""
    judgements = package.judgements_by_submission_id.get(submission, [])
    last = max(judgements, key=lambda one: seconds(one["start_contest_time"]), default=None)
    return None if last is None else package.judgement_types_by_id.get(last["judgement_type_id"])


def seconds(time: str) -> float:
    """Return the seconds of a time in the contest: of `1:02:33.400` 3753.4."""
    hours, minutes, rest = time.removeprefix("-").split(":")
    length = int(hours) * 3600 + int(minutes) * 60 + float(rest)
    return -length if time.startswith("-") else length


if __name__ == "__main__":
    for event in events(ContestPackageReader(Path(sys.argv[1])), sys.argv[2]):
        print(json.dumps(event))
