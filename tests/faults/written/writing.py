"""Schedules of the writer."""

from __future__ import annotations

from typing import Any, Final

from standings.domain.windows.calendar import DAY, SECOND
from tests.support.aws.stack import ManualClock
from tests.support.faults.faulty_client import Faulty, passes

from .rig import BEST, LATE, NOW, rig


def other_content() -> None:
    """Two contents of one id: the second is refused, and somebody hears of it."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 5, id="same")
        all_.send(stack, "a", 6, id="same")
        assert len(stack.dead_letters.reasons()) == 1


def received_long_ago() -> None:
    """A message that is a month old: its receipt is gone, so it might count twice."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 5, id="same")
        all_.clock.milliseconds += 31 * DAY
        all_.engine.expire("Receipts", goes=lambda: True)
        all_.engine.delete_item(TableName="Receipts", Key={"pk": {"S": "same"}})
        all_.send(stack, "a", 5, id="same", at=NOW, received=NOW)
        all_.project(stack, *all_.records())
        assert all_.scores(stack) == {"a": 5}


def best_of_somebody_removed() -> None:
    """An event is no better than the best; before that is certain the member is removed and has none."""
    with rig() as all_:
        stack, other = all_.functions(BEST), all_.functions(BEST, all_.engine)
        all_.send(stack, "a", 10)

        def removed(client: Faulty, request: dict[str, Any]) -> Any:
            assert other.delete("/boards/b/member", id="a")[0] == 204
            return passes(client, request)

        all_.client.steps.append(removed)
        all_.send(stack, "a", 8)
        all_.project(stack, *all_.records())
        assert all_.scores(stack) == {"a": 8}


def read_by_a_slower_clock() -> None:
    """For one clock a day can no longer be read and its accumulator goes, for another it still can."""
    with rig() as all_:
        fast = ManualClock(NOW)
        ahead, stack = all_.functions(LATE, clock=fast), all_.functions(LATE)
        all_.send(stack, "a", 5)
        all_.project(stack, *all_.records())
        # The 21st can be read until the 22nd has taken its last event: the end of the 23rd.
        all_.clock.milliseconds = NOW - NOW % DAY + 3 * DAY - 30 * SECOND
        fast.milliseconds = all_.clock.milliseconds + 60 * SECOND
        all_.send(ahead, "a", 1)
        all_.project(ahead, *all_.records())
        assert all_.scores(stack, "day", "2026-11-21") == {"a": 5}


SCHEDULES: Final = (
    other_content,
    received_long_ago,
    best_of_somebody_removed,
    read_by_a_slower_clock,
)
