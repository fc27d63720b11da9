"""Board records, rebuilds and deletions, which run while events arrive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest

from standings.aws.dynamodb.scores import BoardRecords
from standings.domain.windows import DAY, MINUTE, SECOND
from standings.maintain.rebuild import ANNOUNCED, LEAVING, RETIRED, SWITCHED
from tests.support.awslambda.context import Context
from tests.support.builders.checks import entries
from tests.support.builders.maintenance import before
from tests.support.builders.redefining import live
from tests.support.faults.faulty_client import Time

from .replacing import Change, Safeguard, returns
from .rig import NOW, on_a_rig, rig

if TYPE_CHECKING:
    from collections.abc import Callable

    from standings.domain.members import Image
    from tests.support.aws.stack import Stack

    from .rig import Rig

# ---- schedules that need them


@on_a_rig
def projected_with_an_old_record(pipeline: Rig) -> None:
    """A rebuild begins right after a projector has read the list of generations."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.count(stack, "a", 10, by=other)
    pipeline.rebuild(stack, until="switched")
    pipeline.count(stack, "a", 2, by=other)
    pipeline.rebuild(stack)
    assert pipeline.scores(stack) == {"a": 12}


@on_a_rig
def rebuilt_at_rest(pipeline: Rig) -> None:
    """A rebuild of a board on which nothing happens."""
    stack = pipeline.functions()
    pipeline.count(stack, "a", 10)
    pipeline.rebuild(stack)
    assert pipeline.scores(pipeline.functions()) == {"a": 10}


@on_a_rig
def read_with_an_old_record(pipeline: Rig) -> None:
    """A rebuild switches generations right after a reader has read which one to use."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.count(stack, "a", 10)
    pipeline.rebuild(stack, until="announced")
    pipeline.clock.milliseconds += 181 * SECOND
    assert pipeline.scores(other) == {"a": 10}
    pipeline.rebuild(stack, until="retired")
    pipeline.count(stack, "a", 2, by=pipeline.functions())
    assert pipeline.scores(other) == {"a": 12}


@on_a_rig
def written_with_an_old_record(pipeline: Rig) -> None:
    """A rebuild retires the old generation right after a projector has read which generations to write."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.count(stack, "a", 10)
    pipeline.rebuild(stack, until="switched")
    pipeline.clock.milliseconds += 181 * SECOND
    pipeline.count(stack, "a", 2, by=other)
    pipeline.rebuild(stack, until="retired")
    pipeline.count(stack, "a", 2, by=other)
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
        pipeline.count(stack, "a", 5)
        pipeline.rebuild(stack)
        assert pipeline.scores(stack, "day", "2026-11-21") == {}
        assert pipeline.scores(stack) == {"a": 5}


def _removed_with_an_old_record(pipeline: Rig) -> Stack:
    """A rebuild has begun, and functions that read the board's record before that have projected a removal."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.count(stack, "a", 10, by=other)
    pipeline.rebuild(stack, until="announced")
    pipeline.count(stack, "a", 2, by=pipeline.functions())
    stack.delete("/boards/b/member", id="a")
    pipeline.project(other, *pipeline.records())
    return stack


@on_a_rig
def counted_during_a_deletion(pipeline: Rig) -> None:
    """A board is being deleted, and its members are removed, when a writer that knows its record gets an event."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.count(other, "a", 10, by=stack)
    pipeline.rebuild(stack, until="announced", task="delete")
    pipeline.count(other, "a", 2, by=stack)
    pipeline.rebuild(stack, task="delete")
    assert pipeline.scores(stack) == {}


@on_a_rig
def counted_as_a_deletion_begins(pipeline: Rig) -> None:
    """A deletion begins after a writer has read the board's record, and before the writer counts an event."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.count(other, "a", 10, by=stack)
    deletion = {"delete": {"board": "b", "begin": True}}
    with before(pipeline.engine, lambda: stack.maintenance(deletion, Context()), "TransactWriteItems", "Receipts"):
        pipeline.send(other, "a", 2)
    pipeline.project(stack, *pipeline.records())
    pipeline.rebuild(stack, task="delete")
    assert pipeline.scores(stack) == {}


@on_a_rig
def two_changes_of_one_record(pipeline: Rig) -> None:
    """Two processes read a board record, and both change it."""
    pipeline.send(pipeline.functions(), "a", 1)
    records = BoardRecords(pipeline.engine, "Scores", Time(NOW).clock())
    record = records.records(["b"])["b"]
    assert records.put(replace(record, version=record.version + 1, stale=(7,)), record)
    assert not records.put(replace(record, version=record.version + 1), record)
    assert not records.put(record, None)


def definitions_13() -> None:
    """A history of definitions of `tests/support/builders/redefining.py`."""
    with pytest.MonkeyPatch.context() as patches:
        live(13, patches)


def definitions_126() -> None:
    """Another such history."""
    with pytest.MonkeyPatch.context() as patches:
        live(126, patches)


AUTUMN: Final = '{ name = "autumn", starts = "2026-11-01", ends = "2026-11-23" }'
ADVENT: Final = '{ name = "advent", starts = "2026-11-23", ends = "2026-12-20" }'
ADVENT_BEGINS: Final = NOW - 15 * MINUTE + DAY
"""In milliseconds: a day begins at 10:00 UTC where clocks are 14 hours ahead of it."""


def _boards(*seasons: str) -> str:
    return (
        f'[boards."*"]\ntimezone = "Etc/GMT-14"\nseasons = [{", ".join(seasons)}]\n'
        'metrics.points = { aggregate = "sum", windows = ["all", "season"] }\n'
    )


@on_a_rig
def a_season_that_old_functions_do_not_know(pipeline: Rig) -> None:
    """A season is added a minute before it begins. A writer that does not know it counts its first event.

    The writer has read the board's record before that. A projector dies on the way.
    """
    old, new = pipeline.functions(_boards(AUTUMN)), pipeline.functions(_boards(AUTUMN, ADVENT))
    pipeline.clock.milliseconds = ADVENT_BEGINS - 30 * SECOND
    pipeline.send(old, "a", 5)
    pipeline.send(new, "a", 1)
    pipeline.clock.milliseconds = ADVENT_BEGINS + 10 * SECOND
    pipeline.send(old, "b", 3, at=NOW + DAY)
    pipeline.send(new, "b", 4, at=NOW + DAY)
    records = pipeline.records()
    pipeline.project_halfway(old, *records)
    pipeline.project(new, *records)
    reader = pipeline.functions(_boards(AUTUMN, ADVENT))
    assert pipeline.scores(reader) == {"a": 6, "b": 7}
    assert pipeline.scores(reader, "season", "autumn") == {"a": 6}
    assert reader.get("/boards/b/points/season")[1].get("type") == "urn:standings:not-built"


# ---- how each is taken away


def _puts_unconditionally(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda client, table, item, *_: original(client, table, item, "attribute_not_exists(nothing)")


def _as_if_never_in_use(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda family, now: original(family, now)._replace(first=0)


BOARDS: Final = {
    "events of a board that is being deleted are refused": Safeguard(
        Change("write.writer:_Transaction._refuse_leaving", returns(None)), written=counted_during_a_deletion
    ),
    "cached board records expire after a minute": Safeguard(
        Change("runtime.clock:TtlCache._fresh", lambda _: lambda cache, key: cache._entries.get(key))
    ),
    "a board record is written only at the version that was read": Safeguard(
        Change("aws.dynamodb.tables:put_if", _puts_unconditionally), written=two_changes_of_one_record
    ),
    "a ranking is no longer complete once a definition without it is in use": Safeguard(
        Change("catalog:_within", lambda _: lambda _, __, record: record), written=definitions_13
    ),
    "a period is complete only if its first bucket is complete": Safeguard(
        Change("domain.boards:Coverage._first", returns(None)), written=definitions_13
    ),
    "a season counts as complete only if all definitions have had it since it began": Safeguard(
        Change("domain.boards:_season_coverage", _as_if_never_in_use), written=a_season_that_old_functions_do_not_know
    ),
    "readers use longer limits only after a rebuild": Safeguard(
        Change("domain.boards:Coverage._limited", lambda _: lambda _, timetable: timetable), written=definitions_126
    ),
}


def _skips_wait(phase: str) -> Change:
    return Change("maintain.rebuild:WAITING", lambda phases: phases - {phase})


def _first_generation_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, written: original(self, {board: numbers[:1] for board, numbers in written.items()})


def _places_no_member(original: Callable[..., Any]) -> Callable[..., Any]:
    def through_members(self: Any, record: Any, do: Any, after_all: Any) -> Any:
        return self._save(record, after_all) if do == self._place else original(self, record, do, after_all)

    return through_members


def _one_version_higher(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda image, rankings: original(_one_higher(image), rankings)


def _one_version_higher_in_windows(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda family, image, *more, **named: original(family, _one_higher(image), *more, **named)


def _one_higher(image: Image) -> Image:
    return replace(image, version=image.version + 1)


REBUILDING: Final = {
    "projectors write both generations": Safeguard(Change("project.projector:_Batch._parts", _first_generation_alone)),
    "a rebuild waits before it places members": Safeguard(_skips_wait(ANNOUNCED), written=projected_with_an_old_record),
    "a rebuild places every member": Safeguard(
        Change("maintain.rebuild:_Run._through_members", _places_no_member), written=rebuilt_at_rest
    ),
    "a rebuild reads the rows of members that were removed": Safeguard(
        Change("maintain.rebuild:_Run._entries_of_removed", returns({})), written=removed_with_an_old_record
    ),
    "a member is placed with the version of its item": Safeguard(
        Change("project.commits:placings", _one_version_higher),
        Change("domain.rolling:placing_shifts", _one_version_higher_in_windows),
    ),
    "a rebuild waits before it retires the old generation": Safeguard(
        _skips_wait(SWITCHED), written=read_with_an_old_record
    ),
    "a rebuild waits before it purges": Safeguard(_skips_wait(RETIRED), written=written_with_an_old_record),
    "a deletion waits before it removes members": Safeguard(_skips_wait(LEAVING), written=counted_as_a_deletion_begins),
}
