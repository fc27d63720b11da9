"""Board records, rebuilds and deletions, which run while events arrive."""

from dataclasses import replace
from typing import Any, Final

import pytest

from standings.domain.members import Image
from standings.domain.windows import DAY, MINUTE, SECOND
from standings.maintain.rebuild import ANNOUNCED, LEAVING, RETIRED, SWITCHED
from tests.support.aws.stack import Stack
from tests.support.awslambda.context import Context
from tests.support.builders.checks import entries
from tests.support.builders.redefining import live

from .replacing import Change, Safeguard, always
from .rig import NOW, Rig, on_a_rig

# ---- rebuilds and deletions


def _skips_wait(phase: str) -> Change:
    return Change("maintain.rebuild:PHASES", lambda phases: {**phases, phase: phases[phase]._replace(wait=0)})


def _first_generation_alone(original: Any, self: Any, written: Any, changes: Any) -> Any:
    first = {board: replace(each, written=each.written[:1]) for board, each in written.items()}
    return original(self, first, changes)


Safeguard("projectors write both generations", Change("project.projector:_Batch._parts", _first_generation_alone))


@Safeguard("a rebuild waits before it places members", _skips_wait(ANNOUNCED))
def projected_with_an_old_record(pipeline: Rig) -> None:
    """A rebuild begins right after a projector has read the list of generations."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.count(stack, "a", 10, by=other)
    pipeline.rebuild(stack, until="switched")
    pipeline.count(stack, "a", 2, by=other)
    pipeline.rebuild(stack)
    assert pipeline.scores(stack) == {"a": 12}


def _places_no_member(original: Any, self: Any, do: Any) -> Any:
    return do == self.place or original(self, do)


Safeguard("a rebuild places every member", Change("maintain.rebuild:_Run.through_members", _places_no_member))


@Safeguard(
    "a rebuild reads the rows of members that were removed",
    Change("maintain.rebuild:_Run._entries_of_removed", always({})),
)
def removed_with_an_old_record(pipeline: Rig) -> None:
    """One projector writes a member in both generations. Another one, with an old record, projects its removal.

    The scan of the rebuild finds the removed item, which is part of no ranking. In the second case the member comes
    back the next day: its item is no longer part of the day before.
    """
    stack = _removed_with_an_old_record(pipeline)
    pipeline.rebuild(stack)
    assert pipeline.scores(stack) == {}
    on_a_rig(_back_the_next_day)


def _back_the_next_day(pipeline: Rig) -> None:
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


@Safeguard(
    "a record from before a rebuild moves its member to where it is now",
    Change("domain.coverage:BoardRecord.projected_since", always(0)),
)
def removed_before_a_rebuild(pipeline: Rig) -> None:
    """A member is removed, another's item deleted, and the board rebuilt: no new row holds back what comes again."""
    stack = pipeline.functions()
    for member, points in {"a": 10, "c": 5, "b": 1}.items():
        pipeline.send(stack, member, points)
    records = pipeline.records()
    stack.delete("/boards/b/member", id="a")
    pipeline.engine.delete_item(TableName="Scores", Key=records[1]["dynamodb"]["Keys"])
    pipeline.project(stack, *records, *pipeline.records())
    pipeline.rebuild(stack)
    for record in records[:2]:
        pipeline.project(stack, record)
    assert pipeline.scores(stack) == pipeline.scores(stack, "day") == {"b": 1}


def _one_version_higher(original: Any, *arguments: Any, **named: Any) -> Any:
    given = [replace(each, version=each.version + 1) if isinstance(each, Image) else each for each in arguments]
    return original(*given, **named)


Safeguard(
    "a member is placed with the version of its item",
    Change("rankings.storing:placements_now", _one_version_higher),
)


@Safeguard("a rebuild waits before it retires the old generation", _skips_wait(SWITCHED))
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


@Safeguard("a rebuild waits before it purges", _skips_wait(RETIRED))
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


@Safeguard("a deletion waits before it removes members", _skips_wait(LEAVING))
def counted_as_a_deletion_begins(pipeline: Rig) -> None:
    """A deletion begins after a writer has read the board's record, and before the writer counts an event."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.count(other, "a", 10, by=stack)
    deletion = {"delete": {"board": "b", "begin": True}}
    pipeline.once(lambda: stack.maintenance(deletion, Context()), "TransactWriteItems", "Receipts")
    pipeline.send(other, "a", 2)
    pipeline.project(stack, *pipeline.records())
    pipeline.rebuild(stack, task="delete")
    assert pipeline.scores(stack) == {}


# ---- records of boards


@Safeguard(
    "events of a board that is being deleted are refused",
    Change("write.writer:_Transaction._refuse_leaving", always(None)),
)
def counted_during_a_deletion(pipeline: Rig) -> None:
    """A board is being deleted, and its members are removed, when a writer that knows its record gets an event."""
    stack, other = pipeline.functions(), pipeline.functions()
    pipeline.count(other, "a", 10, by=stack)
    pipeline.rebuild(stack, until="announced", task="delete")
    pipeline.count(other, "a", 2, by=stack)
    pipeline.rebuild(stack, task="delete")
    assert pipeline.scores(stack) == {}


Safeguard(
    "cached board records expire after a minute",
    Change(
        "runtime.clock:TtlCache.get", lambda _, cache, key, otherwise=None: cache._entries.get(key, (0, otherwise))[1]
    ),
)


def _puts_unconditionally(original: Any, client: Any, table: str, item: Any, *_: Any) -> Any:
    return original(client, table, item, "attribute_not_exists(nothing)")


Safeguard(
    "a board record is written only at the version that was read",
    Change("aws.dynamodb.tables:put_if", _puts_unconditionally),
)


@Safeguard(
    "a period is complete only if its first bucket is complete", Change("domain.coverage:Coverage._first", always(None))
)
@Safeguard(
    "a ranking is no longer complete once a definition without it is in use",
    Change("domain.coverage:Coverage.intersect", lambda _, coverage, __: coverage),
)
def definitions_13(_: Rig) -> None:
    """A history of definitions of `tests/support/builders/redefining.py`."""
    with pytest.MonkeyPatch.context() as patches:
        live(13, patches)


@Safeguard(
    "readers use longer limits only after a rebuild",
    Change("domain.coverage:Coverage._limited", lambda _, __, timetable: timetable),
)
def definitions_443(_: Rig) -> None:
    """Another such history."""
    with pytest.MonkeyPatch.context() as patches:
        live(443, patches)


AUTUMN: Final = '{ name = "autumn", starts = "2026-11-01", ends = "2026-11-23" }'
ADVENT: Final = '{ name = "advent", starts = "2026-11-23", ends = "2026-12-20" }'
ADVENT_BEGINS: Final = NOW - 15 * MINUTE + DAY
"""In milliseconds: a day begins at 10:00 UTC where clocks are 14 hours ahead of it."""


def _boards(*seasons: str) -> str:
    return (
        f'[boards."*"]\ntimezone = "Etc/GMT-14"\nseasons = [{", ".join(seasons)}]\n'
        'metrics.points = { aggregate = "sum", windows = ["all", "season"] }\n'
    )


@Safeguard(
    "a season counts as complete only if all definitions have had it since it began",
    Change("domain.coverage:_season_coverage", lambda original, family, now: original(family, now)._replace(first=0)),
)
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
