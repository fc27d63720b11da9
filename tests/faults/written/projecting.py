"""Schedules of the projector."""

from __future__ import annotations

from typing import Final

from standings.domain.windows.calendar import DAY

from .rig import NOW, SHARDED, rig


def late_on_newer() -> None:
    """A score is 10, then 12 and 10 again in one batch. Then the record of 12 is delivered again."""
    with rig() as pipeline:
        stack = pipeline.functions()
        for points in (10, 2, -2):
            pipeline.send(stack, "a", points)
        first, second, third = pipeline.records()
        pipeline.project(stack, first)
        pipeline.project(stack, second, third)
        pipeline.project(stack, second)
        assert pipeline.scores(stack) == {"a": 10}


def in_and_out_in_a_batch() -> None:
    """A member enters and is hidden in one batch. Then the record of its entry is delivered again."""
    with rig() as pipeline:
        stack = pipeline.functions()
        pipeline.send(stack, "a", 10)
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        first, second = pipeline.records()
        pipeline.project(stack, first, second)
        pipeline.project(stack, first)
        assert pipeline.scores(stack) == {}


def hidden_and_late() -> None:
    """A member enters and is hidden in two batches. Then the record of its entry is delivered again."""
    with rig() as pipeline:
        stack = pipeline.functions()
        pipeline.send(stack, "a", 10)
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        first, second = pipeline.records()
        pipeline.project(stack, first)
        pipeline.project(stack, second)
        pipeline.project(stack, first)
        assert pipeline.scores(stack) == {}


def equal_after_a_gap() -> None:
    """A score is 10, 12, and 10 again. The record of 12 is delivered last."""
    with rig() as pipeline:
        stack = pipeline.functions()
        for points in (10, 2, -2):
            pipeline.send(stack, "a", points)
        first, second, third = pipeline.records()
        pipeline.project(stack, first)
        pipeline.project(stack, third)
        pipeline.project(stack, second)
        assert pipeline.scores(stack) == {"a": 10}


def nothing_done() -> None:
    """The store is down for a batch with two members."""
    with rig() as pipeline:
        stack = pipeline.functions()
        pipeline.send(stack, "a", 1)
        pipeline.send(stack, "b", 2)
        pipeline.project(stack, *pipeline.records(), down=True)
        assert pipeline.scores(stack) == {"a": 1, "b": 2}


def nothing_done_of_two_days() -> None:
    """The store is down for a batch in which only the first record is from yesterday."""
    with rig() as pipeline:
        stack = pipeline.functions()
        pipeline.send(stack, "a", 1, at=NOW - DAY)
        pipeline.send(stack, "b", 2)
        pipeline.send(stack, "a", 1)
        pipeline.project(stack, *pipeline.records(), down=True)
        assert pipeline.scores(stack, "day", "2026-11-20") == {"a": 1}


def deleted_by_hand() -> None:
    """Somebody deletes an item in the table. Its stream record has the old version."""
    with rig() as pipeline:
        stack = pipeline.functions()
        pipeline.send(stack, "a", 10)
        (first,) = pipeline.records()
        pipeline.project(stack, first)
        pipeline.engine.delete_item(TableName="Scores", Key=first["dynamodb"]["Keys"])
        pipeline.project(stack, *pipeline.records())
        assert pipeline.scores(stack) == {}


def shards_of_another_definition() -> None:
    """A reader with one shard in its definition reads what a projector has spread over nine."""
    with rig() as pipeline:
        stack, newer = pipeline.functions(), pipeline.functions(SHARDED)
        for number in range(20):
            pipeline.send(newer, f"m{number}", number)
        pipeline.project(newer, *pipeline.records())
        assert len(pipeline.scores(stack)) == 20


SCHEDULES: Final = (
    late_on_newer,
    in_and_out_in_a_batch,
    hidden_and_late,
    equal_after_a_gap,
    nothing_done,
    nothing_done_of_two_days,
    deleted_by_hand,
    shards_of_another_definition,
)
