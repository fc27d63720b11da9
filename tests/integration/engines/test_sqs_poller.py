"""The poller of a queue delivers as Lambda documents it: batches, redeliveries, and what it gives up."""

from __future__ import annotations

import functools
import hashlib
import operator
from random import Random
from typing import Any

import pytest

from tests.support.awslambda.pollers import Context, Killed, Queue, SqsPoller

Event = dict[str, Any]
Answer = dict[str, Any]


def _bodies(event: Event) -> list[str]:
    return [record["body"] for record in event["Records"]]


def _failures(*identifiers: Any) -> Answer:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}


def test_a_queue_is_emptied_in_batches() -> None:
    queue = Queue()
    for number in range(25):
        queue.send(str(number))
    sizes: list[list[str]] = []

    batches = SqsPoller(lambda event, _: sizes.append(_bodies(event)), queue, batch_size=10).drain()

    assert batches == 3
    assert [len(bodies) for bodies in sizes] == [10, 10, 5]
    assert functools.reduce(operator.iadd, sizes, []) == [str(number) for number in range(25)]
    assert (queue.dead, queue.most_received) == ([], 1)


def test_a_message_has_the_form_that_lambda_delivers() -> None:
    queue = Queue(clock=lambda: 1_700_000_000.5)
    message_id = queue.send("héllo", {"kind": {"DataType": "String", "StringValue": "x"}}, group="g")
    events: list[Event] = []

    SqsPoller(lambda event, _: events.append(event), queue).drain()

    ((record,),) = (event["Records"] for event in events)
    assert record.pop("receiptHandle")
    assert record.pop("attributes") == {
        "ApproximateReceiveCount": "1",
        "SentTimestamp": "1700000000500",
        "SenderId": "AIDAEXAMPLE",
        "ApproximateFirstReceiveTimestamp": "1700000000500",
        "MessageGroupId": "g",
    }
    assert record == {
        "messageId": message_id,
        "body": "héllo",
        "messageAttributes": {
            "kind": {"dataType": "String", "stringValue": "x", "stringListValues": [], "binaryListValues": []}
        },
        "md5OfBody": hashlib.md5("héllo".encode(), usedforsecurity=False).hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:ActivityQueue",
        "awsRegion": "us-east-1",
    }


def test_only_reported_messages_are_delivered_again() -> None:
    queue = Queue()
    for number in range(4):
        queue.send(str(number))
    seen: list[str] = []

    def handler(event: Event, _: Any) -> Answer:
        seen.extend(_bodies(event))
        failed = [
            record["messageId"]
            for record in event["Records"]
            if record["body"] == "2" and record["attributes"]["ApproximateReceiveCount"] != "3"
        ]
        return _failures(*failed)

    SqsPoller(handler, queue).drain()

    assert sorted(seen) == ["0", "1", "2", "2", "2", "3"]
    assert queue.most_received == 3


@pytest.mark.parametrize(
    "answer",
    [
        _failures("nobody"),
        _failures(""),
        _failures(None),
        {"batchItemFailures": [{"wrong": "name"}]},
        {"failures": []},
        [],
        "text",
        {"batchItemFailures": [], "more": {1, 2}},
    ],
)
def test_a_malformed_answer_fails_the_whole_batch(answer: Any) -> None:
    queue = Queue(max_receive_count=2)
    queue.send("a")
    queue.send("b")
    poller = SqsPoller(lambda _, __: answer, queue)

    poller.drain()

    assert [message.body for message in queue.dead] == ["a", "b"]
    assert (poller.invocations, len(poller.errors)) == (2, 2)


@pytest.mark.parametrize("answer", [None, {}, {"batchItemFailures": []}, {"batchItemFailures": None}])
def test_an_answer_that_reports_nothing_is_success(answer: Any) -> None:
    queue = Queue()
    queue.send("a")

    SqsPoller(lambda _, __: answer, queue).drain()

    assert (queue.dead, queue.most_received) == ([], 1)


@pytest.mark.parametrize("error", [ValueError, Killed])
def test_an_exception_fails_the_whole_batch_until_the_queue_gives_up(error: type[BaseException]) -> None:
    queue = Queue(max_receive_count=3)
    queue.send("a")

    def handler(_: Event, __: Any) -> Answer:
        raise error

    poller = SqsPoller(handler, queue)
    poller.drain()

    assert [(message.body, message.received) for message in queue.dead] == [("a", 3)]
    assert [type(raised) for raised in poller.errors] == [error] * 3


def test_duplicates_and_reordering_lose_nothing() -> None:
    queue = Queue(Random(1), duplicates=0.3)
    sent = [str(number) for number in range(200)]
    for body in sent:
        queue.send(body)
    seen: list[str] = []

    SqsPoller(lambda event, _: seen.extend(_bodies(event)), queue, batch_size=50, rng=Random(2)).drain()

    assert set(seen) == set(sent)
    assert len(seen) > len(sent)
    assert seen[:50] != sent[:50]


def test_a_drain_that_does_not_end_fails() -> None:
    queue = Queue(max_receive_count=1_000_000)
    queue.send("a")
    poller = SqsPoller(lambda event, _: _failures(event["Records"][0]["messageId"]), queue)

    with pytest.raises(AssertionError, match="1 messages are left after 5 batches"):
        poller.drain(5)


def test_a_context_counts_down() -> None:
    moment = 10.0
    context = Context(seconds=3.0, clock=lambda: moment)
    moment = 12.5

    assert context.get_remaining_time_in_millis() == 500
    assert context.invoked_function_arn.endswith(":function:function")
    assert context.aws_request_id != Context().aws_request_id
