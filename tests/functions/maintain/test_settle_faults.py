"""A settlement that dies or fails at any of its calls: the next call ends it with the same files and events."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from standings.aws.dynamodb.keys import SETTLE
from standings.maintain.turns.lease import LEASE_MARGIN
from standings.ports.errors import StoreUnavailableError
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack
from tests.support.awslambda.context import Killed
from tests.support.builders.settling.leagues import (
    FINAL,
    PREFIX,
    play,
    running_under,
    settle,
    small_steps,
    winners,
    won,
)
from tests.support.faults.mortal import Fate, Fault
from tests.support.thoroughness import seeds

READS: Final = frozenset(("query", "batch_get_item", "get_item", "transact_get_items"))
DYNAMODB: Final = READS | {"put_item", "update_item", "transact_write_items", "delete_item"}


@pytest.fixture
def fate(monkeypatch: pytest.MonkeyPatch) -> Fate:
    small_steps(monkeypatch)
    return Fate()


@pytest.fixture
def stack(engine: Any, clock: ManualClock, fate: Fate) -> Iterator[Stack]:
    with running_under(fate, engine, clock, DYNAMODB) as deployed:
        yield deployed


def attempt(stack: Stack, cursor: Any, *, again: bool) -> dict[str, Any] | None:
    """One call: None if it died or failed."""
    try:
        return settle(stack, cursor=cursor, again=again)
    except (Killed, StoreUnavailableError):
        return None


def settle_with(stack: Stack, fate: Fate, at: int | None, fault: Fault, *, again: bool = False) -> list[str]:
    """Settle with a fault at one call, and again until it is done. Returns the calls of the first try."""
    fate.begin(at, fault)
    answer = attempt(stack, None, again=again)
    calls = list(fate.calls)
    for _ in range(20):
        if answer is not None and answer["done"]:
            assert [ranking["why"] for ranking in answer["rankings"]] == [None]
            return calls
        fate.begin()
        stack.clock.milliseconds += 900_000 + LEASE_MARGIN
        answer = attempt(stack, answer["cursor"] if answer is not None else None, again=again)
    raise AssertionError(answer)


def forget(stack: Stack, fate: Fate) -> None:
    """Undo a settlement."""
    fate.begin()
    stack.bucket.results.clear()
    stack.bus.events.clear()
    stack.dynamodb.client.delete_item(TableName="Rankings", Key={"pk": {"S": SETTLE}})


def files(stack: Stack) -> dict[str, bytes]:
    """What was written, but for who was told when, and which attempt was the last."""
    passing = (f"{PREFIX}sent-", f"{PREFIX}attempt.json")
    return {key: body for key, body in stack.bucket.results.items() if not key.startswith(passing)}


@pytest.mark.parametrize("fault", ["before", "after", "fails"])
@pytest.mark.parametrize("seed", seeds(1, 6))
def test_faults_at_every_call_change_nothing(stack: Stack, fate: Fate, fault: Fault, seed: int) -> None:
    scores = play(stack, seed, members=21)
    stack.clock.milliseconds = FINAL
    calls = settle_with(stack, fate, None, fault)
    expected, events = files(stack), {event["id"]: event for event in stack.bus.events}
    assert won(stack) == winners(scores)
    assert len(events) == len(stack.bus.events)
    seen: set[str] = set()
    for number, name in enumerate(calls):
        # A read of a table changes nothing: one of each kind is enough.
        if name in READS and name in seen:
            continue
        seen.add(name)
        forget(stack, fate)
        settle_with(stack, fate, number, fault)
        what = f"{fault} at call {number}, {name}, seed {seed}"
        assert files(stack) == expected, what
        assert {event["id"]: event for event in stack.bus.events} == events, what


@pytest.mark.parametrize("fault", ["before", "after", "fails"])
def test_faults_while_a_settlement_is_replaced(stack: Stack, fate: Fate, fault: Fault) -> None:
    play(stack, 3, members=21)
    stack.clock.milliseconds = FINAL
    settle_with(stack, fate, None, fault)
    expected, events = files(stack), {event["id"]: event for event in stack.bus.events}
    calls = settle_with(stack, fate, None, fault, again=True)
    for number, name in enumerate(calls):
        if name in READS:
            continue
        settle_with(stack, fate, number, fault, again=True)
        assert files(stack) == expected, f"{fault} at call {number}, {name}"
    assert {event["id"]: event for event in stack.bus.events} == events
    assert len(stack.bus.events) == len(events)


def test_a_call_beside_another_does_nothing(stack: Stack, fate: Fate) -> None:
    play(stack, 4)
    stack.clock.milliseconds = FINAL
    beside: list[dict[str, Any]] = []
    put = stack.bucket.put_object

    def meanwhile(**request: Any) -> None:
        if not beside:
            beside.append({})
            beside[:] = [settle(stack)]
        put(**request)

    stack.bucket.put_object = meanwhile  # type: ignore[method-assign, assignment]
    fate.begin()
    assert settle(stack)["done"]

    assert beside == [{"done": False, "cursor": None, "running": True, "wait": 5.0, "rankings": []}]
