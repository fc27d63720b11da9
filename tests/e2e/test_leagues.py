"""The example of leagues beside the deployed stack: two days are played, settled, and heard of by EventBridge."""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from typing import Any, Final

import pytest

from demo.embedded.stack import Deployment, target
from tests.e2e.conftest import TODAY, WEST, boards
from tests.e2e.test_told import invoked, task, until
from tests.support.aws.deployed_api import count, event
from tests.support.aws.examples import deploy

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

OUTPUTS: Final = (
    *("StandingsLayerArn", "ReaderPolicyArn", "ScoresTableName", "RankingsTableName", "ProfilesTableName"),
    "ResultsBucketName",
)
SIZE: Final = 5
MEMBERS: Final = [f"player/{number:02}" for number in range(10)]
DAYS: Final = [TODAY - timedelta(days=2), TODAY - timedelta(days=1), TODAY]


@pytest.fixture
def league(deployment: Deployment) -> Callable[[str, str, date], Any]:
    """Deploys the example: days, groups of five, of which the first two rise and the last falls. Calls its API."""
    given = dict(one.split("=") for one in target())
    rules = {"GroupSize": str(SIZE), "Rise": "2", "Fall": "1", "Window": "day", "PatienceHours": "72"}
    place = {"BoardPrefix": "tier", "Timezone": f"Etc/GMT{WEST:+}"}
    name = deploy(deployment, "leagues", *OUTPUTS, **given, **rules, **place)["ApiFunctionName"]

    def call(method: str, member: str, day: date) -> Any:
        request = {
            "pathParameters": {"member": member},
            "requestContext": {"http": {"method": method}, "timeEpoch": round(time.time() * 1000)},
            "body": json.dumps({"at": f"{day}T12:00:00{-WEST:+03}:00"}),
        }
        answer = invoked(deployment, name, request)
        assert answer["statusCode"] == 200, answer
        return json.loads(answer["body"])

    return call


def test_two_days_of_a_league(deployment: Deployment, league: Callable[[str, str, date], Any]) -> None:
    divisions = dict.fromkeys(MEMBERS, "bronze")

    def moved(day: date) -> bool:
        return {member: league("GET", member, day)["division"] for member in MEMBERS} == divisions

    for number, day in enumerate(DAYS):
        if number:
            deployment.define(boards("1 day", "3 days"))
        groups: dict[str, list[str]] = defaultdict(list)
        for member in MEMBERS:
            state = league("POST", member, day)
            assert (state["division"], state["members"]) == (divisions[member], 0)
            groups[state["board"]].append(member)
        assert Counter(len(members) for members in groups.values()).keys() <= {*range(1, SIZE + 1)}
        if day == TODAY:
            break
        at = f"{day}T12:00:00{-WEST:+03}:00"
        points = {member: (place * 7 + number * 3) % 11 for place, member in enumerate(MEMBERS)}
        count(deployment, [event(board, one, points[one], at=at) for board, all_ in groups.items() for one in all_])
        for board, members in groups.items():
            ordered = sorted(members, key=points.__getitem__, reverse=True)
            state = league("GET", ordered[0], day)
            assert (state["rank"], state["members"]) == (1, len(members))
            division = board.split("-")[1]
            rise = {1: 0, 2: 1}.get(len(members), 2)
            for one in ordered[:rise]:
                divisions[one] = {"bronze": "silver", "silver": "gold"}[division]
            if division == "silver" and len(members) > 3:
                divisions[ordered[-1]] = "bronze"
        deployment.define(boards("1 day", "2 minutes"))
        for board in groups:
            (told,) = task(deployment, {"settle": {"board": board, "window": "day", "period": str(day)}})["rankings"]
            assert told["settled"], told
        until(partial(moved, DAYS[number + 1]))
    assert len(set(divisions.values())) == 3
