"""The example of leagues beside the deployed stack: a day is played, settled, and heard of by EventBridge."""

import json
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, Final

import pytest

from demo.embedded.stack import Deployment
from tests.e2e.conftest import TODAY, WEST, boards
from tests.support.aws.deployed_api import count, event, invoked, maintained, until
from tests.support.aws.examples import deploy

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

SIZE: Final = 5
MEMBERS: Final = [f"player/{number:02}" for number in range(10)]
YESTERDAY: Final = TODAY - timedelta(days=1)


@pytest.fixture
def league(deployment: Deployment) -> Callable[[str, str, date], Any]:
    """Deploys the example: days, groups of five, of which the first two rise and the last falls. Calls its API."""
    rules = {"GroupSize": str(SIZE), "Rise": "2", "Fall": "1", "Window": "day", "PatienceHours": "72"}
    place = {"BoardPrefix": "tier", "Timezone": f"Etc/GMT{WEST:+}"}
    name = deploy(deployment, "leagues", **rules, **place)["ApiFunctionName"]

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


def test_a_day_of_a_league(deployment: Deployment, league: Callable[[str, str, date], Any]) -> None:
    """`tests/functions/leagues` has whole seasons, with all that may get in the way."""
    groups: dict[str, list[str]] = defaultdict(list)
    for member in MEMBERS:
        state = league("POST", member, YESTERDAY)
        assert (state["division"], state["members"]) == ("bronze", 0)
        groups[state["board"]].append(member)
    assert [len(members) for members in groups.values()] == [SIZE, SIZE]
    at = f"{YESTERDAY}T12:00:00{-WEST:+03}:00"
    points = {member: place * 7 % 11 for place, member in enumerate(MEMBERS)}
    count(deployment, [event(board, one, points[one], at=at) for board, all_ in groups.items() for one in all_])
    divisions = dict.fromkeys(MEMBERS, "bronze")
    for members in groups.values():
        first, second, *_ = sorted(members, key=points.__getitem__, reverse=True)
        state = league("GET", first, YESTERDAY)
        assert (state["rank"], state["members"]) == (1, SIZE)
        divisions |= {first: "silver", second: "silver"}
    deployment.define(boards("1 day", "2 minutes"))
    for board in groups:
        settle = {"settle": {"board": board, "window": "day", "period": str(YESTERDAY)}}
        (told,) = maintained(deployment, settle)["rankings"]
        assert told["settled"], told
    until(lambda: {member: league("GET", member, TODAY)["division"] for member in MEMBERS} == divisions)
