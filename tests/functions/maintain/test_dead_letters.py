"""Dead letters are listed with their reasons, replayed after a fix, and never counted twice."""

from datetime import UTC, datetime
from typing import Any, Final
from unittest import mock

import orjson
import pytest
from botocore.exceptions import ClientError

from standings.aws.sqs import MAX_BYTES
from standings.domain.windows import DAY
from standings.maintain.failures import RECEIVED_TOO_OFTEN
from tests.support.aws.stack import ManualClock, Stack, project, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.maintenance import call
from tests.support.builders.stages.writers import event

NOW: Final = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
BOARDS: Final = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
"""
WRONG: Final = """
[boards."other-*"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
[boards."b"]
metrics.pionts = { aggregate = "sum", windows = ["all", "day"] }
"""
TOO_OLD: Final = "first received more than 29 days ago: it might count twice"
A_BUG: Final = mock.patch("standings.write.writer.parse_event", side_effect=ZeroDivisionError("a bug"))


def post(stack: Stack, *bodies: Any, attributes: dict[str, Any] | None = None) -> None:
    """Put messages on the queue of events, and deliver the whole queue to the writer."""
    for body in bodies:
        text = body if isinstance(body, str) else orjson.dumps(body).decode()
        stack.activity.put({"MessageBody": text, "MessageAttributes": attributes or {}})
    assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}


def total(stack: Stack) -> dict[str, int]:
    project(stack)
    return {entry["member"]: entry["score"] for entry in stack.entries("/boards/b/points/all")}


def letters(stack: Stack, **chosen: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = call(stack, "dead_letters", "list", **chosen)["messages"]
    return found


def replay(stack: Stack, **chosen: Any) -> dict[str, Any]:
    return call(stack, "dead_letters", "replay", **chosen)


def first_received(message: dict[str, Any]) -> int:
    return int(message["MessageAttributes"]["first_received"]["StringValue"])


def refusal(operation: str) -> ClientError:
    return ClientError({"Error": {"Code": "ServiceUnavailable", "Message": "no"}}, operation)


def test_a_wrong_boards_toml_is_put_right_and_all_is_replayed(engine: Any, clock: ManualClock) -> None:
    """A wrong file refuses events; after the fix they are replayed twice, beside events that were sent again."""
    events = [event(f"e{n}", n, f"m{n % 20}") for n in range(300)]
    with running(engine, clock, WRONG) as wrong:
        post(wrong, *events)
        listed = call(wrong, "dead_letters", "list", limit=7)
        refused = wrong.dead_letters
    assert (listed["done"], listed["seen"], len(listed["messages"])) == (True, 300, 7)
    ((reason, count),) = ((found["reason"], found["messages"]) for found in listed["reasons"])
    assert (reason, count) == ("metrics: board 'b' has no metric 'points'; there are: pionts", 300)
    first = listed["messages"][0]
    assert (first["event"], first["boards"], first["members"]) == ("e0", ["b"], [events[0]["member"]])

    clock.milliseconds += 3 * DAY
    with running(engine, clock, BOARDS) as right:
        # A producer has sent some of the events again.
        post(right, *events[::7])
        right.dead_letters.messages += refused.messages
        before = [dict(message) for message in refused.messages]
        replayed = replay(right)
        assert (replayed["done"], replayed["replayed"], replayed["refused"], replayed["failed"]) == (True, 300, 0, 0)
        assert right.dead_letters.messages == []
        sent = list(right.activity.messages)
        assert [one["MessageBody"] for one in sent] == [orjson.dumps(one).decode() for one in events]
        assert all(one["MessageAttributes"].keys() == {"first_received"} for one in sent)
        post(right)
        # The same dead letters again, as after a crash between sending and deleting.
        right.dead_letters.messages += before
        assert replay(right)["replayed"] == 300
        post(right)
        assert right.dead_letters.messages == []
        assert total(right) == {f"m{n}": sum(range(n, 300, 20)) for n in range(20)}
        of_the_day = right.entries("/boards/b/points/day", period="2026-11-21")
        assert of_the_day == right.entries("/boards/b/points/all")


def test_some_are_replayed_by_id_by_reason_and_by_board(stack: Stack) -> None:
    """The writer refuses events with `x`."""
    post(stack, event("1", x=1), event("2", board="c", x=1), event("3", at="now"), "{")
    ids = [one["id"] for one in letters(stack)]
    assert [one["event"] for one in letters(stack, board="c", limit=5)] == ["2"]

    for chosen, body in (
        ({"board": "c"}, '{"id":"2"'),
        ({"reason": "RFC 3339"}, '{"id":"3"'),
        ({"ids": [ids[3]]}, "{"),
    ):
        assert replay(stack, **chosen)["replayed"] == 1
        assert stack.activity.messages[-1]["MessageBody"].partition(",")[0] == body
    # Messages that were not chosen are visible again at once.
    left = replay(stack, reason="no such reason")
    assert (left["seen"], left["not_chosen"], left["replayed"]) == (1, 1, 0)
    assert [one["event"] for one in letters(stack)] == ["1"]


def test_what_a_replay_has_refused_again_is_not_replayed_by_the_same(stack: Stack) -> None:
    """After a fix that does not work, calling until `done` comes to an end."""
    post(stack, *[event(str(n), x=1) for n in range(25)])
    first = replay(stack, board="b")
    stack.clock.milliseconds += 5
    post(stack)
    dropped = call(stack, "dead_letters", "delete", board="b", cursor=first["cursor"])
    again = replay(stack, cursor=first["cursor"])

    assert (dropped["deleted"], dropped["missing"]) == (0, [])
    assert (first["replayed"], again["replayed"], again["newer"], again["done"]) == (25, 0, 25, True)
    assert replay(stack)["replayed"] == 25


def test_a_call_ends_by_its_deadline_and_tries_again_until_then(stack: Stack) -> None:
    post(stack, *[event(str(n), x=1) for n in range(60)])
    assert replay(stack, seconds=0)["seen"] == 0

    receive = stack.dead_letters.receive_message
    with mock.patch.object(stack.dead_letters, "receive_message", side_effect=refusal("ReceiveMessage")):
        answer = call(stack, "dead_letters", "list", seconds=0.2)
    assert not answer["done"]
    assert "ServiceUnavailable" in answer["why"]
    for task in ("list", "replay"):
        # The third call fails, and is tried again.
        failing = mock.Mock(
            wraps=receive, side_effect=[*[mock.DEFAULT] * 2, refusal("ReceiveMessage"), *[mock.DEFAULT] * 99]
        )
        with mock.patch.object(stack.dead_letters, "receive_message", failing):
            assert call(stack, "dead_letters", task, board="b", seconds=60)["seen"] == 60
    assert len(stack.activity.messages) == 60


def test_what_the_queue_does_not_take_stays(stack: Stack) -> None:
    post(stack, event("1", x=1), event("2", x=1))
    stack.activity.refusal = lambda body: "InternalError" if '"1"' in body else ""
    replayed = replay(stack)

    assert (replayed["replayed"], replayed["failed"]) == (1, 1)
    assert [one["event"] for one in letters(stack)] == ["1"]


def test_what_was_sent_and_could_not_be_cleared_away_is_replayed_again_in_vain(stack: Stack) -> None:
    post(stack, event("1", x=1), event("2", points=7))
    stack.dead_letters.messages[0]["MessageBody"] = orjson.dumps(event("1", points=5)).decode()
    with mock.patch.object(stack.dead_letters, "delete_message_batch", side_effect=refusal("DeleteMessageBatch")):
        broken = replay(stack, seconds=60)
    assert (broken["replayed"], broken["failed"]) == (0, 1)
    assert "sent, but not deleted here" in broken["problems"][0]["why"]
    post(stack)
    assert replay(stack)["replayed"] == 1
    post(stack)

    assert stack.dead_letters.messages == []
    assert total(stack) == {"m": 12}


# ---- a dead letter keeps its body and the time it was first received through every refusal and replay


def test_when_it_was_first_received_outlives_every_refusal(stack: Stack) -> None:
    """After 29 days it is not replayed any more, however often it was replayed before."""
    first = stack.clock()
    post(stack, event("1", x=1))
    for day in (13, 26, 29):
        stack.clock.milliseconds = first + day * DAY
        assert replay(stack)["replayed"] == 1
        post(stack)
        (letter,) = stack.dead_letters.messages
        assert first_received(letter) == first
    stack.clock.milliseconds += 1
    left = replay(stack)

    assert (left["done"], left["replayed"], left["refused"]) == (True, 0, 1)
    assert left["problems"][0]["why"] == letters(stack)[0]["problem"] == TOO_OLD


@pytest.mark.parametrize("said", ["soon", str(int(NOW.timestamp() * 1000) + DAY)])
def test_a_producer_cannot_say_that_it_was_first_received_later(stack: Stack, said: str) -> None:
    post(stack, event("1", x=1), attributes={"first_received": {"StringValue": said, "DataType": "Number"}})
    assert first_received(stack.dead_letters.messages[0]) == stack.clock()


def test_what_was_received_too_often_is_replayed_with_the_time_it_was_sent(stack: Stack) -> None:
    sent_at = stack.clock()
    stack.activity.put({"MessageBody": orjson.dumps(event("1")).decode()})
    (record,) = stack.activity.records()
    stack.dead_letters.moved(record)
    stack.clock.milliseconds += DAY

    listed = call(stack, "dead_letters", "list")
    (shown,) = listed["messages"]
    assert (shown["reason"], shown["receives"]) == (RECEIVED_TOO_OFTEN, 11)
    assert listed["reasons"] == [{"reason": RECEIVED_TOO_OFTEN, "messages": 1}]
    assert replay(stack, reason=RECEIVED_TOO_OFTEN)["replayed"] == 1
    assert first_received(stack.activity.messages[0]) == sent_at
    post(stack)
    assert total(stack) == {"m": 1}


def test_at_filled_in_survives_a_refusal_and_a_replay(stack: Stack) -> None:
    """An event posted without `at` meets a bug. Its replay and a retry of the post count once."""
    without = {name: value for name, value in event("1", points=3).items() if name != "at"}
    stack.post("/events", without)
    with A_BUG:
        post(stack)
    stack.clock.milliseconds += DAY
    stack.post("/events", without)
    post(stack)
    assert replay(stack)["replayed"] == 1
    post(stack)

    assert stack.dead_letters.messages == []
    assert total(stack) == {"m": 3}


def large(room: int) -> str:
    """An event's body that leaves so much room in a message."""
    small = orjson.dumps(event("1", points=3)).decode()
    return small + " " * (MAX_BYTES - len(small) - room)


def test_a_body_without_room_even_for_its_age_is_shown_and_stays(stack: Stack) -> None:
    with A_BUG:
        post(stack, large(0))
    assert len(stack.bucket.objects) == 1
    assert len(stack.dead_letters.messages[0]["MessageBody"]) < 1000
    (shown,) = letters(stack)
    assert (shown["event"], shown["size"], shown["problem"]) == ("1", MAX_BYTES, None)

    with mock.patch.object(stack.bucket, "get_object", side_effect=refusal("GetObject")):
        assert "cannot be read" in replay(stack, seconds=60)["problems"][0]["why"]
    replayed = replay(stack, board="b")
    assert len(stack.bucket.objects) == 1
    assert (replayed["replayed"], replayed["problems"]) == (0, [{"id": shown["id"], "why": mock.ANY}])
    assert "too large" in replayed["problems"][0]["why"]


def test_a_body_with_room_for_some_of_its_reason_stays_in_the_message(stack: Stack) -> None:
    with A_BUG:
        post(stack, large(50))
    (message,) = stack.dead_letters.messages
    assert (message["MessageBody"], stack.bucket.objects) == (large(50), {})
    assert len(message["MessageAttributes"]["reason"]["StringValue"]) == 5


@pytest.mark.parametrize("gone", [False, True])
def test_a_body_that_was_kept_whole_comes_back(stack: Stack, gone: bool) -> None:
    with A_BUG:
        post(stack, large(34))
    assert len(stack.bucket.objects) == 1
    if gone:
        stack.bucket.objects.clear()
        assert "is gone" in replay(stack)["problems"][0]["why"]
        return
    assert replay(stack)["replayed"] == 1
    assert stack.activity.messages[0]["MessageBody"] == large(34)
    assert stack.bucket.objects == {}
    post(stack)
    assert (total(stack), stack.dead_letters.messages) == ({"m": 3}, [])


@pytest.mark.parametrize(
    ("key", "names"), [("parked/1795256100000.json", True), ("refused/another.json", False), ("refused/a/b.json", True)]
)
def test_a_producer_cannot_name_the_object_that_goes_with_its_message(stack: Stack, key: str, names: bool) -> None:
    stack.bucket.objects[key] = b"{}"
    body = f'{{"body":"kept whole in s3://failures/{key}"}}' if names else "{}"
    post(stack, body, attributes={"kept_in": {"StringValue": key, "DataType": "String"}})
    (shown,) = letters(stack)
    assert shown.get("kept_in") is None
    assert call(stack, "dead_letters", "delete", ids=[shown["id"]])["deleted"] == 1
    assert stack.bucket.objects.keys() == {key}
