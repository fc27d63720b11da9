"""A queue behind an EventBridge rule hears of every change of a moving top of the deployed stack, in order of `seq`."""

import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from demo.embedded.stack import Deployment, deployed
from tests.support.aws.deployed_api import answer_of
from tests.support.aws.embedded_tools import skip_without_tools
from tests.support.aws.heard_events import HeardEvents

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]

BOARD: Final = "race-1"
ROUNDS: Final = 8
PATIENCE_S: Final = 60
TOP: Final = 3
BOARDS: Final = f"""
[boards."race-*"]
metrics.points = {{ aggregate = "sum", windows = ["all"] }}
announce.all = {{ top = {TOP} }}
"""


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    skip_without_tools()
    with deployed(print, boards=BOARDS) as stack:
        yield stack


def test_each_change_of_a_moving_top_is_heard(deployment: Deployment) -> None:
    rng = random.Random(1)
    tops = HeardEvents(deployment, "tops", "Top Changed")
    scores = {f"m{number}": 0 for number in range(6)}
    heard: list[dict[str, Any]] = []
    for number in range(ROUNDS):
        member = rng.choice([name for name in sorted(scores) if name not in _top(scores)[:1]])
        more = max(scores.values()) + 1 - scores[member]
        scores[member] += more
        _post(deployment, f"e{number}", member, more)
        counted = {name: points for name, points in scores.items() if points}
        end = time.monotonic() + PATIENCE_S
        while not heard or heard[-1]["top"] != _shown(counted):
            assert time.monotonic() < end, deployment.complaint()
            heard += tops.next()

    assert [event["seq"] for event in heard] == list(range(1, ROUNDS + 1))
    assert len({event["id"] for event in heard}) == ROUNDS
    assert {(event["stack"], event["board"], event["metric"], event["window"]) for event in heard} == {
        ("standings", BOARD, "points", "all")
    }
    before: dict[str, int] = {}
    for event in heard:
        ranks = {line["member"]: line["rank"] for line in event["top"]}
        assert {line["member"] for line in event["entered"]} == ranks.keys() - before.keys()
        assert {line["member"] for line in event["left"]} == before.keys() - ranks.keys()
        before = ranks
    entries = answer_of(deployment, "GET", f"/boards/{BOARD}/points/all?limit={TOP}")[1]["entries"]
    assert [(entry["rank"], entry["member"]) for entry in entries] == [
        (line["rank"], line["member"]) for line in heard[-1]["top"]
    ]


def _post(deployment: Deployment, identity: str, member: str, points: int) -> None:
    at = datetime.now(UTC).isoformat()
    body = {"id": identity, "board": BOARD, "member": member, "at": at, "metrics": {"points": points}}
    deployment.sqs().send_message(QueueUrl=deployment.queue_url, MessageBody=json.dumps(body))


def _top(scores: dict[str, int]) -> list[str]:
    return sorted(scores, key=lambda name: (-scores[name], name))


def _shown(scores: dict[str, int]) -> list[dict[str, Any]]:
    ranks = {name: 1 + sum(other > points for other in scores.values()) for name, points in scores.items()}
    return [{"rank": ranks[name], "member": name, "score": scores[name]} for name in _top(scores)[:TOP]]
