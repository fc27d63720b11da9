"""What EventBridge tells of the deployed stack: a moving top, the prizes of a season, and the settled day of a league.

The season has ended, but the first `boards.toml` still takes its events. With the second one, whose `late` is minutes,
the season is final. A function behind a rule grants its prizes, each once.
"""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, Final

import pytest
from botocore.credentials import Credentials
from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]

from demo.embedded.stack import PROJECT, Deployment
from standings.client.api import Api, Transport, local_address, signature
from tests.e2e.conftest import SEASON, TODAY, WEST, boards
from tests.support.aws.deployed_api import answer_of, count, event, invoked, maintained, until
from tests.support.aws.examples import deploy
from tests.support.aws.heard_events import HeardEvents

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

BOARD: Final = "league-1"
MEMBERS: Final = 300
LIMITS: Final = {"gold": (1, 1), "silver": (2, 3), "top": (1, -(-MEMBERS // 10))}
"""The first and the last rank of each prize."""


def ranked(scores: dict[str, int]) -> list[tuple[int, str, int]]:
    ordered = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
    return [(1 + sum(other > points for other in scores.values()), member, points) for member, points in ordered]


def test_each_change_of_a_moving_top_is_heard_in_order(deployment: Deployment) -> None:
    """`tests/functions/announce` has longer histories, and what may get in the way."""
    tops = HeardEvents(deployment, "tops", "Top Changed")
    example = yaml_parse((PROJECT / "examples/webhook/template.yaml").read_text(encoding="utf-8"))
    pattern = example["Resources"]["Rule"]["Properties"]["EventPattern"]
    pattern["detail"]["stack"] = ["standings"]
    leads = HeardEvents(deployment, "leads", "Top Changed", pattern)
    heard: list[dict[str, Any]] = []
    for points, member in enumerate("abcd", 1):
        said = event("race-1", member, points)
        deployment.sqs().send_message(QueueUrl=deployment.queue_url, MessageBody=said)
        heard += tops.take(1)
    # The leader stays where it is, then the second one passes it.
    for member, points in (("d", 1), ("c", 5)):
        said = event("race-1", member, points)
        deployment.sqs().send_message(QueueUrl=deployment.queue_url, MessageBody=said)
        heard += tops.take(1)
    leading = [one["top"][0]["member"] for one in leads.take(5)]
    assert leading == ["a", "b", "c", "d", "c"]
    *heard, _, _ = heard

    listed = [[(line["rank"], line["member"], line["score"]) for line in one["top"]] for one in heard]
    assert listed == [ranked(dict(zip("abcd", range(1, points), strict=False)))[:3] for points in range(2, 6)]
    assert [one["seq"] for one in heard] == [1, 2, 3, 4]
    assert len({one["id"] for one in heard}) == len(heard)
    about = ("stack", "board", "metric", "window")
    assert {tuple(one[name] for name in about) for one in heard} == {("standings", "race-1", "points", "all")}
    assert [[line["member"] for line in heard[-1][name]] for name in ("entered", "left")] == [["d"], ["a"]]


def test_a_season_is_settled_and_its_prizes_are_granted_once(deployment: Deployment) -> None:
    table = deploy(deployment, "grant_prizes")["GrantsTableName"]
    prizes = HeardEvents(deployment, "prizes", "Prize Won")
    rng = random.Random(1)
    scores = {f"m{number:03}": rng.randint(-5, 60) for number in range(MEMBERS)}
    at = f"{TODAY - timedelta(days=1)}T12:00:00{-WEST:+03}:00"
    count(deployment, [event(BOARD, member, points, at=at) for member, points in scores.items()])
    path = f"/boards/{BOARD}/points/season?period={SEASON}"
    settle = {"settle": {"board": BOARD, "window": "season", "period": SEASON}}

    deployment.define(boards("2 minutes"))
    until(lambda: answer_of(deployment, "GET", path)[1]["state"] == "final")
    (told,) = maintained(deployment, settle)["rankings"]
    assert (told["settled"], told["why"]) == (True, None)
    assert maintained(deployment, {"settlements": {"next": {}}})["rankings"] == []
    for again in (settle, {"settle": {**settle["settle"], "again": True}}):
        answer = maintained(deployment, again)
        assert [one["summary"] for one in answer["rankings"]] == [told["summary"]], answer

    winners = Counter(
        (member, prize)
        for rank, member, _ in ranked(scores)
        for prize, (low, high) in LIMITS.items()
        if low <= rank <= high
    )
    until(lambda: granted(deployment, table)[0].total() >= winners.total())
    owned, receipts = granted(deployment, table)
    assert owned == winners
    told_of = prizes.take(len(winners))
    while more := [one for _ in range(3) for one in prizes.next()]:
        told_of += more
    ids = Counter(one["id"] for one in told_of)
    assert ids == Counter(receipts)
    assert len(ids) == len(winners)
    deliver_again(deployment, table, next(iter(receipts)))
    assert granted(deployment, table)[0] == winners


def granted(deployment: Deployment, table: str) -> tuple[Counter[tuple[str, str]], set[str]]:
    """What members own, and the ids of the receipts."""
    owned: Counter[tuple[str, str]] = Counter()
    receipts = set()
    for page in deployment.client("dynamodb").get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        for item in page["Items"]:
            kind, _, name = item["pk"]["S"].partition("#")
            if kind == "receipt":
                receipts.add(name)
            else:
                owned.update({(name, prize): int(item[prize]["N"]) for prize in item.keys() - {"pk"}})
    return owned, receipts


def deliver_again(deployment: Deployment, table: str, identity: str) -> None:
    """Deliver an event of a prize once more."""
    receipt = deployment.client("dynamodb").get_item(TableName=table, Key={"pk": {"S": f"receipt#{identity}"}})["Item"]
    detail = {"id": identity, "stack": "standings", "member": receipt["member"]["S"], "prize": receipt["prize"]["S"]}
    functions = deployment.client("lambda").list_functions()["Functions"]
    (name,) = [one["FunctionName"] for one in functions if "Grant" in one["FunctionName"]]
    invoked(deployment, name, {"detail": detail})


SIZE: Final = 5
PLAYERS: Final = [f"player {number:02}" for number in range(10)]
YESTERDAY: Final = TODAY - timedelta(days=1)


@pytest.fixture
def league(deployment: Deployment) -> Callable[[str, str, date], Any]:
    """Deploys the example: days, groups of five, of which the first two rise and the last falls. Calls its API."""
    rules = {"GroupSize": str(SIZE), "Rise": "2", "Fall": "1", "Window": "day", "PatienceHours": "72"}
    place = {"BoardPrefix": "tier", "Timezone": f"Etc/GMT{WEST:+}"}
    url = local_address(deployment.endpoint, deploy(deployment, "leagues", **rules, **place)["LeagueApiId"])
    signed = Api(url, Transport(local=True), signature(Credentials("any", "any"), url, "us-east-1"))

    def call(method: str, member: str, day: date) -> Any:
        at = json.dumps({"at": f"{day}T12:00:00{-WEST:+03}:00"})
        return signed.answer(method, ["league", member], {}, at.encode())

    return call


def test_a_day_of_a_league(deployment: Deployment, league: Callable[[str, str, date], Any]) -> None:
    """`tests/functions/leagues` has whole seasons, with all that may get in the way."""
    groups: dict[str, list[str]] = defaultdict(list)
    for member in PLAYERS:
        state = league("POST", member, YESTERDAY)
        assert (state["division"], state["members"]) == ("bronze", 0)
        groups[state["board"]].append(member)
    assert [len(members) for members in groups.values()] == [SIZE, SIZE]
    at = f"{YESTERDAY}T12:00:00{-WEST:+03}:00"
    points = {member: place * 7 % 11 for place, member in enumerate(PLAYERS)}
    count(deployment, [event(board, one, points[one], at=at) for board, all_ in groups.items() for one in all_])
    divisions = dict.fromkeys(PLAYERS, "bronze")
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
    until(lambda: {member: league("GET", member, TODAY)["division"] for member in PLAYERS} == divisions)
