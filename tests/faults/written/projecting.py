"""Schedules of the projector."""

from __future__ import annotations

from typing import Final

from standings.domain.windows.calendar import DAY

from .rig import NOW, SHARDED, rig


def late_on_newer() -> None:
    """10, then 12 and 10 in one batch, then the change to 12 alone."""
    with rig() as all_:
        stack = all_.functions()
        for points in (10, 2, -2):
            all_.send(stack, "a", points)
        first, second, third = all_.records()
        all_.project(stack, first)
        all_.project(stack, second, third)
        all_.project(stack, second)
        assert all_.scores(stack) == {"a": 10}


def in_and_out_in_a_batch() -> None:
    """A member comes and is hidden in one batch; then its coming comes alone."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 10)
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        first, second = all_.records()
        all_.project(stack, first, second)
        all_.project(stack, first)
        assert all_.scores(stack) == {}


def hidden_and_late() -> None:
    """A member comes, and is hidden; then its coming comes again."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 10)
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        first, second = all_.records()
        all_.project(stack, first)
        all_.project(stack, second)
        all_.project(stack, first)
        assert all_.scores(stack) == {}


def equal_after_a_gap() -> None:
    """10, 12, 10, of which the 12 is missing; then it comes."""
    with rig() as all_:
        stack = all_.functions()
        for points in (10, 2, -2):
            all_.send(stack, "a", points)
        first, second, third = all_.records()
        all_.project(stack, first)
        all_.project(stack, third)
        all_.project(stack, second)
        assert all_.scores(stack) == {"a": 10}


def nothing_done() -> None:
    """A batch of two members of whom none is done."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 1)
        all_.send(stack, "b", 2)
        all_.project(stack, *all_.records(), down=True)
        assert all_.scores(stack) == {"a": 1, "b": 2}


def nothing_done_of_two_days() -> None:
    """The same, where the first record alone is of yesterday."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 1, at=NOW - DAY)
        all_.send(stack, "b", 2)
        all_.send(stack, "a", 1)
        all_.project(stack, *all_.records(), down=True)
        assert all_.scores(stack, "day", "2026-11-20") == {"a": 1}


def deleted_by_hand() -> None:
    """Somebody deletes an item: its record carries the version that was."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 10)
        (first,) = all_.records()
        all_.project(stack, first)
        all_.engine.delete_item(TableName="Scores", Key=first["dynamodb"]["Keys"])
        all_.project(stack, *all_.records())
        assert all_.scores(stack) == {}


def shards_of_another_definition() -> None:
    """A reader that knows of one shard reads what a newer projector spreads over nine."""
    with rig() as all_:
        stack, newer = all_.functions(), all_.functions(SHARDED)
        for number in range(20):
            all_.send(newer, f"m{number}", number)
        all_.project(newer, *all_.records())
        assert len(all_.scores(stack)) == 20


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
