"""Schedules of rolling windows."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from standings.domain.windows.calendar import DAY, HOUR, SECOND
from standings.wiring import building_blocks
from tests.support.aws.manual_clock import ManualClock
from tests.support.faults.faulty_client import Faulty, cancelled

from .rig import NEXT_SLAB, NOW, ROLLING, WINDOW, day, rig

if TYPE_CHECKING:
    from collections.abc import Callable

    from .rig import Rig


@dataclass
class Held(Faulty):
    """Does something else before it puts the first item with an attribute: that of list items, or of another kind."""

    meanwhile: Callable[[], None] | None = None
    attribute: str = "v"

    def put_item(self, **request: Any) -> Any:
        meanwhile = self.meanwhile
        if meanwhile is not None and self.attribute in request["Item"]:
            self.meanwhile = None
            meanwhile()
        return self.client.put_item(**request)


def _held_up(pipeline: Rig, first: Any, second: Any) -> dict[str, int]:
    """Project a record, and beside it that record and the next one, before the first attempt writes its list items."""
    held = Held(pipeline.engine)
    stack, other = pipeline.functions(ROLLING, held), pipeline.functions(ROLLING)

    def meanwhile() -> None:
        pipeline.project(other, first)
        pipeline.project(other, second)

    held.meanwhile = meanwhile
    pipeline.project(stack, first)
    assert held.meanwhile is None
    return pipeline.scores(stack, WINDOW)


def older_list_items_late() -> None:
    """A projector is held up before it writes list items. Meanwhile another one projects a newer record."""
    with rig() as pipeline:
        stack = pipeline.functions(ROLLING)
        pipeline.send(stack, "a", 10)
        pipeline.send(stack, "a", 2)
        assert _held_up(pipeline, *pipeline.records()) == {"a": 12}


def list_items_of_a_hidden_member_late() -> None:
    """A projector is held up before it writes list items. Meanwhile another one projects that the member is hidden."""
    with rig() as pipeline:
        stack = pipeline.functions(ROLLING)
        pipeline.send(stack, "a", 10)
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        assert _held_up(pipeline, *pipeline.records()) == {}


def a_slab_ends_by_a_faster_clock() -> None:
    """By a projector's clock, the last period of a slab can no longer be read. By a slower reader's clock it can."""
    with rig() as pipeline:
        fast = ManualClock(NOW)
        ahead, stack = pipeline.functions(ROLLING, clock=fast), pipeline.functions(ROLLING)
        pipeline.clock.milliseconds = NEXT_SLAB - 10 * HOUR
        pipeline.send(stack, "a", 10)
        pipeline.project(stack, *pipeline.records())
        # The last period of a slab is readable until the first of the next one ends.
        pipeline.clock.milliseconds = NEXT_SLAB + DAY - 30 * SECOND
        fast.milliseconds = pipeline.clock.milliseconds + 60 * SECOND
        pipeline.send(ahead, "a", 1)
        pipeline.project(ahead, *pipeline.records())
        status, answer = stack.get(f"/boards/b/points/{WINDOW}/rank", member="a", period=day(NEXT_SLAB - DAY))
        assert (status, answer.get("score")) == (200, 10), answer


def a_step_across_slabs() -> None:
    """A score of the last day of a slab counts in the next one."""
    with rig() as pipeline:
        stack = pipeline.functions(ROLLING)
        pipeline.clock.milliseconds = NEXT_SLAB - 10 * HOUR
        pipeline.send(stack, "a", 10)
        pipeline.project(stack, *pipeline.records())
        pipeline.clock.milliseconds = NEXT_SLAB + 12 * HOUR
        assert pipeline.scores(stack, WINDOW) == {"a": 10}


def counted_in_another_log() -> None:
    """A projector meets other projectors at log 0, and goes on with log 1."""

    def conflict(_: Faulty, request: dict[str, Any]) -> Any:
        raise cancelled([*["None"] * (len(request["TransactItems"]) - 1), "TransactionConflict"])

    with rig() as pipeline:
        chance = SimpleNamespace(random=lambda: 0.9)
        pipeline.stacks.enter_context(mock.patch.object(building_blocks, "random", chance))
        stack = pipeline.functions(ROLLING)
        pipeline.send(stack, "a", 10)
        pipeline.client.steps.extend([conflict] * 2)
        pipeline.project(stack, *pipeline.records())
        answer = pipeline.functions(ROLLING).get(f"/boards/b/points/{WINDOW}/rank", score="5")[1]
        assert (answer["rank"], answer["total"]) == (2, 1), answer


def a_log_made_twice() -> None:
    """Two projectors find no log. One is held up before it makes it, while the other one makes it and counts."""
    with rig() as pipeline:
        held = Held(pipeline.engine, attribute="l")
        stack, other = pipeline.functions(ROLLING, held), pipeline.functions(ROLLING)
        pipeline.send(stack, "a", 10)
        pipeline.send(stack, "b", 20)
        first, second = pipeline.records()
        held.meanwhile = lambda: pipeline.project(other, second)
        pipeline.project(stack, first)
        assert held.meanwhile is None
        answer = other.get(f"/boards/b/points/{WINDOW}/rank", score="5")[1]
        assert (answer["rank"], answer["total"]) == (3, 2), answer


def rolling_shards_of_another_definition() -> None:
    """A reader with one shard in its definition reads what a projector has spread over nine."""
    with rig() as pipeline:
        stack, newer = pipeline.functions(ROLLING), pipeline.functions(ROLLING.replace("\n", "\nshards = 9\n", 1))
        for number in range(20):
            pipeline.send(newer, f"m{number}", number)
        pipeline.project(newer, *pipeline.records())
        assert len(pipeline.scores(stack, WINDOW)) == 20


def steps_there_and_back() -> None:
    """A score is 10, then 12 and 10 again in one batch. Then the record of 12 is delivered again."""
    with rig() as pipeline:
        stack = pipeline.functions(ROLLING)
        for points in (10, 2, -2):
            pipeline.send(stack, "a", points)
        first, second, third = pipeline.records()
        pipeline.project(stack, first)
        pipeline.project(stack, second, third)
        pipeline.project(stack, second)
        assert pipeline.scores(stack, WINDOW) == {"a": 10}


SCHEDULES: Final = (
    older_list_items_late,
    list_items_of_a_hidden_member_late,
    a_slab_ends_by_a_faster_clock,
    a_step_across_slabs,
    counted_in_another_log,
    a_log_made_twice,
    rolling_shards_of_another_definition,
    steps_there_and_back,
)
