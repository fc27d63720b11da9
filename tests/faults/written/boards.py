"""Schedules of rebuilds, deletions and board records. Each stack caches the board record at its first use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.domain.windows.calendar import DAY, SECOND
from tests.support.builders.checks import entries
from tests.support.builders.redefining import live
from tests.support.faults.faulty_client import Time

from .rig import NOW, rig

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.aws.stack import Stack

    from .rig import Rig


def projected_with_an_old_record() -> None:
    """A rebuild begins right after a projector has read the list of generations."""
    with rig() as pipeline:
        stack, other = pipeline.functions(), pipeline.functions()
        pipeline.send(stack, "a", 10)
        pipeline.project(other, *pipeline.records())
        pipeline.rebuild(stack, until="switched")
        pipeline.send(stack, "a", 2)
        pipeline.project(other, *pipeline.records())
        pipeline.rebuild(stack)
        assert pipeline.scores(stack) == {"a": 12}


def rebuilt_at_rest() -> None:
    """A rebuild of a board on which nothing happens."""
    with rig() as pipeline:
        stack = pipeline.functions()
        pipeline.send(stack, "a", 10)
        pipeline.project(stack, *pipeline.records())
        pipeline.rebuild(stack)
        assert pipeline.scores(pipeline.functions()) == {"a": 10}


def read_with_an_old_record() -> None:
    """A rebuild switches generations right after a reader has read which one to use."""
    with rig() as pipeline:
        stack, other = pipeline.functions(), pipeline.functions()
        pipeline.send(stack, "a", 10)
        pipeline.project(stack, *pipeline.records())
        pipeline.rebuild(stack, until="announced")
        pipeline.clock.milliseconds += 181 * SECOND
        assert pipeline.scores(other) == {"a": 10}
        pipeline.rebuild(stack, until="retired")
        pipeline.send(stack, "a", 2)
        pipeline.project(pipeline.functions(), *pipeline.records())
        assert pipeline.scores(other) == {"a": 12}


def written_with_an_old_record() -> None:
    """A rebuild retires the old generation right after a projector has read which generations to write."""
    with rig() as pipeline:
        stack, other = pipeline.functions(), pipeline.functions()
        pipeline.send(stack, "a", 10)
        pipeline.project(stack, *pipeline.records())
        pipeline.rebuild(stack, until="switched")
        pipeline.clock.milliseconds += 181 * SECOND
        pipeline.send(stack, "a", 2)
        pipeline.project(other, *pipeline.records())
        pipeline.rebuild(stack, until="retired")
        pipeline.send(stack, "a", 2)
        pipeline.project(other, *pipeline.records())
        pipeline.rebuild(stack)
        assert all(key.endswith("~1") for key in entries(pipeline.engine))
        assert pipeline.scores(stack) == {"a": 14}


def removed_with_an_old_record() -> None:
    """One projector writes a member in both generations. Another one, with an old record, projects its removal.

    The scan of the rebuild finds the removed item, which is part of no ranking. In the second case the member comes
    back the next day: its item is no longer part of the day before.
    """
    with rig() as pipeline:
        stack = _removed_with_an_old_record(pipeline)
        pipeline.rebuild(stack)
        assert pipeline.scores(stack) == {}
    with rig() as pipeline:
        stack = _removed_with_an_old_record(pipeline)
        pipeline.clock.milliseconds += DAY
        pipeline.send(stack, "a", 5)
        pipeline.project(stack, *pipeline.records())
        pipeline.rebuild(stack)
        assert pipeline.scores(stack, "day", "2026-11-21") == {}
        assert pipeline.scores(stack) == {"a": 5}


def _removed_with_an_old_record(pipeline: Rig) -> Stack:
    """A rebuild has begun, and functions that read the board's record before that have projected a removal."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.send(stack, "a", 10)
    pipeline.project(other, *pipeline.records())
    pipeline.rebuild(stack, until="announced")
    pipeline.send(stack, "a", 2)
    pipeline.project(pipeline.functions(), *pipeline.records())
    stack.delete("/boards/b/member", id="a")
    pipeline.project(other, *pipeline.records())
    return stack


def counted_during_a_deletion() -> None:
    """A board is deleted right after a writer has read its record. The writer adds a member after the deletion."""
    with rig() as pipeline:
        stack, other = pipeline.functions(), pipeline.functions()
        pipeline.send(other, "a", 10)
        pipeline.project(stack, *pipeline.records())
        pipeline.rebuild(stack, until="announced", task="delete")
        pipeline.send(other, "a", 2)
        pipeline.project(stack, *pipeline.records())
        pipeline.rebuild(stack, task="delete")
        assert stack.get("/boards")[1]["boards"] == [{"board": "b"}]
        assert pipeline.scores(stack) == {"a": 2}


def two_changes_of_one_record() -> None:
    """Two processes read a board record, and both change it."""
    with rig() as pipeline:
        pipeline.send(pipeline.functions(), "a", 1)
        records = DynamoBoards(pipeline.engine, "Scores", Time(NOW).clock())
        record = records.records(["b"])["b"]
        assert records.put(replace(record, version=record.version + 1, again=True), record.version)
        assert not records.put(replace(record, version=record.version + 1), record.version)
        assert not records.put(record, None)


def definitions(seed: int) -> Callable[[], None]:
    """Return a schedule that runs one history of definitions of `tests/support/builders/redefining.py`."""

    def schedule() -> None:
        with pytest.MonkeyPatch.context() as patches:
            live(seed, patches)

    return schedule


SCHEDULES: Final = (
    projected_with_an_old_record,
    rebuilt_at_rest,
    read_with_an_old_record,
    written_with_an_old_record,
    removed_with_an_old_record,
    counted_during_a_deletion,
    two_changes_of_one_record,
)
