"""Replays and rebuilds ask for looks, since they change tops. A deletion empties the tops that it announced."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from standings.rankings.storing import Purging
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import ManualClock, Stack, announce, apply, event, project, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.builders.maintenance import call, calls, finish, park, unprojected, write

BOARDS = """
[boards."b"]
announce.all = { top = 2 }
announce.day = { top = 2 }
metrics.points = { aggregate = "sum", windows = ["all", "day", "week"] }
"""


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    """A stack that has announced the top of the board `b`."""
    with running(engine, clock, BOARDS) as deployed:
        apply(deployed, [event("ann", 3), event("ben", 2), event("cem", 1)])
        announce(deployed)
        clock.milliseconds += 2_000
        yield deployed


def leaders(stack: Stack, window: str) -> list[str]:
    last = [one for one in stack.bus.events if one["window"] == window][-1]
    return [line["member"] for line in last["top"]]


def tops(stack: Stack) -> int:
    return sum(row["pk"]["S"].endswith("/top") for row in rows(stack.dynamodb, "Rankings"))


def test_a_replay_of_parked_records_asks_for_looks_and_is_not_done_before(stack: Stack) -> None:
    write(stack, "lost", "dan", 9)
    park(stack, *unprojected(stack))
    assert stack.looks.messages == []
    stack.looks.refusal = lambda _: "InternalError"
    answer = call(stack, "parked", "replay", seconds=60)
    assert not answer["done"]
    assert "SQS" in answer["why"]

    stack.looks.refusal = lambda _: ""
    finish(stack, "parked", "replay", cursor=answer["cursor"])
    announce(stack)
    assert leaders(stack, "all") == leaders(stack, "day") == ["dan", "ann"]


def test_a_rebuild_asks_for_a_look_at_every_announced_ranking(stack: Stack) -> None:
    write(stack, "lost", "dan", 9)
    unprojected(stack)
    assert stack.looks.messages == []

    finish(stack, "rebuild", board="b")
    announce(stack)

    assert leaders(stack, "all") == leaders(stack, "day") == ["dan", "ann"]
    assert numbers(stack, "all") == [1, 2]
    assert tops(stack) == 2, "the purge of the old generation left them"


def test_a_stack_that_cannot_announce_says_so_and_forgets_tops_with_a_board(
    engine: Any, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = call(stack, "announcements", "show")
    assert shown == {"done": True, "families": ["b"], "announces": True}
    monkeypatch.delitem(ENVIRONMENT, "LOOKS_QUEUE_URL")
    monkeypatch.delenv("LOOKS_QUEUE_URL")
    # A deletion forgets tops also where they are no longer announced.
    assert stored_members(stack) == ["ann", "ben"]
    with running(engine, stack.clock, BOARDS) as without:
        assert call(without, "announcements", "show") == {**shown, "announces": False}
        delete(without, announcing=False)
    assert tops(stack) == 0


def delete(stack: Stack, *, announcing: bool = True, until: str = "") -> None:
    """Delete the board, up to a phase or whole. Let the projector and perhaps the announcer work meanwhile."""
    for progress in calls(stack, "delete", board="b"):
        project(stack)
        if announcing:
            announce(stack)
        if progress["phase"] == until:
            stack.clock.milliseconds += round(progress["wait"] * 1000)
            return


def stored_members(stack: Stack) -> list[str]:
    """The members that are in announced tops."""
    tops = [row["d"]["S"] for row in rows(stack.dynamodb, "Rankings") if row["pk"]["S"].endswith("/top")]
    return [member for member in ("ann", "ben", "cem", "dan", "eve") if any(f'"{member}' in top for top in tops)]


def numbers(stack: Stack, window: str) -> list[int]:
    return [one["seq"] for one in stack.bus.events if one["window"] == window]


def test_a_deleted_board_is_announced_empty_however_late(stack: Stack) -> None:
    """EventBridge takes nothing until the deletion is over, and one number was already written down."""
    apply(stack, [event("dan", 9)])
    stack.bus.fails = lambda _: "ThrottlingException"
    held_up = stack.looks.records()
    stack.announcer({"Records": held_up}, Context())
    delete(stack, announcing=False)
    stack.bus.fails = lambda _: None
    stack.announcer({"Records": held_up}, Context())
    announce(stack)
    assert leaders(stack, "all") == leaders(stack, "day") == []
    assert numbers(stack, "all") == [1, 2, 3]
    assert stored_members(stack) == []


def test_a_board_that_begins_again_while_its_deletion_ends_is_announced(stack: Stack) -> None:
    """The first event comes between the last phases: what is announced of it must not be forgotten."""
    delete(stack, until="retired")

    def come_back(*_: Any) -> None:
        apply(stack, [event("eve", 5)])
        announce(stack)

    with mock.patch.object(Purging, "_purge_logs", come_back):
        assert call(stack, "delete", board="b", begin=False)["done"]
    assert leaders(stack, "all") == ["eve"]
    stack.clock.milliseconds += 2_000
    stack.delete("/boards/b/member", id="eve")
    project(stack)
    announce(stack)
    assert leaders(stack, "all") == []
    assert numbers(stack, "all") == list(range(1, len(numbers(stack, "all")) + 1))


def test_a_rebuild_forgets_tops_of_a_definition_before(engine: Any, stack: Stack) -> None:
    with running(engine, stack.clock, BOARDS.replace('"sum"', '"sum", ties = "first"')) as changed:
        finish(changed, "rebuild", board="b")
        announce(changed)
        assert leaders(changed, "all") == ["ann", "ben"]
        assert tops(changed) == 2, "those of now"
        delete(changed)
        assert stored_members(changed) == []
