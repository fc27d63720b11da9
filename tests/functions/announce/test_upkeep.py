"""Replays and rebuilds ask for looks, since they change tops. A deletion empties the tops that it announced."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from standings.aws.dynamodb.rankings.purge import DynamoPurging
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.builders.failures.parking import park, unprojected, write
from tests.support.builders.stages.streaming import announce, apply, event, project
from tests.template.exercise import job

NOW = 1_795_256_100_000  # 2026-11-21T10:15:00Z
BOARDS = """
[boards."b"]
announce.all = { top = 2 }
announce.day = { top = 2 }
metrics.points = { aggregate = "sum", windows = ["all", "day", "week"] }
"""


@pytest.fixture
def stack(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """A stack whose clocks are all the test's: nothing waits. The top of `b` is announced."""
    clock = ManualClock(NOW)

    def sleep(seconds: float) -> None:
        clock.milliseconds += round(seconds * 1000) + 1

    monkeypatch.setattr("time.monotonic", lambda: clock() / 1000)
    monkeypatch.setattr("time.sleep", sleep)
    with running(engine, clock, BOARDS) as deployed:
        apply(deployed, [event("ann", 3), event("ben", 2), event("cem", 1)])
        announce(deployed)
        deployed.clock.milliseconds += 2_000
        yield deployed


def last_of(stack: Stack, window: str) -> dict[str, Any]:
    return [one for one in stack.bus.events if one["window"] == window][-1]


def leaders(stack: Stack, window: str) -> list[str]:
    return [line["member"] for line in last_of(stack, window)["top"]]


def tops(stack: Stack) -> int:
    return sum(row["pk"]["S"].endswith("/top") for row in rows(stack.dynamodb, "Rankings"))


def test_a_replay_of_parked_records_asks_for_looks(stack: Stack) -> None:
    write(stack, "lost", "dan", 9)
    for record in unprojected(stack):
        park(stack, record)
    assert stack.looks.messages == []

    job(stack, "parked", replay={})
    announce(stack)

    assert leaders(stack, "all") == leaders(stack, "day") == ["dan", "ann"]


def test_a_replay_that_cannot_ask_for_looks_is_not_done(stack: Stack) -> None:
    write(stack, "lost", "dan", 9)
    for record in unprojected(stack):
        park(stack, record)
    stack.looks.refuses = True
    answer = stack.maintenance({"parked": {"replay": {}}}, Context())
    assert not answer["done"]
    assert "SQS" in answer["why"]

    stack.looks.refuses = False
    job(stack, "parked", replay={"cursor": answer["cursor"]})
    announce(stack)
    assert leaders(stack, "all") == ["dan", "ann"]


def test_a_rebuild_asks_for_a_look_at_every_announced_ranking(stack: Stack) -> None:
    write(stack, "lost", "dan", 9)
    unprojected(stack)
    assert stack.looks.messages == []

    job(stack, "rebuild")
    announce(stack)

    assert leaders(stack, "all") == leaders(stack, "day") == ["dan", "ann"]
    assert last_of(stack, "all")["seq"] == 2
    assert tops(stack) == 2, "the purge of the old generation left them"


def test_a_task_says_which_families_announce_and_whether_the_stack_can(
    engine: Any, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    show: dict[str, Any] = {"announcements": {"show": {}}}
    shown = stack.maintenance(show, Context())
    assert shown == {"done": True, "families": ["b"], "announces": True}
    monkeypatch.delitem(ENVIRONMENT, "LOOKS_QUEUE_URL")
    monkeypatch.delenv("LOOKS_QUEUE_URL")
    with running(engine, ManualClock(NOW), BOARDS) as another:
        assert another.maintenance(show, Context()) == {**shown, "announces": False}


def delete(stack: Stack, *, announcing: bool = True) -> None:
    """Delete the board, and let the projector and perhaps the announcer work meanwhile."""
    for number in range(200):
        answer = stack.maintenance({"delete": {"board": "b", "begin": number == 0}}, Context())
        project(stack)
        if announcing:
            announce(stack)
        if answer["done"]:
            return
        stack.clock.milliseconds += round(answer["wait"] * 1000)
    raise AssertionError("the deletion does not end")


def stored_members(stack: Stack) -> list[str]:
    """The members that are in announced tops."""
    tops = [row["d"]["S"] for row in rows(stack.dynamodb, "Rankings") if row["pk"]["S"].endswith("/top")]
    return [member for member in ("ann", "ben", "cem", "dan", "eve") if any(f'"{member}' in top for top in tops)]


def numbers(stack: Stack, window: str) -> list[int]:
    return [one["seq"] for one in stack.bus.events if one["window"] == window]


def test_a_deletion_announces_the_empty_top_and_the_numbers_go_on(stack: Stack) -> None:
    delete(stack)
    assert leaders(stack, "all") == leaders(stack, "day") == []
    assert stored_members(stack) == []

    stack.clock.milliseconds += 2_000
    apply(stack, [event("eve", 5)])
    announce(stack)
    assert leaders(stack, "all") == ["eve"]
    assert numbers(stack, "all") == list(range(1, len(numbers(stack, "all")) + 1))


def test_a_deleted_board_is_announced_empty_however_late(stack: Stack) -> None:
    """EventBridge takes nothing until the deletion is over, and one number was already written down."""
    apply(stack, [event("dan", 9)])
    stack.bus.fails = lambda _: "ThrottlingException"
    held_up = stack.looks.take()
    stack.announcer({"Records": held_up}, Context())
    delete(stack, announcing=False)
    stack.bus.fails = lambda _: None
    stack.announcer({"Records": held_up}, Context())
    announce(stack)
    assert leaders(stack, "all") == leaders(stack, "day") == []
    assert numbers(stack, "all") == [1, 2, 3]
    assert stored_members(stack) == []


def test_a_board_that_begins_anew_while_its_deletion_ends_is_announced(stack: Stack) -> None:
    """The first event comes between the last phases: what is announced of it must not be forgotten."""
    answer: dict[str, Any] = {}
    for number in range(200):
        answer = stack.maintenance({"delete": {"board": "b", "begin": number == 0}}, Context())
        project(stack)
        announce(stack)
        if answer["phase"] == "retired":
            break
        stack.clock.milliseconds += round(answer["wait"] * 1000)

    def come_back(*_: Any) -> None:
        apply(stack, [event("eve", 5)])
        announce(stack)

    stack.clock.milliseconds += round(answer["wait"] * 1000)
    with mock.patch.object(DynamoPurging, "_purge_logs", come_back):
        assert stack.maintenance({"delete": {"board": "b", "begin": False}}, Context())["done"]
    assert leaders(stack, "all") == ["eve"]
    stack.clock.milliseconds += 2_000
    stack.delete("/boards/b/member", id="eve")
    project(stack)
    announce(stack)
    assert leaders(stack, "all") == []
    assert numbers(stack, "all") == list(range(1, len(numbers(stack, "all")) + 1))


def test_a_deletion_forgets_tops_that_are_no_longer_announced(
    engine: Any, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(ENVIRONMENT, "LOOKS_QUEUE_URL")
    monkeypatch.delenv("LOOKS_QUEUE_URL")
    assert stored_members(stack) == ["ann", "ben"]
    with running(engine, stack.clock, BOARDS) as without:
        delete(without, announcing=False)
    assert tops(stack) == 0


def test_a_rebuild_forgets_tops_of_a_definition_before(engine: Any, stack: Stack) -> None:
    with running(engine, stack.clock, BOARDS.replace('"sum"', '"sum", ties = "first"')) as changed:
        job(changed, "rebuild")
        announce(changed)
        assert leaders(changed, "all") == ["ann", "ben"]
        assert tops(changed) == 2, "those of now"
        delete(changed)
        assert stored_members(changed) == []
