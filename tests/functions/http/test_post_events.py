"""POST /events: what is queued counts once, as the client wrote it; a bad event is refused alone, a bad body whole."""

from typing import Any, Final
from unittest import mock

import orjson
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from standings.aws.sqs import MAX_BYTES
from standings.domain.errors import RequestError
from standings.ingest import parse_documents
from tests.support.aws.fakes import INVALID
from tests.support.aws.stack import Stack, count
from tests.support.builders.querying import ALL

BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", precision = 3, windows = ["all", "day"] }
"""
EVENT = {"id": "1", "board": "b", "member": "m", "at": "2026-11-21T10:00:00Z", "metrics": {"points": 3}}
TIMELESS: Final = {name: value for name, value in EVENT.items() if name != "at"}
AGAIN: Final = "post it again with the same id"


def results(stack: Stack, body: Any) -> list[dict[str, Any]]:
    status, answer = stack.post("/events", body)
    assert status == 202, answer
    found: list[dict[str, Any]] = answer["results"]
    assert all(set(result) == {"id", "status", "detail"} for result in found)
    return found


def raw(number: int, part: str = '"metrics":{"points":1}', member: str = "m") -> str:
    return f'{{"id":"{number}","board":"b","member":"{member}",{part}}}'


def statuses(found: list[dict[str, Any]]) -> list[str]:
    return [result["status"] for result in found]


def test_a_list_without_at_counts_in_its_order(stack: Stack) -> None:
    timeless = [{**TIMELESS, "id": f"z{9 - n}", "metrics": {"points": n}} for n in range(3)]

    assert statuses(results(stack, timeless)) == ["queued"] * 3
    times = [orjson.loads(message["MessageBody"])["at"] for message in stack.activity.messages]
    assert times == [f"2026-11-21T10:15:00.00{n}Z" for n in range(3)]


def test_each_event_is_its_boards_on_the_queue(stack: Stack) -> None:
    """A flood of one board keeps no other waiting: a fair queue goes by the message's group."""
    longest = "A-z:0._9" * 16
    shares = [{"board": board, "member": "m", "metrics": {"points": 1}} for board in (["x", "y"], "a")]
    several = {"id": "4", "at": EVENT["at"], "updates": shares}
    events = [EVENT, {**EVENT, "id": "2", "board": ["z", "b"]}, {**EVENT, "id": "3", "board": longest}, several]

    assert statuses(results(stack, events)) == ["queued"] * 4
    assert [message["MessageGroupId"] for message in stack.activity.messages] == ["b", "z", longest, "x"]


def test_at_is_filled_in_where_it_is_absent(stack: Stack) -> None:
    results(stack, [TIMELESS, {**EVENT, "id": "2"}])
    filled, given_ = stack.activity.messages

    assert orjson.loads(filled["MessageBody"]) == {**EVENT, "at": "2026-11-21T10:15:00.000Z"}
    assert filled["MessageAttributes"] == {"at_filled_in": {"DataType": "String", "StringValue": "true"}}
    assert given_["MessageAttributes"] == {}
    assert results(stack, {**EVENT, "at": None})[0]["detail"] == "at: expected text, got null"


def test_amounts_and_characters_reach_the_queue_as_they_were_written(stack: Stack) -> None:
    amounts = {"1.10": 1.1, "1e2": 100, "-0.0": 0, "123456789012.345": 123456789012.345, "7": 7}
    texts = [raw(n, f'"metrics":{{"points":{amount}}}', f"m{n}") for n, amount in enumerate(amounts)]
    results(stack, f"[{','.join(texts)}]")
    for message, text in zip(stack.activity.messages, texts, strict=True):
        assert message["MessageBody"].endswith(text[1:])
    # The queue does not know these characters.
    results(stack, [{**EVENT, "id": "9", "member": "\ufffe\uffff\U0001ffff\x7f"}])

    count(stack)
    scores = {entry["member"]: entry["score"] for entry in stack.entries(ALL)}
    assert scores == {f"m{n}": score for n, score in enumerate(amounts.values())} | {"\ufffe\uffff\U0001ffff\x7f": 3}


def test_batches_are_no_larger_than_the_queue_takes_them(stack: Stack) -> None:
    large = raw(1, f'"metrics":{{"points":1}}{" " * 400_000}')

    with mock.patch.object(stack.activity, "send_message_batch", wraps=stack.activity.send_message_batch) as sends:
        assert set(statuses(results(stack, "[" + ",".join([large] * 5 + [raw(2)] * 20) + "]"))) == {"queued"}
    assert [len(call.kwargs["Entries"]) for call in sends.call_args_list] == [2, 2, 10, 10, 1]


def test_what_the_queue_does_not_take_is_refused_only_if_it_never_will(stack: Stack) -> None:
    codes = {"7": "ServiceUnavailable", "8": INVALID}
    stack.activity.refusal = lambda body: codes.get(orjson.loads(body)["id"], "")
    found = results(stack, [{**EVENT, "id": str(n)} for n in range(12)])

    assert {result["id"]: result["status"] for result in found if result["status"] != "queued"} == {
        "7": "unconfirmed",
        "8": "refused",
    }
    assert AGAIN in found[7]["detail"]
    assert found[8]["detail"].startswith(f"the queue refused it: {INVALID}")
    assert results(stack, {**EVENT, "id": "8"}) == [found[8]]
    assert stack.post("/events", {**EVENT, "id": "7"})[0] == 503
    stack.activity.refusal = lambda _: ""
    assert statuses(results(stack, {**EVENT, "id": "7"})) == ["queued"]


def test_a_call_that_fails_leaves_the_other_batches_queued(stack: Stack) -> None:
    failed = ClientError({"Error": {"Code": "InternalError", "Message": "no"}}, "SendMessageBatch")
    send, ends = stack.activity.send_message_batch, [mock.DEFAULT, failed, mock.DEFAULT]
    with mock.patch.object(stack.activity, "send_message_batch", wraps=send, side_effect=ends):
        found = results(stack, ["no event", *({**EVENT, "id": str(n)} for n in range(25))])

    assert statuses(found) == ["refused", *["queued"] * 10, *["unconfirmed"] * 10, *["queued"] * 5]
    assert all(AGAIN in result["detail"] for result in found[11:21])
    assert len(stack.activity.messages) == 15


def test_a_queue_that_does_not_answer_is_not_asked_again_for_the_other_batches(stack: Stack) -> None:
    lost, events = ReadTimeoutError(endpoint_url="https://queue.invalid"), [{**EVENT, "id": str(n)} for n in range(25)]
    with mock.patch.object(stack.activity, "send_message_batch", side_effect=lost) as hangs:
        found = results(stack, ["no event", *events])

    assert hangs.call_count == 1
    assert statuses(found) == ["refused", *["unconfirmed"] * 25]
    assert all(AGAIN in result["detail"] for result in found[1:])


@pytest.mark.parametrize("arguments", [{}, {"wait": 5}])
def test_a_post_whose_answer_is_lost_may_be_sent_again(stack: Stack, arguments: dict[str, int]) -> None:
    """Nothing of the request is known: no event is called refused, and each counts once."""
    events = EVENT if arguments else [TIMELESS, {**TIMELESS, "id": "2"}]
    take = stack.activity.send_message_batch

    def taken_without_an_answer(**batch: Any) -> None:
        take(**batch)
        raise ReadTimeoutError(endpoint_url="https://queue.invalid")

    with mock.patch.object(stack.activity, "send_message_batch", side_effect=taken_without_an_answer):
        status, answer = stack.post("/events", events, **arguments)
    assert (status, answer["type"]) == (503, "urn:standings:unavailable")
    count(stack)
    assert stack.post("/events", events, **arguments)[0] == (200 if arguments else 202)
    count(stack)
    assert stack.entries(ALL)[0]["score"] == (3 if arguments else 6)
    assert stack.dead_letters.reasons() == []


REFUSED: Final = [
    ("5", "body: expected a JSON object, got 5"),
    ("null", "body: expected a JSON object, got null"),
    ("[]", "body: expected a JSON object, got a list of 0"),
    ('"]},{["', "body: expected a JSON object"),
    ("{}", "id: is missing"),
    ('{"id":7}', "id: expected text, got 7"),
    (raw(9, '"metrics":{"points":1e999}'), "metrics.points: expected at most ±(2^53 - 1) units"),
    (raw(9, f'"metrics":{{"points":{"9" * 5000}}}'), "metrics.points: expected at most 15 significant digits"),
    (raw(9, f'"metrics":{{"points":{"9" * 30}}}'), "significant digits"),
    (raw(9, member="\\ud800"), "body: cannot be read"),
    (raw(9, '"\\udfff":1'), "body: cannot be read"),
    (raw(9, f'"metrics":{"[" * 900}{"]" * 900}'), "metrics: expected an object"),
    (raw(9, f'"metrics":{"[" * 5000}{"]" * 5000}'), "body: cannot be read"),
    (raw(9, f'"at":{"[" * 100_000}{"]" * 100_000}'), "body: cannot be read"),
    (raw(9, f'"metrics":{{"points":1}}{" " * MAX_BYTES}'), "body: expected at most"),
    (raw(9, '"at":"2026-11-21T10:21:00Z","metrics":{"points":1}'), "at: expected an instant at most 5 minutes ahead"),
]


@pytest.mark.parametrize(("text", "detail"), REFUSED, ids=range(len(REFUSED)))
def test_one_bad_event_costs_its_neighbours_nothing(stack: Stack, text: str, detail: str) -> None:
    before, bad, after = results(stack, f"[{raw(1)} , {text}\n,{raw(2)}]")

    assert statuses([before, bad, after]) == ["queued", "refused", "queued"]
    assert detail in bad["detail"]
    assert len(bad["detail"]) < 400
    assert [orjson.loads(message["MessageBody"])["id"] for message in stack.activity.messages] == ["1", "2"]
    if text.startswith("{"):
        assert results(stack, text) == [bad]


def test_the_id_of_a_refused_event_is_told_where_it_is_text_and_an_answer_stays_small(stack: Stack) -> None:
    beyond_a_float = '{"id":"x","board":"b","member":"m","metrics":{"points":1e400}}'
    texts = ['{"id":"x"}', beyond_a_float, '{"id":7}', "{}", "[]", '{"id":"\\ud800"}']
    found = results(stack, f"[{','.join(texts)}]")

    assert [result["id"] for result in found] == ["x", "x", None, None, None, None]
    assert "JSONDecodeError" not in found[1]["detail"]
    found = results(stack, [{"id": '"' * 50_000} for _ in range(100)])

    assert set(statuses(found)) == {"refused"}
    assert len(orjson.dumps(found)) < 500_000


def test_the_largest_event_is_taken_and_a_larger_one_refused(stack: Stack) -> None:
    most = MAX_BYTES - len("at_filled_in") - len("String") - len("true") - len('"at":"2026-11-21T10:15:00.000Z",')
    start = raw(1)[:-1]
    text = start + " " * (most - len(start) - 1) + "}"

    assert statuses(results(stack, text)) == ["queued"]
    assert statuses(results(stack, text[:-1] + " }")) == ["refused"]


NO_EVENTS: Final[dict[str, list[Any]]] = {
    "nothing": [None, "", " "],
    "no object or list": ["null", "5", '"text"'],
    "nothing in the list": ["[]", "[ ]"],
    "not closed": ["{", "[", "[{}", '["]', '["\\', "[" * 100_000, '["' + '\\"' * 200_000],
    "closed by another bracket": ["[1}", "[{]}", "[{}]]"],
    "a comma too much or too few": ["[{},]", "[,{}]", "[1 2]", '[{"a":1 "b":2}]'],
    "more than one list": ["[{}][{}]", "[{}],[{}]", "{},{}", "{}{}"],
    "no JSON": ["[NaN]", "[Infinity]", "[{'a':1}]", '["\x01"]', "[01]", "[5]\ufeff", "\ufeff[5]"],
    "no UTF-8": [b"[\xff]", b'{"id":"\xed\xa0\x80"}', '["\ud800"]'],
    "too many": [[{}] * 101],
}


@pytest.mark.parametrize("body", [body for bodies in NO_EVENTS.values() for body in bodies], ids=lambda b: repr(b)[:20])
def test_a_body_that_is_no_list_of_events_is_refused_whole(stack: Stack, body: Any) -> None:
    status, answer = stack.post("/events", body)

    assert (status, answer["type"]) == (400, "urn:standings:bad-body")
    assert len(answer["detail"]) < 300
    assert stack.activity.messages == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | st.sampled_from('[]{},:"\\'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


@given(st.lists(json_values, min_size=1, max_size=8), st.sampled_from([None, orjson.OPT_INDENT_2]))
def test_a_list_is_cut_into_its_values(values: list[Any], option: int | None) -> None:
    assert [value for _, value in parse_documents(orjson.dumps(values, option=option))] == values


@given(st.lists(st.sampled_from(["[", "]", "{", "}", ",", ":", '"', "\\", "1", " ", '"a"', "null"]), max_size=9))
def test_what_is_no_json_is_no_list_of_events(parts: list[str]) -> None:
    body = f"[{''.join(parts)}]".encode()
    try:
        expected = orjson.loads(body) or None
    except ValueError:
        expected = None
    try:
        found = [value for _, value in parse_documents(body)]
    except RequestError:
        found = None

    assert found == expected
