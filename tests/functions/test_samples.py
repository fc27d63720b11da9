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
NOON = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp() * 1000)
DONE: dict[str, Any] = {"batchItemFailures": []}


def sample(name: str) -> dict[str, Any]:
    event: dict[str, Any] = orjson.loads((EVENTS / f"{name}.json").read_bytes())
    return event


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(NOON)) as deployed:
        yield deployed


def test_every_sample_is_tested() -> None:
    tested = {"activity", "activity-refused", "scores-stream", "read-page", "read-rank"}
    tested |= {"post-events", "put-member", "delete-member"}
    tested |= {"put-profile", "read-profile", "search-names", "delete-profile"}
    tested |= {"audit", "rebuild", "erase", "list-dead-letters", "replay-parked"}

    assert {path.stem for path in EVENTS.glob("*.json")} == tested


def answer(response: dict[str, Any]) -> Any:
    return orjson.loads(response["body"])


def entries(stack: Stack, board: str = "berlin-2026", window: str = "all") -> list[tuple[int, str, int]]:
    listed = stack.entries(f"/boards/{board}/points/{window}")
    return [(entry["rank"], entry["member"], entry["score"]) for entry in listed]


@pytest.fixture
def active(stack: Stack) -> Stack:
    """The functions after the sample of activity."""
    assert stack.writer(sample("activity"), Context()) == DONE
    assert stack.dead_letters.messages == []
    project(stack)
    return stack


def test_activity_and_reads(active: Stack) -> None:
    page = answer(active.query(sample("read-page"), Context()))
    rank = answer(active.query(sample("read-rank"), Context()))

    assert [(e["rank"], e["member"], e["score"]) for e in page["entries"]] == [(1, "用户", 12), (2, "u123", 8)]
    assert (rank["rank"], rank["total"], rank["score"], rank["percentile"]) == (2, 2, 8, 50)
    assert entries(active, "clans-2026")[0][1] == "clan#7"


def test_refused_activity_and_upkeep(stack: Stack) -> None:
    assert stack.writer(sample("activity-refused"), Context()) == DONE
    project(stack)
    assert entries(stack) == [(1, "u123", 3)]

    audit = stack.maintenance(sample("audit"), Context(seconds=900))
    assert (audit["done"], audit["drift"], audit["boards"][0]["looked_at"]["members"]) == (True, 0, 1)
    rebuild = stack.maintenance(sample("rebuild"), Context())
    assert (rebuild["done"], rebuild["phase"], rebuild["wait"]) == (False, "announced", 180.0)
    letters = stack.maintenance(sample("list-dead-letters"), Context())
    assert [letter["reason"].split(":")[0] for letter in letters["messages"]] == ["body", "metrics.points"]
    assert stack.maintenance(sample("replay-parked"), Context())["placed"] == 0


def test_the_stream_given_twice(stack: Stack) -> None:
    for _ in range(2):
        assert stack.projector(sample("scores-stream"), Context()) == DONE
    for window in ("all", "day", "last-7-days"):
        assert entries(stack, window=window) == [(1, "u123", 8)]


def test_posted_events(stack: Stack) -> None:
    posted = stack.command(sample("post-events"), Context())
    results = answer(posted)["results"]

    assert (posted["statusCode"], [result["status"] for result in results]) == (202, ["queued", "queued", "refused"])
    detail = "metrics.points: expected a number, got '3'"
    assert results[2] == {"id": "0197f2c4-0103", "status": "refused", "detail": detail}
    assert stack.writer({"Records": stack.activity.records()}, Context()) == DONE
    project(stack)
    assert [member for _, member, _ in entries(stack, window="day")] == ["u124", "u123"]


def test_a_member_is_hidden_and_removed(stack: Stack) -> None:
    with mock.patch.multiple(MemberAdmin, put=mock.DEFAULT, remove=mock.DEFAULT) as admin:
        admin["put"].return_value = {"board": "berlin-2026", "member": "u123", "hidden": True}
        put = stack.command(sample("put-member"), Context())
        delete = stack.command(sample("delete-member"), Context())

    assert (put["statusCode"], answer(put)["hidden"], delete["statusCode"]) == (200, True, 204)
    admin["put"].assert_called_once_with("berlin-2026", "u123", True)
    admin["remove"].assert_called_once_with("berlin-2026", "u123")


def test_a_profile_is_written_read_found_and_removed(active: Stack) -> None:
    ada = {"name": "Ádám", "picture": "https://pictures.example/adam.png", "country": "HU", "data": {"team": "red"}}

    assert answer(active.command(sample("put-profile"), Context())) == ada
    assert answer(active.query(sample("read-profile"), Context())) == ada
    found = answer(active.query(sample("search-names"), Context()))
    assert found == {"members": [{"member": "u123", "profile": ada}], "complete": True}
    assert active.command(sample("delete-profile"), Context())["statusCode"] == 204
    assert active.query(sample("read-profile"), Context())["statusCode"] == 404


def test_a_person_is_erased(active: Stack) -> None:
    assert active.command(sample("put-profile"), Context())["statusCode"] == 200
    erased = active.maintenance(sample("erase"), Context())
    project(active)

    assert (erased["done"], erased["profile"], erased["problems"]) == (True, True, [])
    assert "berlin-2026" in erased["boards"]
    assert active.query(sample("read-profile"), Context())["statusCode"] == 404
    assert "u123" not in [member for _, member, _ in entries(active)]
