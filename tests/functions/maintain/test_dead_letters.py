"""Dead letters: shown with their reasons, replayed after a fix, and never counted twice."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import orjson
import pytest
from botocore.exceptions import ClientError

from standings.aws.sqs.sender import MAX_BYTES
from standings.domain.windows.calendar import DAY
from standings.maintain.failures.dead_letters import RECEIVED_TOO_OFTEN
from standings.maintain.failures.selection import Selection
from tests.support.aws.stack import ManualClock, Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries
from tests.support.builders.maintenance import dead_letter_care, soon
from tests.support.builders.streaming import project
from tests.support.oracle.model import Model

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
RIGHT = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
"""
WRONG = """
[boards."other-*"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
[boards."b"]
metrics.pionts = { aggregate = "sum", windows = ["all", "day"] }
"""


def milliseconds() -> int:
    return int(NOW.timestamp() * 1000)


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(milliseconds()), RIGHT) as deployed:
        yield deployed


def event(event_id: str, member: str = "m", points: int = 1, board: str = "b") -> dict[str, Any]:
    return {"id": event_id, "board": board, "member": member, "at": NOW.isoformat(), "metrics": {"points": points}}


def send(stack: Stack, *bodies: Any, attributes: dict[str, Any] | None = None) -> None:
    """Put messages on the queue of events."""
    for body in bodies:
        text = body if isinstance(body, str) else orjson.dumps(body).decode()
        stack.activity.messages.append({"Id": "0", "MessageBody": text, "MessageAttributes": attributes or {}})


def test_whose_a_message_is_survives_refusal_and_replay(stack: Stack) -> None:
    """Also where its body is kept in the bucket, and where its producer said nothing."""
    for group, body in (("producer-7", "{"), (None, "{}"), ("producer-8", "\x00")):
        send(stack, body)
        if group:
            stack.activity.messages[-1]["MessageGroupId"] = group
    write(stack)
    assert [letter.get("MessageGroupId") for letter in stack.dead_letters.messages] == [
        "producer-7",
        None,
        "producer-8",
    ]
    replayed = dead_letter_care(stack).replay(soon(stack.clock))

    assert (replayed["replayed"], replayed["refused"]) == (2, 1)
    assert [message.get("MessageGroupId") for message in stack.activity.messages] == ["producer-7", None]


def write(stack: Stack) -> None:
    """Let the writer have all that is on the queue."""
    assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}


def total(stack: Stack) -> dict[str, int]:
    project(stack)
    return {entry["member"]: entry["score"] for entry in stack.entries("/boards/b/points/all")}


def test_a_wrong_boards_toml_is_put_right_and_all_is_replayed(engine: Any) -> None:
    """Refused by a wrong file, listed, replayed after the fix: twice, and with events that were applied meanwhile."""
    rng = random.Random(3)
    model = Model()
    clock = ManualClock(milliseconds())
    events = [event(f"e{n}", f"m{rng.randrange(20)}", rng.randrange(1, 300)) for n in range(300)]
    for one in events:
        model.add(one["id"], one["member"], NOW, one["metrics"]["points"], NOW)
    with running(engine, clock, WRONG) as wrong:
        send(wrong, *events)
        write(wrong)
        listed = dead_letter_care(wrong).list(soon(clock), limit=7)
        letters = wrong.dead_letters
    assert (listed["done"], listed["seen"], len(listed["messages"])) == (True, 300, 7)
    ((reason, count),) = ((found["reason"], found["messages"]) for found in listed["reasons"])
    assert (reason, count) == ("metrics: board 'b' has no metric 'points'", 300)
    first = listed["messages"][0]
    assert (first["event"], first["boards"], first["members"]) == ("e0", ["b"], [events[0]["member"]])

    clock.milliseconds += 3 * DAY
    with running(engine, clock, RIGHT) as right:
        # A producer was not patient, and sent some of it again.
        send(right, *rng.sample(events, 40))
        write(right)
        right.dead_letters.messages += letters.messages
        right.dead_letters._told |= letters._told
        before = [dict(message) for message in letters.messages]
        replayed = dead_letter_care(right).replay(soon(clock))
        assert (replayed["done"], replayed["replayed"], replayed["refused"], replayed["failed"]) == (True, 300, 0, 0)
        assert right.dead_letters.messages == []
        sent = list(right.activity.messages)
        assert [one["MessageBody"] for one in sent] == [orjson.dumps(one).decode() for one in events]
        assert all(one["MessageAttributes"].keys() == {"first_received"} for one in sent)
        write(right)
        # The same dead letters once more, as after a crash between sending and deleting.
        right.dead_letters.messages += before
        right.dead_letters._hidden.clear()
        assert dead_letter_care(right).replay(soon(clock))["replayed"] == 300
        write(right)
        assert right.dead_letters.messages == []
        project(right)
        for window in ("all", "day"):
            entries = right.entries(f"/boards/b/points/{window}", period=None if window == "all" else "2026-11-21")
            assert [(e["rank"], e["member"], e["score"]) for e in entries] == model.standings(window, NOW)
    assert_tiers_count_the_entries(engine)


def test_some_are_replayed_by_id_by_reason_and_by_board(stack: Stack) -> None:
    send(stack, event("1", board="b") | {"x": 1}, event("2", board="c") | {"x": 1}, event("3") | {"at": "now"}, "{")
    write(stack)
    care = dead_letter_care(stack)
    ids = [one["id"] for one in care.list(soon(stack.clock))["messages"]]

    assert care.replay(soon(stack.clock), chosen=Selection(board="c"))["replayed"] == 1
    assert orjson.loads(stack.activity.messages[-1]["MessageBody"])["id"] == "2"
    assert care.replay(soon(stack.clock), chosen=Selection(reason="RFC 3339"))["replayed"] == 1
    assert orjson.loads(stack.activity.messages[-1]["MessageBody"])["id"] == "3"
    assert care.replay(soon(stack.clock), chosen=Selection(names=frozenset({ids[3]})))["replayed"] == 1
    assert stack.activity.messages[-1]["MessageBody"] == "{"
    # What was not chosen is there again at once.
    left = care.replay(soon(stack.clock), chosen=Selection(reason="no such reason"))
    assert (left["seen"], left["not_chosen"], left["replayed"]) == (1, 1, 0)
    assert [one["event"] for one in care.list(soon(stack.clock))["messages"]] == ["1"]


def test_some_are_thrown_away(stack: Stack) -> None:
    send(stack, "{", "[", "]")
    write(stack)
    care = dead_letter_care(stack)
    ids = [one["id"] for one in care.list(soon(stack.clock))["messages"]]

    assert care.delete(soon(stack.clock), ids=frozenset({ids[1], "no such id"}))["deleted"] == 1
    assert [one["body"] for one in care.list(soon(stack.clock))["messages"]] == ["{", "]"]
    assert care.delete(soon(stack.clock), ids=frozenset(ids[:1]))["done"]


def test_when_it_was_first_received_outlives_every_refusal(stack: Stack) -> None:
    """However often it is replayed and refused again, after 29 days it stays where it is."""
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
    """Also after the queue's own redrive, which asks nobody: it keeps the attributes."""
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
    """Posted without `at` and refused for a fault of ours: replayed, it is the event that a retry of the post is."""
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


def test_what_a_replay_has_refused_again_is_not_replayed_by_the_same(stack: Stack) -> None:
    """A fix that was none: calling until all is done comes to an end."""
    send(stack, *[event(str(n)) | {"x": 1} for n in range(25)])
    write(stack)
    care = dead_letter_care(stack)
    first = care.replay(soon(stack.clock), chosen=Selection(board="b"))
    stack.clock.milliseconds += 5
    write(stack)
    again = care.replay(soon(stack.clock), cursor=first["cursor"])

    assert (first["replayed"], again["replayed"], again["newer"], again["done"]) == (25, 0, 25, True)
    assert care.replay(soon(stack.clock))["replayed"] == 25


def test_a_call_ends_by_its_deadline_and_the_next_goes_on(stack: Stack) -> None:
    send(stack, *[event(str(n)) | {"x": 1} for n in range(60)])
    write(stack)
    care = dead_letter_care(stack)
    assert care.replay(soon(stack.clock, 0))["seen"] == 0

    receive = stack.dead_letters.receive_message
    calls = []

    def failing(**request: Any) -> Any:
        calls.append(request)
        if len(calls) == 3:
            raise ClientError({"Error": {"Code": "ServiceUnavailable", "Message": "no"}}, "ReceiveMessage")
        return receive(**request)

    with mock.patch.object(stack.dead_letters, "receive_message", failing):
        assert care.list(soon(stack.clock))["seen"] == 60  # tried again
        calls.clear()
        assert care.replay(soon(stack.clock), chosen=Selection(board="b"))["replayed"] == 60


def test_what_the_queue_does_not_take_stays(stack: Stack) -> None:
    send(stack, event("1") | {"x": 1}, event("2") | {"x": 1})
    write(stack)
    stack.activity.refuses = lambda body: '"1"' in body
    care = dead_letter_care(stack)
    replayed = care.replay(soon(stack.clock))

    assert (replayed["replayed"], replayed["failed"]) == (1, 1)
    assert [one["event"] for one in care.list(soon(stack.clock))["messages"]] == ["1"]


def test_a_store_that_is_down_ends_a_call_with_its_words(stack: Stack) -> None:
    send(stack, "{")
    write(stack)
    refusal = ClientError({"Error": {"Code": "ServiceUnavailable", "Message": "no"}}, "ReceiveMessage")
    with mock.patch.object(stack.dead_letters, "receive_message", side_effect=refusal):
        answer = dead_letter_care(stack).list(soon(stack.clock, 0.2))
    assert not answer["done"]
    assert "ServiceUnavailable" in answer["why"]
    json.dumps(answer)


def test_what_was_sent_and_could_not_be_cleared_away_is_replayed_again_in_vain(stack: Stack) -> None:
    send(stack, event("1", board="b") | {"x": 1}, event("2", points=7))
    write(stack)
    stack.dead_letters.messages[0]["MessageBody"] = orjson.dumps(event("1", points=5)).decode()
    refusal = ClientError({"Error": {"Code": "ServiceUnavailable", "Message": "no"}}, "DeleteMessageBatch")
    with mock.patch.object(stack.dead_letters, "delete_message_batch", side_effect=refusal):
        broken = dead_letter_care(stack).replay(soon(stack.clock))
    assert (broken["replayed"], broken["failed"]) == (0, 1)
    assert "sent, but not cleared away" in broken["problems"][0]["why"]
    write(stack)
    assert dead_letter_care(stack).replay(soon(stack.clock))["replayed"] == 1
    write(stack)

    assert stack.dead_letters.messages == []
    assert total(stack) == {"m": 12}
