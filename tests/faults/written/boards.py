"""Schedules of rebuilds, deletions and what is known of boards."""

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


def projected_by_who_knows_the_old() -> None:
    """A rebuild begins a moment after a projector has asked which generations there are."""
    with rig() as all_:
        stack, other = all_.functions(), all_.functions()
        all_.send(stack, "a", 10)
        all_.project(other, *all_.records())
        all_.rebuild(stack, until="switched")
        all_.send(stack, "a", 2)
        all_.project(other, *all_.records())
        all_.rebuild(stack)
        assert all_.scores(stack) == {"a": 12}


def read_by_who_knows_the_old() -> None:
    """A rebuild switches a moment after a reader has asked which generation is read."""
    with rig() as all_:
        stack, other = all_.functions(), all_.functions()
        all_.send(stack, "a", 10)
        all_.project(stack, *all_.records())
        all_.rebuild(stack, until="announced")
        all_.clock.milliseconds += 181 * SECOND
        assert all_.scores(other) == {"a": 10}
        all_.rebuild(stack, until="retired")
        all_.send(stack, "a", 2)
        all_.project(all_.functions(), *all_.records())
        assert all_.scores(other) == {"a": 12}


def written_by_who_knows_the_old() -> None:
    """A rebuild retires the old generation a moment after a projector has asked which are written."""
    with rig() as all_:
        stack, other = all_.functions(), all_.functions()
        all_.send(stack, "a", 10)
        all_.project(stack, *all_.records())
        all_.rebuild(stack, until="switched")
        all_.clock.milliseconds += 181 * SECOND
        all_.send(stack, "a", 2)
        all_.project(other, *all_.records())
        all_.rebuild(stack, until="retired")
        all_.send(stack, "a", 2)
        all_.project(other, *all_.records())
        all_.rebuild(stack)
        assert all(key.endswith("~1") for key in entries(all_.engine))
        assert all_.scores(stack) == {"a": 14}


def removed_by_who_knows_the_old() -> None:
    """A member moves in both generations. A projector that knows the old one alone then projects its removal.

    The scan of the rebuild finds the removed item, which is part of no ranking.
    """
    with rig() as all_:
        stack, other = _one_knows_the_old(all_)
        stack.delete("/boards/b/member", id="a")
        all_.project(other, *all_.records())
        all_.rebuild(stack)
        assert all_.scores(stack) == {}


def back_after_who_knows_the_old() -> None:
    """The same, and the member is back the next day: its item is no longer part of the day before."""
    with rig() as all_:
        stack, other = _one_knows_the_old(all_)
        stack.delete("/boards/b/member", id="a")
        all_.project(other, *all_.records())
        all_.clock.milliseconds += DAY
        all_.send(stack, "a", 5)
        all_.project(stack, *all_.records())
        all_.rebuild(stack)
        assert all_.scores(stack, "day", "2026-11-21") == {}
        assert all_.scores(stack) == {"a": 5}


def _one_knows_the_old(all_: Rig) -> tuple[Stack, Stack]:
    """Functions, and others that remember the board's record of before its rebuild."""
    stack, other = all_.functions(), all_.functions()
    all_.send(stack, "a", 10)
    all_.project(other, *all_.records())
    all_.rebuild(stack, until="announced")
    all_.send(stack, "a", 2)
    all_.project(all_.functions(), *all_.records())
    return stack, other


def counted_while_a_board_goes() -> None:
    """A board is deleted a moment after a writer has asked about it; when its members are gone, the writer has more."""
    with rig() as all_:
        stack, other = all_.functions(), all_.functions()
        all_.send(other, "a", 10)
        all_.project(stack, *all_.records())
        all_.rebuild(stack, until="announced", task="delete")
        all_.send(other, "a", 2)
        all_.project(stack, *all_.records())
        all_.rebuild(stack, task="delete")
        assert stack.get("/boards")[1]["boards"] == [{"board": "b"}]
        assert all_.scores(stack) == {"a": 2}


def two_at_one_record() -> None:
    """Two have read a board's record, and both change it."""
    with rig() as all_:
        all_.send(all_.functions(), "a", 1)
        records = DynamoBoards(all_.engine, "Scores", Time(NOW).pacing())
        record = records.records(["b"])["b"]
        assert records.put(replace(record, version=record.version + 1, again=True), record.version)
        assert not records.put(replace(record, version=record.version + 1), record.version)
        assert not records.put(record, None)


def definitions(seed: int) -> Callable[[], None]:
    """A history of definitions of `tests/support/builders/redefining.py`."""

    def schedule() -> None:
        with pytest.MonkeyPatch.context() as patches:
            live(seed, patches)

    return schedule


SCHEDULES: Final = (
    projected_by_who_knows_the_old,
    read_by_who_knows_the_old,
    written_by_who_knows_the_old,
    removed_by_who_knows_the_old,
    back_after_who_knows_the_old,
    counted_while_a_board_goes,
    two_at_one_record,
)
