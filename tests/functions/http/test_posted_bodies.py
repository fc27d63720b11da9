"""POST /events: a bad event is refused alone, and a body that is no list of events is refused whole."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standings.aws.sqs.messages import MAX_BYTES
from standings.domain.errors import RequestError
from standings.ingest.post_events import parse_documents
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.stages.posting import BOARDS, EVENT, NOW, raw, results


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as deployed:
        yield deployed


REFUSED = [
    ("5", "body: expected a JSON object, got 5"),
    ("null", "body: expected a JSON object, got null"),
    ("[]", "body: expected a JSON object, got a list of 0"),
    ('"]},{["', "body: expected a JSON object"),
    ("{}", "id: is missing"),
    ('{"id":7}', "id: expected text, got 7"),
    (raw(9, '"metrics":{"points":"1"}'), "metrics.points: expected a number"),
    (raw(9, '"metrics":{"points":1e999}'), "metrics.points: expected at most ±(2^53 - 1) units"),
    (raw(9, f'"metrics":{{"points":{"9" * 5000}}}'), "metrics.points: expected at most 15 significant digits"),
    (raw(9, f'"metrics":{{"points":{"9" * 30}}}'), "significant digits"),
    (raw(9, '"metrics":{"points":1.0000000000000001}'), "significant digits"),
    (raw(9, '"metrics":{"points":0.1234}'), "at most 3 decimals"),
    (raw(9, '"metrics":{"points":1e-400}'), "at most 3 decimals"),
    (raw(9, member="\\ud800"), "body: cannot be read"),
    (raw(9, '"\\udfff":1'), "body: cannot be read"),
    (raw(9, f'"metrics":{"[" * 900}{"]" * 900}'), "metrics: expected an object"),
    (raw(9, f'"metrics":{"[" * 5000}{"]" * 5000}'), "body: cannot be read"),
    (raw(9, f'"at":{"[" * 100_000}{"]" * 100_000}'), "body: cannot be read"),
    (raw(9, member="m" * 257), "member: expected 1 to 256 bytes"),
    (raw(9, f'"metrics":{{"points":1}}{" " * MAX_BYTES}'), "body: expected at most"),
    (raw(9, '"at":"2026-11-21T10:21:00Z","metrics":{"points":1}'), "at: expected an instant at most 5 minutes ahead"),
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


def test_the_largest_event_is_taken_and_a_larger_one_refused(stack: Stack) -> None:
    most = MAX_BYTES - len("at_filled_in") - len("String") - len("true") - len('"at":"2026-11-21T10:15:00.000Z",')
    start = raw(1)[:-1]
    text = start + " " * (most - len(start) - 1) + "}"

    assert results(stack, text)[0]["status"] == "queued"
    assert results(stack, text[:-1] + " }")[0]["status"] == "refused"


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
