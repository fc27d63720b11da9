"""Schedules of rolling windows in which a projector dies halfway."""

from __future__ import annotations

from typing import Any, Final
from unittest import mock

import pytest

from standings.domain.windows.calendar import DAY, HOUR, MINUTE
from standings.project import shift_members
from tests.support.faults.faulty_client import Faulty, lost_answer

from .rig import NEXT_SLAB, NOW, ROLLING, WINDOW, DiedError, day, rig


def hidden_after_half_an_attempt() -> None:
    """A projector dies after it wrote list items. The next batch hides the member too."""
    with rig() as pipeline:
        stack = pipeline.functions(ROLLING)
        pipeline.send(stack, "a", 10)
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        first, second = pipeline.records()
        pipeline.project_halfway(stack, first)
        pipeline.project(stack, first, second)
        assert pipeline.scores(stack, WINDOW) == {}


def parked_after_half_an_attempt() -> None:
    """A projector dies after it wrote list items. The record that hides the member is parked."""
    with rig() as pipeline:
        stack = pipeline.functions(ROLLING)
        pipeline.send(stack, "a", 10)
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        first, second = pipeline.records()
        pipeline.project_halfway(stack, first)
        pipeline.park(stack, second)
        pipeline.replay(stack)
        assert pipeline.scores(stack, WINDOW) == {}


def parked_and_projected() -> None:
    """A projector dies after it wrote list items. The record is parked, and so is the next, which removes the member.

    A day later the member has an event, which is projected.
    """
    with rig() as pipeline:
        stack = pipeline.functions(ROLLING)
        pipeline.send(stack, "a", 10)
        stack.delete("/boards/b/member", id="a")
        pipeline.clock.milliseconds += DAY
        pipeline.send(stack, "a", 5)
        first, _, third = pipeline.records()
        pipeline.project_halfway(stack, first)
        pipeline.project(stack, third)
        pipeline.park(stack, first)
        pipeline.replay(stack)
        assert pipeline.scores(stack, WINDOW, day(NOW)) == {}
        assert pipeline.scores(stack, WINDOW) == {"a": 5}


def rebuilt_after_half_an_attempt() -> None:
    """A projector dies after it wrote list items of two generations.

    Another projector, which knows only the old generation, goes on. Then the member is hidden, and the rebuild places
    it.
    """
    with rig() as pipeline:
        stack, other = pipeline.functions(ROLLING), pipeline.functions(ROLLING)
        pipeline.send(stack, "b", 1)
        pipeline.project(other, *pipeline.records())
        pipeline.rebuild(stack, until="announced")
        pipeline.send(stack, "a", 10)
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        first, second = pipeline.records()
        pipeline.project_halfway(pipeline.functions(ROLLING), first)
        pipeline.project(other, first, second)
        pipeline.rebuild(stack)
        assert pipeline.scores(stack, WINDOW) == {"b": 1}


def folded_halfway() -> None:
    """A projector dies after its fold brought nodes to the end of a log, and before the cut.

    Then the member is hidden, and the next fold takes both entries, whose changes cancel out.
    """

    class Dying(Faulty):
        def update_item(self, **request: Any) -> Any:
            if "REMOVE" in request["UpdateExpression"]:
                raise DiedError
            return self.client.update_item(**request)

    with rig() as pipeline:
        pipeline.stacks.enter_context(mock.patch.object(shift_members, "ROOM", 0))
        stack, other = pipeline.functions(ROLLING), pipeline.functions(ROLLING, Dying(pipeline.engine))
        pipeline.send(stack, "a", 10)
        with pytest.raises(DiedError):
            pipeline.project(other, *pipeline.records())
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        pipeline.project(stack, *pipeline.records())
        answer = stack.get(f"/boards/b/points/{WINDOW}/rank", score="5")[1]
        assert (answer["rank"], answer["total"]) == (1, 0), answer


def answer_of_the_row_lost() -> None:
    """A projector writes a row, but the answer of DynamoDB is lost."""
    with rig() as pipeline:
        stack = pipeline.functions(ROLLING)
        pipeline.send(stack, "a", 10)
        pipeline.client.steps.append(lost_answer)
        pipeline.project(stack, *pipeline.records())
        assert pipeline.scores(stack, WINDOW) == {"a": 10}


def half_an_attempt_the_day_before() -> None:
    """A member is shown again late in the evening. The projector dies after it wrote list items.

    The next attempt comes after midnight, when one period less can be read, and hides the member too.
    """
    with rig() as pipeline:
        stack = pipeline.functions(ROLLING)
        pipeline.clock.milliseconds = NEXT_SLAB + 12 * HOUR
        pipeline.send(stack, "a", 10)
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        pipeline.project(stack, *pipeline.records())
        pipeline.clock.milliseconds = NEXT_SLAB + 3 * DAY - 30 * MINUTE
        stack.put("/boards/b/member", {"hidden": False}, id="a")
        (shown,) = pipeline.records()
        pipeline.project_halfway(stack, shown)
        pipeline.clock.milliseconds = NEXT_SLAB + 3 * DAY + 2 * HOUR
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        pipeline.project(stack, shown, *pipeline.records())
        assert pipeline.scores(stack, WINDOW, day(NEXT_SLAB + 2 * DAY)) == {}


SCHEDULES: Final = (
    hidden_after_half_an_attempt,
    parked_after_half_an_attempt,
    parked_and_projected,
    rebuilt_after_half_an_attempt,
    folded_halfway,
    answer_of_the_row_lost,
    half_an_attempt_the_day_before,
)
