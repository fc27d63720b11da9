"""A bug of ours does not stop other events. The log has its stack in one line, without the producer's data."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import orjson
import pytest

from standings.runtime.logs import logger
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
"""
PRIVATE = "somebody@example.org"
TEXT = "a bug"

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as deployed:
        yield deployed


@pytest.fixture
def log() -> Iterator[Lines]:
    """Return the lines that were logged since the last call."""
    stream = io.StringIO()
    handler: Any = logger.registered_handler
    before = handler.setStream(stream)

    def lines() -> list[dict[str, Any]]:
        text = stream.getvalue()
        stream.truncate(0)
        stream.seek(0)
        return [json.loads(line) for line in text.splitlines()]

    yield lines
    handler.setStream(before)


def has_a_bug(name: str) -> Any:
    """Make a function of the product fail if an argument contains "poison"."""
    module, _, function = name.rpartition(".")
    real = getattr(__import__(module, fromlist=[function]), function)

    def buggy(*args: Any, **kwargs: Any) -> Any:
        if "poison" in str(args):
            try:
                raise ValueError(PRIVATE)
            except ValueError:
                raise ZeroDivisionError(TEXT)  # noqa: B904 - as in an error handler
        return real(*args, **kwargs)

    return mock.patch(name, buggy)


def event(event_id: str, member: str) -> dict[str, Any]:
    return {"id": event_id, "board": "b", "member": member, "at": NOW.isoformat(), "metrics": {"points": 1}}


EVENTS = [event("1", "m"), event("2", "poison"), event("3", "n")]


def write(stack: Stack) -> None:
    records = [
        {"messageId": f"id-{one['id']}", "body": orjson.dumps(one).decode(), "messageAttributes": {}} for one in EVENTS
    ]
    assert stack.writer({"Records": records}, Context()) == {"batchItemFailures": []}


def members(stack: Stack) -> set[str]:
    return {entry["member"] for entry in stack.entries("/boards/b/points/all")}


def the_stack_in(lines: list[dict[str, Any]], message: str) -> dict[str, Any]:
    """Return the only line of the log. It has the stack of the bug, and no message of an error."""
    (line,) = lines
    assert (line["message"], line["level"]) == (message, "ERROR")
    assert "in buggy" in line["exception"]
    assert "ZeroDivisionError" in line["exception"]
    # Only `reason` has the bug's message.
    assert not any(text in json.dumps({**line, "reason": ""}) for text in (PRIVATE, TEXT))
    assert PRIVATE not in line.get("reason", "")
    return line


def test_of_the_writer(stack: Stack, log: Lines) -> None:
    with has_a_bug("standings.write.writer.parse_event"):
        write(stack)

    line = the_stack_in(log(), "event refused")
    assert (line["rule"], line["message_id"]) == ("internal", "id-2")
    assert stack.dead_letters.reasons() == ["body: cannot be read: ZeroDivisionError('a bug')"]
    project(stack)
    assert members(stack) == {"m", "n"}


def test_what_a_producer_did_wrong_is_no_bug(stack: Stack, log: Lines) -> None:
    record = {"messageId": "id-1", "body": "{", "messageAttributes": {}}
    assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}

    (line,) = log()
    assert (line["level"], line["rule"]) == ("WARNING", "json")
    assert "exception" not in line


@pytest.mark.parametrize(
    "function", ["standings.aws.dynamodb.scores.member_items.decode_image", "standings.project.projector.moves"]
)
def test_of_the_projector(stack: Stack, log: Lines, function: str) -> None:
    write(stack)
    with has_a_bug(function):
        project(stack)

    line = the_stack_in(log(), "record parked")
    ((key, content),) = stack.bucket.objects.items()
    assert line["sequence"] in key
    assert json.loads(content)["reason"].endswith("ZeroDivisionError('a bug')")
    assert members(stack) == {"m", "n"}


def test_a_damaged_record_is_no_bug(stack: Stack, log: Lines) -> None:
    records: list[Any] = [None, {}, {"dynamodb": {"Keys": {"pk": {"S": 1}, "sk": {"S": "m"}}, "NewImage": []}}]
    assert stack.projector({"Records": records}, Context()) == {"batchItemFailures": []}

    lines = log()
    assert [line["message"] for line in lines] == ["record parked"] * 3
    assert not any("exception" in line for line in lines)


def test_of_a_replay(stack: Stack, log: Lines) -> None:
    write(stack)
    (shard,) = stack.dynamodb.stream("Scores")
    for number, record in enumerate(shard):
        body = json.dumps({"reason": "as a test says", "record": json.loads(json.dumps(record))}).encode()
        stack.bucket.put_object("failures", f"parked/2026-11-21/{number}.json", body, "application/json")
    with has_a_bug("standings.aws.dynamodb.scores.member_items.member_key"):
        answer = stack.maintenance({"parked": {"replay": {}}}, Context(seconds=900))

    the_stack_in(log(), "parked record not read")
    assert (answer["done"], answer["placed"], answer["left"]) == (True, 2, 1)
    assert "ZeroDivisionError('a bug')" in answer["problems"][0]["why"]
    assert members(stack) == {"m", "n"}


def test_of_the_command_function(stack: Stack, log: Lines) -> None:
    with has_a_bug("standings.ingest.post_events.parse_event"):
        status, answer = stack.post("/events", EVENTS)

    line = the_stack_in(log(), "event refused")
    assert line["rule"] == "internal"
    assert status == 202
    assert [result["status"] for result in answer["results"]] == ["queued", "refused", "queued"]
    assert answer["results"][1]["detail"] == "body: cannot be read: ZeroDivisionError('a bug')"
