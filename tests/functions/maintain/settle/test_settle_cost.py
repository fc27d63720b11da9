"""What a settlement costs is what the model says, counted over the real requests."""

import gc
from collections import Counter
from typing import Any

import pytest

from benchmarks.models.cost import settlements
from standings.aws.dynamodb.rankings.audit_reads import DynamoAuditReads
from standings.maintain.settle import prize_events, settlement
from tests.support.aws.stack import Stack
from tests.support.builders.settling.leagues import FINAL, play, settle_whole


@pytest.mark.parametrize("members", [1_000, pytest.param(5_000, marks=pytest.mark.thorough)])
def test_a_settlement_costs_what_the_model_says(stack: Stack, members: int) -> None:
    play(stack, 1, members=members - 1)
    stack.clock.milliseconds = FINAL
    calls: Counter[str] = Counter()

    def counted(name: str) -> Any:
        method = getattr(stack.bucket, name)

        def call(**request: Any) -> Any:
            calls[name] += 1
            return method(**request)

        return call

    for name in ("put_object", "get_object", "list_objects_v2"):
        setattr(stack.bucket, name, counted(name))
    gc.collect()  # Stores of earlier tests that went while the settlement runs would be subtracted
    before = _units()
    settle_whole(stack)

    modelled = settlements.of_settlement(members, len(stack.bus.ids("Prize Won")))
    assert _units() - before == pytest.approx(modelled.read_units, rel=0.05)
    assert calls["put_object"] + calls["list_objects_v2"] == pytest.approx(modelled.bucket_writes, abs=2)
    assert calls["get_object"] == pytest.approx(modelled.bucket_reads, abs=2)
    assert len(stack.bus.events) == modelled.bus_events
    assert (settlement.PART, prize_events.REMEMBERED_TOGETHER) == (settlements.PART, settlements.REMEMBERED)


def _units() -> float:
    """The read units of every audit's store in this process."""
    return sum(one.units for one in gc.get_objects() if isinstance(one, DynamoAuditReads))
