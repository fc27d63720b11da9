"""POST /events: what is queued counts once, exactly as the client wrote it."""

from collections.abc import Iterator
from itertools import count
from typing import Any
from unittest import mock

import orjson
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from tests.support.aws.fakes.queues import delivered
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.posting import ALL, BOARDS, EVENT, NOW, count_them, raw, results

TIMELESS = {name: value for name, value in EVENT.items() if name != "at"}


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as deployed:
        yield deployed


def test_one_event(stack: Stack) -> None:
    assert results(stack, EVENT) == [{"id": "1", "status": "queued", "detail": None}]
    assert count_them(stack) == [{"rank": 1, "member": "m", "score": 3}]


def test_a_list_of_events_is_answered_in_its_order(stack: Stack) -> None:
    events = [{**EVENT, "id": f"e{n}", "member": f"m{n}"} for n in range(100)]

    assert [result["id"] for result in results(stack, events)] == [event["id"] for event in events]
    assert [orjson.loads(message["MessageBody"]) for message in stack.activity.messages] == events
    assert len(count_them(stack)) == 100


def test_a_list_without_at_counts_in_its_order(stack: Stack) -> None:
    timeless = [{**TIMELESS, "id": f"z{9 - n}", "metrics": {"points": n}} for n in range(3)]

    assert [result["status"] for result in results(stack, timeless)] == ["queued"] * 3
    assert [orjson.loads(message["MessageBody"])["at"] for message in stack.activity.messages] == [
        "2026-11-21T10:15:00.000Z",
        "2026-11-21T10:15:00.001Z",
        "2026-11-21T10:15:00.002Z",
    ]


def test_each_event_is_its_boards_on_the_queue(stack: Stack) -> None:
    """A flood of one board keeps no other waiting: a fair queue goes by the message's group."""
    longest = "A-z:0._9" * 16
    updates = [{"board": ["x", "y"], "member": "m", "metrics": {"points": 1}}, {**EVENT, "board": "a"}]
    for update in updates:
        update.pop("id", None)
        update.pop("at", None)
    several = {"id": "4", "at": EVENT["at"], "updates": updates}
    events = [EVENT, {**EVENT, "id": "2", "board": ["z", "b"]}, {**EVENT, "id": "3", "board": longest}, several]

    assert [result["status"] for result in results(stack, events)] == ["queued"] * 4
    assert [message["MessageGroupId"] for message in stack.activity.messages] == ["b", "z", longest, "x"]


def test_bytes_in_base_64_are_a_body_too(stack: Stack) -> None:
    assert results(stack, orjson.dumps({**EVENT, "member": "用户"}))[0]["status"] == "queued"
    assert count_them(stack)[0]["member"] == "用户"


def test_at_is_filled_in_where_it_is_absent(stack: Stack) -> None:
    results(stack, [TIMELESS, {**EVENT, "id": "2"}])
    filled, given_ = stack.activity.messages

    assert orjson.loads(filled["MessageBody"]) == {**EVENT, "at": "2026-11-21T10:15:00.000Z"}
    assert filled["MessageAttributes"] == {"at_filled_in": {"DataType": "String", "StringValue": "true"}}
    assert given_["MessageAttributes"] == {}
    assert results(stack, {**EVENT, "at": None})[0]["detail"] == "at: expected text, got null"


def test_an_event_that_is_posted_again_without_at_counts_once(stack: Stack) -> None:
    results(stack, [TIMELESS, TIMELESS])
    count_them(stack)
    stack.clock.milliseconds += 86_400_000
    results(stack, TIMELESS)

    assert count_them(stack) == [{"rank": 1, "member": "m", "score": 3}]
    assert stack.dead_letters.messages == []


def test_another_event_under_the_id_is_refused_whoever_filled_in_at(stack: Stack) -> None:
    results(stack, TIMELESS)
    count_them(stack)
    for other in ({**TIMELESS, "metrics": {"points": 4}}, EVENT):
        results(stack, other)
        assert count_them(stack) == [{"rank": 1, "member": "m", "score": 3}]

    assert ["was used before" in reason for reason in stack.dead_letters.reasons()] == [True, True]


def test_who_filled_in_at_survives_dead_letters_and_a_redrive(stack: Stack) -> None:
    results(stack, TIMELESS)
    (record,) = stack.activity.records()
    with mock.patch("standings.write.writer.parse_event", side_effect=ZeroDivisionError("a bug")):
        stack.writer({"Records": [record]}, Context())
    results(stack, TIMELESS)
    assert count_them(stack) == [{"rank": 1, "member": "m", "score": 3}]
    (letter,) = stack.dead_letters.messages
    stack.clock.milliseconds += 86_400_000
    redriven = delivered(0, letter)

    assert redriven["body"] == record["body"]
    assert stack.writer({"Records": [redriven]}, Context()) == {"batchItemFailures": []}
    assert len(stack.dead_letters.messages) == 1
    assert stack.entries(ALL) == [{"rank": 1, "member": "m", "score": 3}]


def test_amounts_reach_the_queue_as_they_were_written(stack: Stack) -> None:
    amounts = ["1.10", "1e2", "-0.0", "123456789012.345", "7"]
    texts = [raw(n, f'"metrics":{{"points":{amount}}}', f"m{n}") for n, amount in enumerate(amounts)]
    results(stack, f"[{','.join(texts)}]")

    for message, text in zip(stack.activity.messages, texts, strict=True):
        assert message["MessageBody"].endswith(text[1:])
    assert {entry["member"]: entry["score"] for entry in count_them(stack)} == {
        "m0": 1.1,
        "m1": 100,
        "m2": 0,
        "m3": 123456789012.345,
        "m4": 7,
    }


def test_characters_that_the_queue_does_not_know(stack: Stack) -> None:
    results(stack, [{**EVENT, "member": "\ufffe\uffff\U0001ffff\x7f"}])

    assert count_them(stack)[0]["member"] == "\ufffe\uffff\U0001ffff\x7f"


def test_batches_are_no_larger_than_the_queue_takes_them(stack: Stack) -> None:
    large = raw(1, f'"metrics":{{"points":1}}{" " * 400_000}')
    found = results(stack, "[" + ",".join([large] * 5 + [raw(2)] * 20) + "]")

    assert {result["status"] for result in found} == {"queued"}
    assert len(stack.activity.messages) == 25


def test_what_the_queue_refuses_is_never_called_queued(stack: Stack) -> None:
    stack.activity.refuses = lambda body: '"id":"7"' in body
    found = results(stack, [{**EVENT, "id": str(n)} for n in range(12)])

    assert [result["id"] for result in found if result["status"] != "queued"] == ["7"]
    assert found[7]["detail"].startswith("the queue did not take it, post it again with the same id: Service")
    stack.activity.refuses = lambda _: False
    assert results(stack, {**EVENT, "id": "7"})[0]["status"] == "queued"


def test_a_call_that_fails_leaves_the_other_batches_queued(stack: Stack) -> None:
    calls = count()
    original = stack.activity.send_message_batch

    def fails_once(**request: Any) -> Any:
        if next(calls) == 1:
            raise ClientError({"Error": {"Code": "InternalError", "Message": "no"}}, "SendMessageBatch")
        return original(**request)

    with mock.patch.object(stack.activity, "send_message_batch", fails_once):
        found = results(stack, ["no event", *({**EVENT, "id": str(n)} for n in range(25))])

    assert [n for n, result in enumerate(found) if result["status"] == "refused"] == [0, *range(11, 21)]
    assert all("post it again with the same id" in result["detail"] for result in found[11:21])
    assert len(stack.activity.messages) == 15


def test_a_queue_that_does_not_answer_is_not_asked_again_for_the_other_batches(stack: Stack) -> None:
    lost = ReadTimeoutError(endpoint_url="https://queue.invalid")
    with mock.patch.object(stack.activity, "send_message_batch", side_effect=lost) as hangs:
        found = results(stack, [{**EVENT, "id": str(n)} for n in range(25)])

    assert hangs.call_count == 1
    assert [result["status"] for result in found] == ["refused"] * 25
    assert all("post it again with the same id" in result["detail"] for result in found)
