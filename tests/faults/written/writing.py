"""Schedules of the writer."""

from __future__ import annotations

from typing import Any, Final

from standings.domain.windows.calendar import DAY, SECOND
from tests.support.aws.manual_clock import ManualClock
from tests.support.faults.faulty_client import Faulty, passes

from .rig import BEST, LATE, NOW, rig


def other_content() -> None:
    """Two events with one id have different amounts. The second goes to the dead-letter queue."""
    with rig() as pipeline:
        stack = pipeline.functions()
        pipeline.send(stack, "a", 5, id="same")
        pipeline.send(stack, "a", 6, id="same")
        assert len(stack.dead_letters.reasons()) == 1


def received_long_ago() -> None:
    """A message is redelivered after a month, when its receipt has expired."""
    with rig() as pipeline:
        stack = pipeline.functions()
        pipeline.send(stack, "a", 5, id="same")
        pipeline.clock.milliseconds += 31 * DAY
        pipeline.engine.expire("Receipts", goes=lambda: True)
        pipeline.engine.delete_item(TableName="Receipts", Key={"pk": {"S": "same"}})
        pipeline.send(stack, "a", 5, id="same", at=NOW, received=NOW)
        pipeline.project(stack, *pipeline.records())
        assert pipeline.scores(stack) == {"a": 5}


def best_of_a_removed_member() -> None:
    """An event is below the best score, but the member is removed before the writer commits."""
    with rig() as pipeline:
        stack, other = pipeline.functions(BEST), pipeline.functions(BEST, pipeline.engine)
        pipeline.send(stack, "a", 10)

        def removed(client: Faulty, request: dict[str, Any]) -> Any:
            assert other.delete("/boards/b/member", id="a")[0] == 204
            return passes(client, request)

        pipeline.client.steps.append(removed)
        pipeline.send(stack, "a", 8)
        pipeline.project(stack, *pipeline.records())
        assert pipeline.scores(stack) == {"a": 8}


def read_by_a_slower_clock() -> None:
    """A writer's clock says that a day is no longer readable. By a slower reader's clock it still is."""
    with rig() as pipeline:
        fast = ManualClock(NOW)
        ahead, stack = pipeline.functions(LATE, clock=fast), pipeline.functions(LATE)
        pipeline.send(stack, "a", 5)
        pipeline.project(stack, *pipeline.records())
        # The 21st is readable until the 22nd accepts no more events, which is the end of the 23rd.
        pipeline.clock.milliseconds = NOW - NOW % DAY + 3 * DAY - 30 * SECOND
        fast.milliseconds = pipeline.clock.milliseconds + 60 * SECOND
        pipeline.send(ahead, "a", 1)
        pipeline.project(ahead, *pipeline.records())
        assert pipeline.scores(stack, "day", "2026-11-21") == {"a": 5}


SCHEDULES: Final = (
    other_content,
    received_long_ago,
    best_of_a_removed_member,
    read_by_a_slower_clock,
)
