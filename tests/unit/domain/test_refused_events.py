"""Events that are refused: each rule has a message of its own that names the field and the value."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import MAX_UNITS
from standings.domain.events.event import RefusedEvent
from standings.domain.events.event_rules import parse_event
from tests.support.builders.example_events import BASE, NOW, parse


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in BASE.items() if name != key}


def nested(depth: int) -> list[Any]:
    lists: list[Any] = []
    for _ in range(depth):
        lists = [lists]
    return lists


REFUSED: list[tuple[str, Any, str, str]] = [
    ("json", "not json", "body: cannot be read", ""),
    ("json", "", "body: cannot be read", ""),
    ("json", "[" * 5000 + "]" * 5000, "body: cannot be read", ""),
    ("json", '{"id": "\\ud800"}', "body: cannot be read", ""),
    ("json", orjson.dumps(BASE).decode().replace("3", "NaN"), "body: cannot be read", ""),
    (
        "amount",
        orjson.dumps(BASE).decode().replace(":3", ":1e999"),
        "metrics.points: expected at most ±(2^53 - 1) units",
        "1E+999",
    ),
    ("json", orjson.dumps(BASE).decode().replace(":3", ":1e-9999999999999999999"), "body: cannot be read", "Inva"),
    ("json", orjson.dumps(BASE).decode().replace(":3", ":0e9999999999999999999"), "body: cannot be read", "Inva"),
    (
        "amount",
        orjson.dumps(BASE).decode().replace(":3", ":1e-400"),
        "metrics.points: expected at most 0 decimals",
        "1E-400",
    ),
    ("json", "[" * 1000 + "]" * 1000, "body: ", ""),
    ("member", json.dumps({**BASE, "member": nested(900)}), "member: expected text, got a list of 1", ""),
    ("json", [1], "body: expected a JSON object, got", "a list of 1"),
    ("json", "null", "body: expected a JSON object, got", "null"),
    ("unknown", {**BASE, "colour": 1}, "colour: no such field", ""),
    ("unknown", {**BASE, "updates": []}, "board: no such field", ""),
    ("missing", without("id"), "id: is missing", ""),
    ("missing", without("at"), "at: is missing", ""),
    ("missing", without("board"), "board: is missing", ""),
    ("missing", without("member"), "member: is missing", ""),
    ("missing", without("metrics"), "metrics: is missing", ""),
    ("id", {**BASE, "id": 7}, "id: expected text, got", "7"),
    ("id", {**BASE, "id": ""}, "id: expected 1 to 128 characters", "has 0"),
    ("id", {**BASE, "id": "x" * 129}, "id: expected 1 to 128 characters", "has 129"),
    ("board", {**BASE, "board": "a/b"}, "board: expected 1 to 128 of", "'a/b'"),
    ("board", {**BASE, "board": ".."}, "board: expected 1 to 128 of", "'..'"),
    ("board", {**BASE, "board": "b\n"}, "board: expected 1 to 128 of", "'b\\n'"),
    ("board", {**BASE, "board": 7}, "board: expected 1 to 128 of", "7"),
    ("board", {**BASE, "board": []}, "board: expected one board or a list of 1 to 10", "0"),
    ("board", {**BASE, "board": [f"b{n}" for n in range(11)]}, "board: expected one board or a list of 1 to 10", "11"),
    ("board", {**BASE, "board": ["b", "b"]}, "board: expected each board once", "a list of 2"),
    ("board", {**BASE, "board": ["b", None]}, "board: expected 1 to 128 of", "null"),
    ("member", {**BASE, "member": ""}, "member: expected 1 to 256 bytes", "has 0"),
    ("member", {**BASE, "member": "ü" * 129}, "member: expected 1 to 256 bytes", "has 258"),
    ("member", {**BASE, "member": None}, "member: expected text, got", "null"),
    ("metrics", {**BASE, "metrics": {}}, "metrics: expected an object of 1 to 20 numbers", "an object of 0"),
    ("metrics", {**BASE, "metrics": [3]}, "metrics: expected an object of 1 to 20 numbers", "a list of 1"),
    ("metrics", {**BASE, "metrics": {f"m{n}": 1 for n in range(21)}}, "metrics: expected an object of 1 to 20", ""),
    ("metrics", {**BASE, "metrics": {"Points": 1}}, "metrics: board 'b' has no metric 'Points'; there are: ", "points"),
    ("metrics", {**BASE, "board": "run-1"}, "metrics: board 'run-1' has no metric 'points'; there are: ", "distance"),
    ("amount", {**BASE, "metrics": {"points": "3"}}, "metrics.points: expected a number, got", "'3'"),
    ("amount", {**BASE, "metrics": {"points": True}}, "metrics.points: expected a number, got", "true"),
    ("amount", {**BASE, "metrics": {"points": None}}, "metrics.points: expected a number, got", "null"),
    ("amount", {**BASE, "metrics": {"points": 1.5}}, "metrics.points: expected at most 0 decimals, got", "1.5"),
    ("amount", {**BASE, "metrics": {"distance": 0.0001}}, "metrics.distance: expected at most 3 decimals", "0.0001"),
    ("amount", {**BASE, "metrics": {"points": 1e16}}, "metrics.points: expected at most ±", "1e+16"),
    ("amount", {**BASE, "metrics": {"points": -(10**16)}}, "metrics.points: expected at most ±", "-10000000000000000"),
    (
        "amount",
        {**BASE, "metrics": {"distance": 9_100_000_000_000}},
        "metrics.distance: expected at most ±",
        "9100000000000",
    ),
    (
        "amount",
        {**BASE, "metrics": {"points": 1234567890123456}},
        "metrics.points: expected at most 15",
        "1234567890123456",
    ),
    ("at", {**BASE, "at": NOW}, "at: expected text, got", str(NOW)),
    ("at", {**BASE, "at": "2026-11-21T10:15:00"}, "at: expected an RFC 3339 instant", "'2026-11-21T10:15:00'"),
    ("at", {**BASE, "at": "2026-11-21"}, "at: expected an RFC 3339 instant", "'2026-11-21'"),
    ("at", {**BASE, "at": "2026-02-30T10:15:00Z"}, "at: expected an RFC 3339 instant", "2026-02-30"),
    ("at", {**BASE, "at": "20261121T101500Z"}, "at: expected an RFC 3339 instant", "20261121"),
    ("at", {**BASE, "at": "2026-11-21T10:15:00+25:00"}, "at: expected an RFC 3339 instant", "+25:00"),
    ("at", {**BASE, "at": "2026-11-21T10:15:00+01:75"}, "at: expected an RFC 3339 instant", "+01:75"),
    ("at", {**BASE, "at": "2026-11-21T10:15:61Z"}, "at: expected an RFC 3339 instant", ":61"),
    (
        "ahead",
        {**BASE, "at": "2026-11-21T10:20:00.001Z"},
        "at: expected an instant at most 5 minutes ahead",
        "10:20:00.001",
    ),
    ("updates", {"id": "e", "at": BASE["at"], "updates": []}, "updates: expected a list of 1 to 20", "a list of 0"),
    ("updates", {"id": "e", "at": BASE["at"], "updates": [1]}, "updates[0]: expected an object, got", "1"),
    (
        "unknown",
        {"id": "e", "at": BASE["at"], "updates": [{"board": "b", "member": "m", "metrics": {"points": 1}, "x": 1}]},
        "updates[0].x: no such field",
        "",
    ),
    (
        "member",
        {"id": "e", "at": BASE["at"], "updates": [{"board": "b", "member": 5, "metrics": {"points": 1}}]},
        "updates[0].member: expected text, got",
        "5",
    ),
    (
        "updates",
        {
            "id": "e",
            "at": BASE["at"],
            "updates": [
                {"board": [f"b{n}" for n in range(10)], "member": f"m{k}", "metrics": {"points": 1}} for k in range(6)
            ],
        },
        "updates: expected at most 50 different pairs",
        "60",
    ),
    (
        "updates",
        {"id": "e", "at": BASE["at"], "updates": [{"board": "b", "member": "m", "metrics": {"points": 1}}] * 21},
        "updates: expected a list of 1 to 20",
        "",
    ),
]


@pytest.mark.parametrize(("rule", "body", "says", "value"), REFUSED, ids=range(len(REFUSED)))
def test_every_rule_has_its_own_refusal(rule: str, body: Any, says: str, value: str) -> None:
    with pytest.raises(RefusedEvent) as caught:
        parse(body)

    assert str(caught.value).startswith(says)
    assert value in str(caught.value)
    assert caught.value.rule == rule
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_digits_that_a_float_would_round_away_are_seen() -> None:
    body = orjson.dumps(BASE).decode().replace(":3}", ":0.1000000000000000055}").replace("points", "distance")

    with pytest.raises(RefusedEvent, match="expected at most 15 significant digits"):
        parse(body)


def test_a_board_without_a_family() -> None:
    boards = parse_boards('[boards."run-*"]\nmetrics.points = { aggregate = "sum" }')

    with pytest.raises(RefusedEvent, match=r"board: no family in boards.toml matches 'b'"):
        parse_event(orjson.dumps(BASE).decode(), boards, NOW)


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*BASE, "updates", "x"]), anything) | anything | st.binary())
def test_whatever_comes_is_an_event_or_refused(document: Any) -> None:
    if isinstance(document, bytes):
        body = document.decode("utf-8", "replace")
    else:
        body = orjson.dumps(document, default=str, option=orjson.OPT_NON_STR_KEYS).decode() if _fits(document) else "{"
    try:
        event = parse(body)
    except RefusedEvent:
        return
    assert all(abs(units) <= 20 * MAX_UNITS for update in event.updates for units in update.amounts.values())


def _fits(document: Any) -> bool:
    try:
        orjson.dumps(document)
    except TypeError:
        return False
    return True


@given(st.data())
def test_an_event_with_one_field_gone_wrong(data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(list(BASE)))
    value = data.draw(anything.filter(_fits))
    body = orjson.dumps({**BASE, field: value}).decode()
    try:
        event = parse(body)
    except RefusedEvent:
        return
    assert [units for update in event.updates for units in update.amounts.values()]
