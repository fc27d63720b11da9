"""Each sample in events/ does what its name says with `sam local invoke`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project

EVENTS: Final = Path(__file__).parents[2] / "events"
NOON: Final = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp() * 1000)
SAMPLES: Final = {
    "writer": ["activity", "activity-refused"],
    "projector": ["scores-stream"],
    "query": ["read-page", "read-rank", "read-profile", "search-names"],
    "command": ["post-events", "put-member", "delete-member", "put-profile", "delete-profile"],
    "maintenance": ["audit", "rebuild", "erase", "list-dead-letters", "replay-parked"],
}


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(NOON)) as deployed:
        yield deployed


@pytest.fixture
def active(stack: Stack) -> Stack:
    """The functions after the sample of activity."""
    send(stack, "activity")
    assert stack.dead_letters.messages == []
    return stack


def send(stack: Stack, name: str) -> Any:
    """Send a sample to its function. Return what it answers; over HTTP the status, and the content if there is one."""
    (function,) = (function for function, names in SAMPLES.items() if name in names)
    answer = getattr(stack, function)(orjson.loads((EVENTS / f"{name}.json").read_bytes()), Context(seconds=900))
    project(stack)
    if "statusCode" not in answer:
        return answer
    return (answer["statusCode"], orjson.loads(answer["body"])) if answer["body"] else answer["statusCode"]


def entries(stack: Stack, board: str = "berlin-2026", window: str = "all") -> list[tuple[int, str, int]]:
    listed = stack.entries(f"/boards/{board}/points/{window}")
    return [(entry["rank"], entry["member"], entry["score"]) for entry in listed]


def test_every_sample_has_its_function() -> None:
    assert {path.stem for path in EVENTS.glob("*.json")} == {name for names in SAMPLES.values() for name in names}


def test_activity_and_reads(active: Stack) -> None:
    _, page = send(active, "read-page")
    _, rank = send(active, "read-rank")

    assert [(e["rank"], e["member"], e["score"]) for e in page["entries"]] == [(1, "用户", 12), (2, "u123", 8)]
    assert (rank["rank"], rank["total"], rank["score"], rank["percentile"]) == (2, 2, 8, 50)
    assert entries(active, "clans-2026")[0][1] == "clan#7"


def test_refused_activity_and_upkeep(stack: Stack) -> None:
    assert send(stack, "activity-refused") == {"batchItemFailures": []}
    assert entries(stack) == [(1, "u123", 3)]
    audit = send(stack, "audit")
    assert (audit["done"], audit["drift"], audit["boards"][0]["looked_at"]["members"]) == (True, 0, 1)
    rebuild = send(stack, "rebuild")
    assert (rebuild["done"], rebuild["phase"], rebuild["wait"]) == (False, "announced", 180.0)
    letters = send(stack, "list-dead-letters")
    assert [letter["reason"].split(":")[0] for letter in letters["messages"]] == ["body", "metrics.points"]
    assert send(stack, "replay-parked")["placed"] == 0


def test_the_stream_given_twice(stack: Stack) -> None:
    for _ in range(2):
        assert send(stack, "scores-stream") == {"batchItemFailures": []}
    for window in ("all", "day", "last-7-days"):
        assert entries(stack, window=window) == [(1, "u123", 8)]


def test_posted_events(stack: Stack) -> None:
    status, answer = send(stack, "post-events")

    assert (status, [result["status"] for result in answer["results"]]) == (202, ["queued", "queued", "refused"])
    detail = "metrics.points: expected a number, got '3'"
    assert answer["results"][2] == {"id": "0197f2c4-0103", "status": "refused", "detail": detail}
    assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}
    project(stack)
    assert [member for _, member, _ in entries(stack, window="day")] == ["u124", "u123"]


def test_a_member_is_hidden_and_removed(active: Stack) -> None:
    assert send(active, "put-member") == (200, {"board": "berlin-2026", "member": "u123", "hidden": True})
    assert entries(active) == [(1, "用户", 12)]
    assert send(active, "delete-member") == 204
    assert active.get("/boards/berlin-2026/member", id="u123")[0] == 404


def test_a_profile_is_written_read_found_and_removed(active: Stack) -> None:
    ada = {"name": "Ádám", "picture": "https://pictures.example/adam.png", "country": "HU", "data": {"team": "red"}}

    assert send(active, "put-profile") == send(active, "read-profile") == (200, ada)
    found = {"members": [{"member": "u123", "profile": ada}], "complete": True}
    assert send(active, "search-names") == (200, found)
    assert send(active, "delete-profile") == 204
    assert send(active, "read-profile")[0] == 404


def test_a_person_is_erased(active: Stack) -> None:
    assert send(active, "put-profile")[0] == 200
    erased = send(active, "erase")

    assert (erased["done"], erased["profile"], erased["problems"]) == (True, True, [])
    assert "berlin-2026" in erased["boards"]
    assert send(active, "read-profile")[0] == 404
    assert "u123" not in [member for _, member, _ in entries(active)]
