"""POST /events: what is queued is what is counted, once; what cannot be is refused with a reason, alone."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any
from unittest import mock

import orjson
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from standings.aws.sqs.sender import MAX_BYTES
from standings.domain.errors import RequestError
from standings.ingest.json_list import parse_documents
from tests.support.aws.stack import ManualClock, Stack, delivered, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.streaming import project

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", precision = 3, windows = ["all", "day"] }
"""
ALL = "/boards/b/points/all"
EVENT = {"id": "1", "board": "b", "member": "m", "at": "2026-11-21T10:00:00Z", "metrics": {"points": 3}}
TIMELESS = {name: value for name, value in EVENT.items() if name != "at"}


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as deployed:
        yield deployed


def results(stack: Stack, body: Any) -> list[dict[str, Any]]:
    status, answer = stack.post("/events", body)
    assert status == 202, answer
    found: list[dict[str, Any]] = answer["results"]
    assert all(set(result) == {"id", "status", "detail"} for result in found)
    return found


def count_them(stack: Stack) -> list[dict[str, Any]]:
    assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}
    project(stack)
    return stack.entries(ALL)


def test_one_event(stack: Stack) -> None:
    assert results(stack, EVENT) == [{"id": "1", "status": "queued", "detail": None}]
    assert count_them(stack) == [{"rank": 1, "member": "m", "score": 3}]


def test_a_list_of_events_is_answered_in_its_order(stack: Stack) -> None:
    events = [{**EVENT, "id": f"e{n}", "member": f"m{n}"} for n in range(100)]

    assert [result["id"] for result in results(stack, events)] == [event["id"] for event in events]
    assert [orjson.loads(message["MessageBody"]) for message in stack.activity.messages] == events
    assert len(count_them(stack)) == 100


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
    assert results(stack, {**EVENT, "at": None})[0]["detail"] == "at: must be text, is null"


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


def raw(number: int, part: str = '"metrics":{"points":1}', member: str = "m") -> str:
    return f'{{"id":"{number}","board":"b","member":"{member}",{part}}}'


REFUSED = [
    ("5", "body: must be a JSON object, is 5"),
    ("null", "body: must be a JSON object, is null"),
    ("[]", "body: must be a JSON object, is a list of 0"),
    ('"]},{["', "body: must be a JSON object"),
    ("{}", "id: is missing"),
    ('{"id":7}', "id: must be text, is 7"),
    (raw(9, '"metrics":{"points":"1"}'), "metrics.points: must be a number"),
    (raw(9, '"metrics":{"points":1e999}'), "metrics.points: beyond ±(2^53 - 1) units"),
    (raw(9, f'"metrics":{{"points":{"9" * 5000}}}'), "metrics.points: more than 15 significant digits"),
    (raw(9, f'"metrics":{{"points":{"9" * 30}}}'), "significant digits"),
    (raw(9, '"metrics":{"points":1.0000000000000001}'), "significant digits"),
    (raw(9, '"metrics":{"points":0.1234}'), "at most 3 decimals"),
    (raw(9, '"metrics":{"points":1e-400}'), "at most 3 decimals"),
    (raw(9, member="\\ud800"), "body: cannot be read"),
    (raw(9, '"\\udfff":1'), "body: cannot be read"),
    (raw(9, f'"metrics":{"[" * 900}{"]" * 900}'), "metrics: must be an object"),
    (raw(9, f'"metrics":{"[" * 5000}{"]" * 5000}'), "body: cannot be read"),
    (raw(9, f'"at":{"[" * 100_000}{"]" * 100_000}'), "body: cannot be read"),
    (raw(9, member="m" * 257), "member: must have 1 to 256 bytes"),
    (raw(9, f'"metrics":{{"points":1}}{" " * MAX_BYTES}'), "body: expected at most"),
    (raw(9, '"at":"2026-11-21T10:21:00Z","metrics":{"points":1}'), "at: more than 5 minutes ahead"),
    (raw(9, '"at":"2026-11-21T10:00:00Z","metrics":{"points":1},"hidden":true'), "hidden: no such field"),
]


@pytest.mark.parametrize(("text", "detail"), REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_one_bad_event_costs_its_neighbours_nothing(stack: Stack, text: str, detail: str) -> None:
    before, bad, after = results(stack, f"[{raw(1)} , {text}\n,{raw(2)}]")

    assert (before["status"], bad["status"], after["status"]) == ("queued", "refused", "queued")
    assert detail in bad["detail"]
    assert len(bad["detail"]) < 400
    assert [orjson.loads(message["MessageBody"])["id"] for message in stack.activity.messages] == ["1", "2"]
    if text.startswith("{"):
        assert results(stack, text) == [bad]


def test_the_id_of_a_refused_event_is_told_where_it_is_text(stack: Stack) -> None:
    texts = ['{"id":"x"}', '{"id":7}', "{}", "[]", '{"id":"\\ud800"}']

    assert [result["id"] for result in results(stack, f"[{','.join(texts)}]")] == ["x", None, None, None, None]


def test_an_answer_stays_small_whatever_the_ids(stack: Stack) -> None:
    found = results(stack, [{"id": '"' * 50_000} for _ in range(100)])

    assert {result["status"] for result in found} == {"refused"}
    assert len(orjson.dumps(found)) < 500_000


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


def test_the_largest_event_is_taken_and_a_larger_one_refused(stack: Stack) -> None:
    most = MAX_BYTES - len("at_filled_in") - len("String") - len("true") - len('"at":"2026-11-21T10:15:00.000Z",')
    start = raw(1)[:-1]
    text = start + " " * (most - len(start) - 1) + "}"

    assert results(stack, text)[0]["status"] == "queued"
    assert results(stack, text[:-1] + " }")[0]["status"] == "refused"


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


def test_a_parser_that_breaks_costs_the_neighbours_nothing(stack: Stack) -> None:
    with mock.patch("standings.ingest.post_events.parse_event") as broken:
        broken.side_effect = [ZeroDivisionError("a bug"), mock.DEFAULT]
        broken.return_value.updates = [mock.Mock(board="b")]
        found = results(stack, [EVENT, {**EVENT, "id": "2"}])

    assert [result["status"] for result in found] == ["refused", "queued"]


@pytest.mark.parametrize(
    "body",
    [
        None,
        "",
        " ",
        "null",
        "5",
        '"text"',
        "{",
        "[",
        "[]",
        "[ ]",
        "[{}",
        "[{},]",
        "[,{}]",
        "[{}]]",
        "[{}][{}]",
        "[{}],[{}]",
        "{},{}",
        "{}{}",
        "[1}",
        "[{]}",
        '["]',
        '["\\',
        "[NaN]",
        "[Infinity]",
        "[1 2]",
        '[{"a":1 "b":2}]',
        "[{'a':1}]",
        '["\x01"]',
        "[01]",
        "[5]\ufeff",
        "\ufeff[5]",
        b"[\xff]",
        b'{"id":"\xed\xa0\x80"}',
        '["\ud800"]',
        [{}] * 101,
        "[" * 100_000,
        '["' + '\\"' * 200_000,
    ],
    ids=lambda body: repr(body)[:20],
)
def test_a_body_that_is_no_list_of_events(stack: Stack, body: Any) -> None:
    status, answer = stack.post("/events", body)

    assert (status, answer["type"]) == (400, "urn:standings:bad-body")
    assert len(answer["detail"]) < 300
    assert stack.activity.messages == []


def test_posting_knows_no_arguments(stack: Stack) -> None:
    assert stack.post("/events", EVENT, id="1")[1]["detail"] == "id: no such argument; there are none"
    assert stack.activity.messages == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | st.sampled_from('[]{},:"\\'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


@given(st.lists(json_values, min_size=1, max_size=8), st.sampled_from([None, orjson.OPT_INDENT_2]))
def test_a_list_is_cut_into_its_values(values: list[Any], option: int | None) -> None:
    assert [document.value for document in parse_documents(orjson.dumps(values, option=option))] == values


@given(st.lists(st.sampled_from(["[", "]", "{", "}", ",", ":", '"', "\\", "1", " ", '"a"', "null"]), max_size=9))
def test_what_is_no_json_is_no_list_of_events(parts: list[str]) -> None:
    body = f"[{''.join(parts)}]".encode()
    try:
        expected = orjson.loads(body) or None
    except ValueError:
        expected = None
    try:
        found = [document.value for document in parse_documents(body)]
    except RequestError:
        found = None

    assert found == expected
