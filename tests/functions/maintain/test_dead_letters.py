"""Dead letters are listed with their reasons, replayed after a fix, and never counted twice."""

import json
import random
from collections.abc import Iterator
from typing import Any
from unittest import mock

import orjson
import pytest
from botocore.exceptions import ClientError

from standings.domain.windows.calendar import DAY
from standings.maintain.failures.selection import Selection
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.checks import assert_tiers_count_the_entries
from tests.support.builders.failures.maintenance import dead_letter_care, soon
from tests.support.builders.failures.refusing import NOW, RIGHT, event, milliseconds, send, total, write
from tests.support.builders.stages.streaming import project
from tests.support.oracle.model import Model

WRONG = """
[boards."other-*"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
[boards."b"]
metrics.pionts = { aggregate = "sum", windows = ["all", "day"] }
"""


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(milliseconds()), RIGHT) as deployed:
        yield deployed


def test_a_wrong_boards_toml_is_put_right_and_all_is_replayed(engine: Any) -> None:
    """A wrong file refuses events; after the fix they are replayed twice, beside events that were sent again."""
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
    assert (reason, count) == ("metrics: board 'b' has no metric 'points'; there are: pionts", 300)
    first = listed["messages"][0]
    assert (first["event"], first["boards"], first["members"]) == ("e0", ["b"], [events[0]["member"]])

    clock.milliseconds += 3 * DAY
    with running(engine, clock, RIGHT) as right:
        # A producer has sent some of the events again.
        send(right, *rng.sample(events, 40))
        write(right)
        right.dead_letters.messages += letters.messages
        right.dead_letters._attributes |= letters._attributes
        before = [dict(message) for message in letters.messages]
        replayed = dead_letter_care(right).replay(soon(clock))
        assert (replayed["done"], replayed["replayed"], replayed["refused"], replayed["failed"]) == (True, 300, 0, 0)
        assert right.dead_letters.messages == []
        sent = list(right.activity.messages)
        assert [one["MessageBody"] for one in sent] == [orjson.dumps(one).decode() for one in events]
        assert all(one["MessageAttributes"].keys() == {"first_received"} for one in sent)
        write(right)
        # The same dead letters again, as after a crash between sending and deleting.
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
    # Messages that were not chosen are visible again at once.
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


def test_whose_a_message_is_survives_refusal_and_replay(stack: Stack) -> None:
    """Also if its body is in the bucket, and if it has no group."""
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


def test_what_a_replay_has_refused_again_is_not_replayed_by_the_same(stack: Stack) -> None:
    """After a fix that does not work, calling until `done` comes to an end."""
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
    assert "sent, but not deleted here" in broken["problems"][0]["why"]
    write(stack)
    assert dead_letter_care(stack).replay(soon(stack.clock))["replayed"] == 1
    write(stack)

    assert stack.dead_letters.messages == []
    assert total(stack) == {"m": 12}
