"""The events of the maintenance function: tasks, their arguments, and errors."""

import platform
from collections.abc import Iterator
from typing import Any

import botocore
import orjson
import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import apply, event

NOW = 1_795_256_100_000
BOARDS = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(NOW), BOARDS) as deployed:
        yield deployed


def test_dead_letters_by_board_by_id_and_by_reason(stack: Stack) -> None:
    for number, board in enumerate("bc"):
        body = orjson.dumps({"id": str(number), "board": board, "member": "m", "metrics": {"points": 1}, "x": 1})
        stack.activity.messages.append({"Id": "0", "MessageBody": body.decode(), "MessageAttributes": {}})
    assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}

    def task(name: str, **arguments: Any) -> Any:
        return stack.maintenance({"dead_letters": {name: arguments}}, Context())

    listed = task("list", board="c", limit=5, reason=None)
    ids = [message["id"] for message in listed["messages"]]
    assert (len(ids), listed["seen"]) == (1, 2)
    replayed = task("replay", ids=ids)
    assert replayed["replayed"] == 1
    assert task("replay", cursor=replayed["cursor"], reason="no such reason")["not_chosen"] == 1
    assert task("delete", ids=ids)["deleted"] == 0


def test_parked_records_by_board_by_key_and_by_reason(stack: Stack) -> None:
    apply(stack, [event("m", 10)])
    record = next(one for one in stack.dynamodb.stream("Scores")[0] if one["dynamodb"]["Keys"]["sk"]["S"] == "m")
    body = orjson.dumps({"reason": "as a test says", "record": record})
    stack.bucket.put_object("failures", "parked/2026-11-21/1.json", body, "application/json")

    def task(name: str, **arguments: Any) -> Any:
        return stack.maintenance({"parked": {name: arguments}}, Context())

    (listed,) = task("list", board="b", cursor="", limit=1)["objects"]
    assert task("replay", reason="another")["placed"] == 0
    answer = task("replay", keys=[listed["key"]], cursor={})
    assert (answer["placed"], answer["removed"]) == (1, 1)


def test_it_says_what_it_runs_on(stack: Stack) -> None:
    answer = stack.maintenance({"runtime": {}}, Context())

    assert answer == {"python": platform.python_version(), "botocore": botocore.__version__, "done": True}


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (
            None,
            "settle, settlements, announcements, runtime, dead_letters, parked, got None",
        ),
        ({}, "expected an object with one of"),
        ({"rebuild": {"board": "b"}, "delete": {"board": "b"}}, "expected an object with one of"),
        ({"purge": {}}, "expected one of audit, .*, got 'purge'"),
        ({"audits": {"next": {}}}, "next: read_units is missing"),
        ({"audits": {"next": {"read_units": 0}}}, "next: read_units: expected at least 1, got 0"),
        ({"rebuild": {}}, "rebuild: board is missing"),
        ({"delete": {"board": None}}, "delete: board is missing"),
        ({"erase": {}}, "erase: member is missing"),
        ({"settle": {}}, "settle: board is missing"),
        ({"settlements": {"list": {}}}, "list: board is missing"),
        ({"rebuild": "b"}, "rebuild: expected an object of arguments, got 'b'"),
        ({"rebuild": {"board": 5}}, "rebuild: board: expected a value of type str, got 5"),
        ({"rebuild": {"board": "b", "fast": True}}, "rebuild: expected arguments board, begin, cursor, got 'fast'"),
        ({"rebuild": {"board": "nobody"}}, "board 'nobody' has had no event"),
        ({"dead_letters": {}}, "dead_letters: expected an object with one of list, replay, delete"),
        ({"dead_letters": {"list": {"limit": True}}}, "list: limit: expected a value of type int, got True"),
        ({"dead_letters": {"replay": {"ids": [1]}}}, r"replay: ids: expected a list of texts, got \[1\]"),
        ({"dead_letters": {"delete": {}}}, "delete: ids is missing"),
        ({"parked": {"delete": {}}}, "parked: expected one of list, replay, got 'delete'"),
    ],
)
def test_an_event_that_names_no_task_is_an_error_that_says_why(stack: Stack, event: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        stack.maintenance(event, Context())
