"""The bounds of an event's amounts: each as it is written, inclusive and exact."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.events.event import RefusedEvent
from standings.domain.events.event_rules import parse_event
from tests.support.builders.example_events import BASE, NOW

BOARDS = parse_boards("""
[boards."*"]
metrics.points = { aggregate = "sum", precision = 2, least = -0.5, most = 100 }
metrics.runs = { aggregate = "sum", least = 0 }
[boards."free"]
metrics.points = { aggregate = "sum", precision = 2 }
""")


def refused(**fields: object) -> str | None:
    """The reason why an event is refused; None if it is not."""
    try:
        parse_event(orjson.dumps({**BASE, **fields}).decode(), BOARDS, NOW)
    except RefusedEvent as refusal:
        return f"{refusal.rule}: {refusal}"
    return None


@given(st.integers(-300, 20_000))
def test_an_amount_within_the_bounds_is_taken_and_another_refused(hundredths: int) -> None:
    body = orjson.dumps({**BASE, "metrics": {"points": 0}}).decode().replace(":0}", f":{hundredths / 100:.2f}}}")
    if -50 <= hundredths <= 10_000:
        assert parse_event(body, BOARDS, NOW).updates[0].amounts["points"] == hundredths
    else:
        with pytest.raises(RefusedEvent, match=r"at least -0\.50 and at most 100\.00 on board 'b'"):
            parse_event(body, BOARDS, NOW)


def test_a_message_names_the_field_the_bound_and_the_amount() -> None:
    assert refused(metrics={"runs": -1}) == "limit: metrics.runs: expected at least 0 on board 'b', got -1"


def test_bounds_are_those_of_each_board() -> None:
    assert refused(board="free", metrics={"points": 101}) is None
    assert refused(board=["free", "b"], metrics={"points": 101}) is not None


def test_each_amount_is_compared_as_written_and_one_outside_refuses_the_whole_event() -> None:
    def event(*amounts: float) -> str:
        shares = [{"board": "b", "member": "m", "metrics": {"points": amount}} for amount in amounts]
        return orjson.dumps({"id": "e", "at": BASE["at"], "updates": shares}).decode()

    assert parse_event(event(60, 60), BOARDS, NOW).updates[0].amounts["points"] == 12_000
    with pytest.raises(RefusedEvent, match=r"updates\[1\].metrics.points"):
        parse_event(event(60, 100.01), BOARDS, NOW)
