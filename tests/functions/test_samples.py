"""Each sample in events/ does what its name says with `sam local invoke`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import orjson
import pytest

from standings.members.register_hide_remove import MemberAdmin
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project

EVENTS = Path(__file__).parents[2] / "events"


def sample(name: str) -> dict[str, Any]:
    event: dict[str, Any] = orjson.loads((EVENTS / f"{name}.json").read_bytes())
    return event


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp() * 1000))) as deployed:
        yield deployed


def test_every_sample_is_tested() -> None:
    tested = {"activity", "activity-refused", "scores-stream", "read-page", "read-rank"}
    tested |= {"post-events", "put-member", "delete-member"}
    tested |= {"put-profile", "read-profile", "search-names", "delete-profile"}
    tested |= {"audit", "rebuild", "erase", "list-dead-letters", "replay-parked"}

    assert {path.stem for path in EVENTS.glob("*.json")} == tested


def test_activity_and_reads(stack: Stack) -> None:
    assert stack.writer(sample("activity"), Context()) == {"batchItemFailures": []}
    assert stack.dead_letters.messages == []
    project(stack)
    page = orjson.loads(stack.query(sample("read-page"), Context())["body"])
    rank = orjson.loads(stack.query(sample("read-rank"), Context())["body"])

    assert [(e["rank"], e["member"], e["score"]) for e in page["entries"]] == [(1, "用户", 12), (2, "u123", 8)]
    assert (rank["rank"], rank["total"], rank["score"], rank["percentile"]) == (2, 2, 8, 50)
    assert stack.entries("/boards/clans-2026/points/all")[0]["member"] == "clan#7"


def test_refused_activity(stack: Stack) -> None:
    assert stack.writer(sample("activity-refused"), Context()) == {"batchItemFailures": []}
    assert [reason.split(":")[0] for reason in stack.dead_letters.reasons()] == ["body", "metrics.points"]
    project(stack)
    assert stack.entries("/boards/berlin-2026/points/all") == [{"rank": 1, "member": "u123", "score": 3}]


def test_the_stream(stack: Stack) -> None:
    assert stack.projector(sample("scores-stream"), Context()) == {"batchItemFailures": []}
    assert stack.projector(sample("scores-stream"), Context()) == {"batchItemFailures": []}
    for window in ("all", "day", "last-7-days"):
        assert stack.entries(f"/boards/berlin-2026/points/{window}") == [{"rank": 1, "member": "u123", "score": 8}]


def test_posted_events(stack: Stack) -> None:
    answer = stack.command(sample("post-events"), Context())

    assert answer["statusCode"] == 202
    results = orjson.loads(answer["body"])["results"]
    assert [result["status"] for result in results] == ["queued", "queued", "refused"]
    assert results[2] == {
        "id": "0197f2c4-0103",
        "status": "refused",
        "detail": "metrics.points: expected a number, got '3'",
    }
    assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}
    project(stack)
    assert [entry["member"] for entry in stack.entries("/boards/berlin-2026/points/day")] == ["u124", "u123"]


def test_a_member_is_hidden_and_removed(stack: Stack) -> None:
    with mock.patch.multiple(MemberAdmin, put=mock.DEFAULT, remove=mock.DEFAULT) as admin:
        admin["put"].return_value = {"board": "berlin-2026", "member": "u123", "hidden": True}
        put = stack.command(sample("put-member"), Context())
        delete = stack.command(sample("delete-member"), Context())

    assert (put["statusCode"], orjson.loads(put["body"])["hidden"], delete["statusCode"]) == (200, True, 204)
    admin["put"].assert_called_once_with("berlin-2026", "u123", True)
    admin["remove"].assert_called_once_with("berlin-2026", "u123")


def test_a_profile_is_written_read_found_and_removed(stack: Stack) -> None:
    assert stack.writer(sample("activity"), Context()) == {"batchItemFailures": []}
    ada = {"name": "Ádám", "picture": "https://pictures.example/adam.png", "country": "HU", "data": {"team": "red"}}

    assert orjson.loads(stack.command(sample("put-profile"), Context())["body"]) == ada
    assert orjson.loads(stack.query(sample("read-profile"), Context())["body"]) == ada
    found = orjson.loads(stack.query(sample("search-names"), Context())["body"])
    assert found == {"members": [{"member": "u123", "profile": ada}], "complete": True}
    assert stack.command(sample("delete-profile"), Context())["statusCode"] == 204
    assert stack.query(sample("read-profile"), Context())["statusCode"] == 404


def test_a_person_is_erased(stack: Stack) -> None:
    assert stack.writer(sample("activity"), Context()) == {"batchItemFailures": []}
    assert stack.command(sample("put-profile"), Context())["statusCode"] == 200
    erased = stack.maintenance(sample("erase"), Context())
    project(stack)

    assert (erased["done"], erased["profile"], erased["problems"]) == (True, True, [])
    assert "berlin-2026" in erased["boards"]
    assert stack.query(sample("read-profile"), Context())["statusCode"] == 404
    assert "u123" not in [entry["member"] for entry in stack.entries("/boards/berlin-2026/points/all")]


def test_upkeep(stack: Stack) -> None:
    assert stack.writer(sample("activity-refused"), Context()) == {"batchItemFailures": []}
    project(stack)

    audit = stack.maintenance(sample("audit"), Context(seconds=900))
    assert (audit["done"], audit["drift"], audit["boards"][0]["looked_at"]["members"]) == (True, 0, 1)
    rebuild = stack.maintenance(sample("rebuild"), Context())
    assert (rebuild["done"], rebuild["phase"], rebuild["wait"]) == (False, "announced", 180.0)
    letters = stack.maintenance(sample("list-dead-letters"), Context())
    assert [letter["reason"].split(":")[0] for letter in letters["messages"]] == ["body", "metrics.points"]
    assert stack.maintenance(sample("replay-parked"), Context())["placed"] == 0
