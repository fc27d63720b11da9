"""Events that are accepted: what they add, and which bodies are the same event."""

from datetime import UTC, datetime

import orjson
import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.events.event import Update
from standings.domain.events.event_rules import parse_event
from tests.support.builders.example_events import BASE, BOARDS, NOW, parse


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


def test_long_digits_in_names_change_nothing() -> None:
    plain = parse({**BASE, "member": "m", "metrics": {"distance": 11.2}})
    long = parse({**BASE, "id": "12345678901234567890", "member": "m", "metrics": {"distance": 11.2}})

    assert long.updates == plain.updates


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
