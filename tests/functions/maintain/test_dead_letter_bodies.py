"""A dead letter keeps its body and the time it was first received through every refusal and replay."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import orjson
import pytest
from botocore.exceptions import ClientError

from standings.aws.sqs.messages import MAX_BYTES
from standings.domain.windows.calendar import DAY
from standings.maintain.failures.dead_letters import RECEIVED_TOO_OFTEN
from standings.maintain.failures.selection import Selection
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.failures.maintenance import dead_letter_care, soon
from tests.support.builders.failures.refusing import RIGHT, event, milliseconds, send, total, write


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(milliseconds()), RIGHT) as deployed:
        yield deployed


def test_when_it_was_first_received_outlives_every_refusal(stack: Stack) -> None:
    """After 29 days it is not replayed any more, however often it was replayed before."""
    first = stack.clock.milliseconds
    send(stack, event("1") | {"x": 1})
    write(stack)
    care = dead_letter_care(stack)
    for day in (13, 26, 29):
        stack.clock.milliseconds = first + day * DAY
        assert care.replay(soon(stack.clock))["replayed"] == 1
        write(stack)
        (letter,) = stack.dead_letters.messages
        assert letter["MessageAttributes"]["first_received"]["StringValue"] == str(first)
    stack.clock.milliseconds += 1
    left = care.replay(soon(stack.clock))

    assert (left["done"], left["replayed"], left["refused"]) == (True, 0, 1)
    assert left["problems"][0]["why"] == "first received more than 29 days ago: it might count twice"
    assert care.list(soon(stack.clock))["messages"][0]["problem"] == left["problems"][0]["why"]


def test_what_waits_too_long_in_the_queue_is_refused_by_the_writer(stack: Stack) -> None:
    """Also after SQS's own redrive, which keeps the attributes."""
    send(stack, event("1", points=5))
    write(stack)
    stack.clock.milliseconds += 29 * DAY + 1
    first = {"first_received": {"DataType": "Number", "StringValue": str(milliseconds())}}
    send(stack, event("1", points=5), event("2", points=5), attributes=first)
    write(stack)

    assert stack.dead_letters.reasons() == ["first received more than 29 days ago: it might count twice"] * 2
    assert total(stack) == {"m": 5}


def test_what_was_received_too_often_is_replayed_with_the_time_it_was_sent(stack: Stack) -> None:
    send(stack, event("1"))
    (record,) = stack.activity.records()
    stack.dead_letters.moved(record)
    stack.clock.milliseconds += DAY
    care = dead_letter_care(stack)

    (shown,) = care.list(soon(stack.clock))["messages"]
    assert (shown["reason"], shown["receives"]) == (RECEIVED_TOO_OFTEN, 11)
    assert care.replay(soon(stack.clock), chosen=Selection(reason=RECEIVED_TOO_OFTEN))["replayed"] == 1
    (sent,) = stack.activity.messages
    assert sent["MessageAttributes"]["first_received"]["StringValue"] == str(milliseconds())
    write(stack)
    assert total(stack) == {"m": 1}


def test_at_filled_in_survives_a_refusal_and_a_replay(stack: Stack) -> None:
    """An event posted without `at` meets a bug. Its replay and a retry of the post count once."""
    without = {name: value for name, value in event("1", points=3).items() if name != "at"}
    stack.post("/events", without)
    with mock.patch("standings.write.writer.parse_event", side_effect=ZeroDivisionError("a bug")):
        write(stack)
    stack.clock.milliseconds += DAY
    stack.post("/events", without)
    write(stack)
    assert dead_letter_care(stack).replay(soon(stack.clock))["replayed"] == 1
    write(stack)

    assert stack.dead_letters.messages == []
    assert total(stack) == {"m": 3}


def test_a_body_without_room_even_for_its_age_is_shown_and_stays(stack: Stack) -> None:
    small = orjson.dumps(event("1", points=3)).decode()
    body = small + " " * (MAX_BYTES - len(small))
    send(stack, body)
    with mock.patch("standings.write.writer.parse_event", side_effect=ZeroDivisionError("a bug")):
        write(stack)
    assert len(stack.bucket.objects) == 1
    assert len(stack.dead_letters.messages[0]["MessageBody"]) < 1000
    care = dead_letter_care(stack)
    (shown,) = care.list(soon(stack.clock))["messages"]
    assert (shown["event"], shown["size"], shown["problem"]) == ("1", len(body), None)

    refusal = ClientError({"Error": {"Code": "SlowDown", "Message": "no"}}, "DeleteObject")
    with mock.patch.object(stack.bucket, "get_object", side_effect=refusal):
        assert "cannot be read" in care.replay(soon(stack.clock))["problems"][0]["why"]
    replayed = care.replay(soon(stack.clock), chosen=Selection(board="b"))
    assert len(stack.bucket.objects) == 1
    assert (replayed["replayed"], replayed["problems"]) == (0, [{"id": shown["id"], "why": mock.ANY}])
    assert "too large" in replayed["problems"][0]["why"]


@pytest.mark.parametrize("gone", [False, True])
def test_a_body_that_was_kept_whole_comes_back(stack: Stack, gone: bool) -> None:
    small = orjson.dumps(event("1", points=3)).decode()
    body = small + " " * (MAX_BYTES - len(small) - 34)
    send(stack, body)
    with mock.patch("standings.write.writer.parse_event", side_effect=ZeroDivisionError("a bug")):
        write(stack)
    assert len(stack.bucket.objects) == 1
    if gone:
        stack.bucket.objects.clear()
        assert "is gone" in dead_letter_care(stack).replay(soon(stack.clock))["problems"][0]["why"]
        return
    assert dead_letter_care(stack).replay(soon(stack.clock))["replayed"] == 1
    assert stack.activity.messages[0]["MessageBody"] == body
    assert stack.bucket.objects == {}
    write(stack)
    assert (total(stack), stack.dead_letters.messages) == ({"m": 3}, [])
