"""The pollers deliver as Lambda documents it. `tests/faults/safeguards/outages.py` has halves, ages and outages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.awslambda.failure_records import OUT_OF_TRIES
from tests.support.awslambda.pollers import Killed, Queue, SqsPoller, StreamPoller
from tests.support.awslambda.settings import STREAM
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.things import THINGS, key

Event = dict[str, Any]
Answer = dict[str, Any]


def _failures(*identifiers: Any) -> Answer:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}


NOTHING_FAILED: list[Any] = [None, {}, {"batchItemFailures": []}, {"batchItemFailures": None}]
MALFORMED: list[Any] = [
    _failures("nobody"),
    _failures(""),
    _failures(None),
    {"batchItemFailures": [{"wrong": "name"}]},
    {"failures": []},
    [],
    "text",
    {"batchItemFailures": [], "more": {1, 2}},
    ValueError(),
    Killed(),
]


@pytest.mark.parametrize("answer", [*NOTHING_FAILED, *MALFORMED], ids=repr)
def test_an_answer_is_read_as_lambda_does(answer: Any) -> None:
    """A malformed answer and an exception fail the whole batch, until the queue gives up."""

    def handler(*_: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    queue = Queue(max_receive_count=3)
    for body in "ab":
        queue.send(body)
    poller = SqsPoller(handler, queue)
    poller.drain()
    good = any(answer is each for each in NOTHING_FAILED)
    assert [(message.body, message.received) for message in queue.dead] == ([] if good else [("a", 3), ("b", 3)])
    assert (poller.invocations, len(poller.errors)) == ((1, 0) if good else (3, 3))


def test_only_reported_messages_are_delivered_again() -> None:
    queue = Queue()
    seen: list[str] = []
    for body in "0123":
        queue.send(body)

    def handler(event: Event, _: Any) -> Answer:
        seen.extend(record["body"] for record in event["Records"])
        again = [record for record in event["Records"] if record["body"] == "2"]
        return _failures(*(r["messageId"] for r in again if r["attributes"]["ApproximateReceiveCount"] != "3"))

    SqsPoller(handler, queue).drain()
    assert sorted(seen) == ["0", "1", "2", "2", "2", "3"]


# The stream


def _changed(changes: int, members: int = 1, shards: int = 1) -> Engine:
    engine = Engine(shards=shards)
    engine.create_table(**THINGS)
    for version in range(changes):
        for member in range(members):
            engine.put_item(TableName="Things", Item={**key(f"m{member}"), "n": {"N": str(version)}})
    return engine


def _versions(records: list[Any]) -> list[int]:
    return [int(record["dynamodb"]["NewImage"]["n"]["N"]) for record in records]


def _number(record: dict[str, Any]) -> str:
    text: str = record["dynamodb"]["SequenceNumber"]
    return text


def test_a_failing_batch_is_halved_and_one_record_given_up_and_progress_resets_the_tries() -> None:
    attempts: list[list[int]] = []
    given_up: list[tuple[list[int], str]] = []

    def function(event: Event, _: Any) -> Answer:
        versions = _versions(event["Records"])
        attempts.append(versions)
        if 5 in versions:
            raise ValueError
        return _failures(*(_number(record) for record in reversed(event["Records"][1:])))

    keep = lambda records, why: given_up.append((_versions(records), why))  # noqa: E731
    mapping = replace(STREAM, max_retries=2)
    StreamPoller(function, _changed(16).stream("Things"), batch_size=9, mapping=mapping, on_failure=keep).drain()
    assert attempts[:6] == [list(range(9)), [0, 1, 2, 3], [1, 2, 3], [2, 3], [3], [4, 5, 6, 7, 8]]
    assert [attempt[0] for attempt in attempts if 5 not in attempt] == [each for each in range(16) if each != 5]
    assert attempts.count([5]) == 3
    assert given_up == [([5], OUT_OF_TRIES)]
