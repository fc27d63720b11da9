"""Events: what is accepted, and for everything else a refusal of its own that names the field and the value."""

import json
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import MAX_UNITS
from standings.domain.events.event import Event, RefusedEvent, Update
from standings.domain.events.event_rules import parse_event

BOARDS = parse_boards("""
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
metrics.distance = { aggregate = "sum", precision = 3 }
[boards."run-*"]
metrics.distance = { aggregate = "sum", precision = 1 }
""")
NOW = int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000)
BASE = {"id": "e1", "board": "b", "member": "m", "at": "2026-11-21T10:15:00Z", "metrics": {"points": 3}}


def parse(body: Any) -> Event:
    text = body if isinstance(body, str) else orjson.dumps(body).decode()
    return parse_event(text, BOARDS, NOW)


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in BASE.items() if name != key}


def test_an_event() -> None:
    event = parse(BASE)

    assert (event.id, event.at, event.updates) == ("e1", NOW, (Update("b", "m", {"points": 3}),))


def test_members_are_any_text() -> None:
    for member in ("images/1.jpg", "clan#7", "用户", "a\u0000b", "<script>", "x" * 256, "ü" * 128, " "):
        assert parse({**BASE, "member": member}).updates[0].member == member


def test_a_list_of_boards_counts_on_all_of_them() -> None:
    event = parse({**BASE, "board": ["b", "c"]})

    assert [(update.board, update.amounts) for update in event.updates] == [("b", {"points": 3}), ("c", {"points": 3})]


def test_updates_together_and_the_same_pair_adds_up() -> None:
    triples = [
        {"board": "b", "member": "m", "metrics": {"points": 3}},
        {"board": ["b", "c"], "member": "clan", "metrics": {"points": 1}},
        {"board": "b", "member": "m", "metrics": {"points": 4, "distance": 0.125}},
    ]
    event = parse({"id": "e1", "at": BASE["at"], "updates": triples})

    assert event.updates == (
        Update("b", "m", {"points": 7, "distance": 125}),
        Update("b", "clan", {"points": 1}),
        Update("c", "clan", {"points": 1}),
    )


@pytest.mark.parametrize(
    ("number", "units"),
    [
        ("11.2", 11200),
        ("-0.001", -1),
        ("1e2", 100_000),
        ("12e-3", 12),
        ("1.000000", 1000),
        ("0", 0),
        ("-0.0", 0),
        ("0.000000000000000000000000", 0),
        ("999999999999.999", 999_999_999_999_999),
        ("9000000000000", 9_000_000_000_000_000),
        ("0.100", 100),
        ("100000000000000000000e-20", 1000),
    ],
)
def test_amounts_are_exact(number: str, units: int) -> None:
    body = orjson.dumps({**BASE, "metrics": {"distance": 0.0625}}).decode().replace("0.0625", number)

    assert parse(body).updates[0].amounts == {"distance": units}


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-21T10:15:00Z", NOW),
        ("2026-11-21t10:15:00z", NOW),
        ("2026-11-21T11:15:00+01:00", NOW),
        ("2026-11-21T10:15:00.123456789Z", NOW + 123),
        ("2026-11-21T10:20:00Z", NOW + 300_000),
        ("2016-12-31T23:59:60Z", 1483228800000),
        ("0001-01-01T00:00:00+14:00", -62135596800000 - 14 * 3_600_000),
    ],
)
def test_instants(text: str, at: int) -> None:
    assert parse({**BASE, "at": text}).at == at


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


REFUSED: list[tuple[str, Any, str, str]] = [
    ("json", "not json", "body: cannot be read", ""),
    ("json", "", "body: cannot be read", ""),
    ("json", "[" * 5000 + "]" * 5000, "body: cannot be read", ""),
    ("json", '{"id": "\\ud800"}', "body: cannot be read", ""),
    ("json", orjson.dumps(BASE).decode().replace("3", "NaN"), "body: cannot be read", ""),
    (
        "amount",
        orjson.dumps(BASE).decode().replace(":3", ":1e999"),
        "metrics.points: beyond ±(2^53 - 1) units",
        "1E+999",
    ),
    ("json", orjson.dumps(BASE).decode().replace(":3", ":1e-9999999999999999999"), "body: cannot be read", "Inva"),
    ("json", orjson.dumps(BASE).decode().replace(":3", ":0e9999999999999999999"), "body: cannot be read", "Inva"),
    ("amount", orjson.dumps(BASE).decode().replace(":3", ":1e-400"), "metrics.points: at most 0 decimals", "1E-400"),
    ("json", "[" * 1000 + "]" * 1000, "body: ", ""),
    ("member", json.dumps({**BASE, "member": nested(900)}), "member: must be text, is a list of 1", ""),
    ("json", [1], "body: must be a JSON object", "a list of 1"),
    ("json", "null", "body: must be a JSON object", "null"),
    ("unknown", {**BASE, "colour": 1}, "colour: no such field", ""),
    ("unknown", {**BASE, "updates": []}, "board: no such field", ""),
    ("missing", without("id"), "id: is missing", ""),
    ("missing", without("at"), "at: is missing", ""),
    ("missing", without("board"), "board: is missing", ""),
    ("missing", without("member"), "member: is missing", ""),
    ("missing", without("metrics"), "metrics: is missing", ""),
    ("id", {**BASE, "id": 7}, "id: must be text", "7"),
    ("id", {**BASE, "id": ""}, "id: must have 1 to 128 characters", "has 0"),
    ("id", {**BASE, "id": "x" * 129}, "id: must have 1 to 128 characters", "has 129"),
    ("board", {**BASE, "board": "a/b"}, "board: must be 1 to 128 of", "'a/b'"),
    ("board", {**BASE, "board": ".."}, "board: must be 1 to 128 of", "'..'"),
    ("board", {**BASE, "board": "b\n"}, "board: must be 1 to 128 of", "'b\\n'"),
    ("board", {**BASE, "board": 7}, "board: must be 1 to 128 of", "7"),
    ("board", {**BASE, "board": []}, "board: must be one board or a list of 1 to 10", "0"),
    ("board", {**BASE, "board": [f"b{n}" for n in range(11)]}, "board: must be one board or a list of 1 to 10", "11"),
    ("board", {**BASE, "board": ["b", "b"]}, "board: a board stands there twice", "a list of 2"),
    ("board", {**BASE, "board": ["b", None]}, "board: must be 1 to 128 of", "null"),
    ("member", {**BASE, "member": ""}, "member: must have 1 to 256 bytes", "has 0"),
    ("member", {**BASE, "member": "ü" * 129}, "member: must have 1 to 256 bytes", "has 258"),
    ("member", {**BASE, "member": None}, "member: must be text", "null"),
    ("metrics", {**BASE, "metrics": {}}, "metrics: must be an object of 1 to 20 numbers", "an object of 0"),
    ("metrics", {**BASE, "metrics": [3]}, "metrics: must be an object of 1 to 20 numbers", "a list of 1"),
    ("metrics", {**BASE, "metrics": {f"m{n}": 1 for n in range(21)}}, "metrics: must be an object of 1 to 20", ""),
    ("metrics", {**BASE, "metrics": {"Points": 1}}, "metrics: board 'b' has no metric 'Points'", ""),
    ("metrics", {**BASE, "board": "run-1"}, "metrics: board 'run-1' has no metric 'points'", ""),
    ("amount", {**BASE, "metrics": {"points": "3"}}, "metrics.points: must be a number", "'3'"),
    ("amount", {**BASE, "metrics": {"points": True}}, "metrics.points: must be a number", "true"),
    ("amount", {**BASE, "metrics": {"points": None}}, "metrics.points: must be a number", "null"),
    ("amount", {**BASE, "metrics": {"points": 1.5}}, "metrics.points: at most 0 decimals are kept", "1.5"),
    ("amount", {**BASE, "metrics": {"distance": 0.0001}}, "metrics.distance: at most 3 decimals", "0.0001"),
    ("amount", {**BASE, "metrics": {"points": 1e16}}, "metrics.points: beyond", "1e+16"),
    ("amount", {**BASE, "metrics": {"points": -(10**16)}}, "metrics.points: beyond", "-10000000000000000"),
    ("amount", {**BASE, "metrics": {"distance": 9_100_000_000_000}}, "metrics.distance: beyond", "9100000000000"),
    ("amount", {**BASE, "metrics": {"points": 1234567890123456}}, "metrics.points: more than 15", "1234567890123456"),
    ("at", {**BASE, "at": NOW}, "at: must be text", str(NOW)),
    ("at", {**BASE, "at": "2026-11-21T10:15:00"}, "at: must be an RFC 3339 instant", "'2026-11-21T10:15:00'"),
    ("at", {**BASE, "at": "2026-11-21"}, "at: must be an RFC 3339 instant", "'2026-11-21'"),
    ("at", {**BASE, "at": "2026-02-30T10:15:00Z"}, "at: must be an RFC 3339 instant", "2026-02-30"),
    ("at", {**BASE, "at": "20261121T101500Z"}, "at: must be an RFC 3339 instant", "20261121"),
    ("at", {**BASE, "at": "2026-11-21T10:15:00+25:00"}, "at: must be an RFC 3339 instant", "+25:00"),
    ("at", {**BASE, "at": "2026-11-21T10:15:00+01:75"}, "at: must be an RFC 3339 instant", "+01:75"),
    ("at", {**BASE, "at": "2026-11-21T10:15:61Z"}, "at: must be an RFC 3339 instant", ":61"),
    ("ahead", {**BASE, "at": "2026-11-21T10:20:00.001Z"}, "at: more than 5 minutes ahead", "10:20:00.001"),
    ("updates", {"id": "e", "at": BASE["at"], "updates": []}, "updates: must be a list of 1 to 20", "a list of 0"),
    ("updates", {"id": "e", "at": BASE["at"], "updates": [1]}, "updates[0]: must be an object", "1"),
    (
        "unknown",
        {"id": "e", "at": BASE["at"], "updates": [{"board": "b", "member": "m", "metrics": {"points": 1}, "x": 1}]},
        "updates[0].x: no such field",
        "",
    ),
    (
        "member",
        {"id": "e", "at": BASE["at"], "updates": [{"board": "b", "member": 5, "metrics": {"points": 1}}]},
        "updates[0].member: must be text",
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
        "updates: 60 different pairs",
        "60",
    ),
    (
        "updates",
        {"id": "e", "at": BASE["at"], "updates": [{"board": "b", "member": "m", "metrics": {"points": 1}}] * 21},
        "updates: must be a list of 1 to 20",
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

    with pytest.raises(RefusedEvent, match="more than 15 significant digits"):
        parse(body)


def test_long_digits_in_names_change_nothing() -> None:
    plain = parse({**BASE, "member": "m", "metrics": {"distance": 11.2}})
    long = parse({**BASE, "id": "12345678901234567890", "member": "m", "metrics": {"distance": 11.2}})

    assert long.updates == plain.updates


def test_a_board_without_a_family() -> None:
    boards = parse_boards('[boards."run-*"]\nmetrics.points = { aggregate = "sum" }')

    with pytest.raises(RefusedEvent, match=r"board: no family in boards.toml matches 'b'"):
        parse_event(orjson.dumps(BASE).decode(), boards, NOW)


def test_the_digest_is_of_what_is_said_not_of_how() -> None:
    digest = parse(BASE).digest

    assert digest == parse(dict(reversed(BASE.items()))).digest
    assert digest == parse({**BASE, "at": "2026-11-21T11:15:00.000+01:00"}).digest
    assert digest == parse({**BASE, "metrics": {"points": 3.0}}).digest
    triple = {"board": "b", "member": "m", "metrics": {"points": 3}}
    assert digest == parse({"id": "e1", "at": BASE["at"], "updates": [triple]}).digest
    for other in ({"member": "n"}, {"board": "c"}, {"at": "2026-11-21T10:15:01Z"}, {"metrics": {"points": 4}}):
        assert digest != parse({**BASE, **other}).digest


def test_an_at_that_was_filled_in_is_not_what_the_event_says() -> None:
    def digest(at: str, *, filled_in: bool) -> bytes:
        event = parse_event(orjson.dumps({**BASE, "at": at}).decode(), BOARDS, NOW, at_filled_in=filled_in)
        assert datetime.fromtimestamp(event.at / 1000, UTC) == datetime.fromisoformat(at)
        return event.digest

    noon, later = "2026-11-20T12:00:00+00:00", "2026-11-20T12:00:01+00:00"
    assert digest(noon, filled_in=True) == digest(later, filled_in=True)
    assert digest(noon, filled_in=True) != digest(noon, filled_in=False)


def test_a_changed_precision_leaves_the_digest() -> None:
    def digest(precision: int) -> bytes:
        text = f'[boards."*"]\nmetrics.points = {{ aggregate = "sum", precision = {precision} }}'
        return parse_event(orjson.dumps(BASE).decode(), parse_boards(text), NOW).digest

    assert digest(0) == digest(1) == digest(6)


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
