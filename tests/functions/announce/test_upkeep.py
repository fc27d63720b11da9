"""Replays and rebuilds ask for looks, since they change tops. A deletion forgets what was announced of the board."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.builders.failures.parking import park, unprojected, write
from tests.support.builders.stages.streaming import apply, event, project
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


def announce(stack: Stack) -> None:
    """Let the announcer look until nothing is left to look at."""
    while stack.looks.messages:
        stack.clock.milliseconds = max(stack.clock(), min(at for at, _ in stack.looks.messages))
        assert stack.announcer({"Records": stack.looks.take()}, Context()) == {"batchItemFailures": []}


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


def test_a_deletion_announces_the_empty_top_and_forgets_it(stack: Stack) -> None:
    before = {one["id"] for one in stack.bus.events}
    for number in range(200):
        answer = stack.maintenance({"delete": {"board": "b", "begin": number == 0}}, Context())
        project(stack)
        announce(stack)
        if answer["done"]:
            break
        stack.clock.milliseconds += round(answer["wait"] * 1000)
    assert leaders(stack, "all") == []
    assert tops(stack) == 0

    apply(stack, [event("eve", 5)])
    announce(stack)
    assert last_of(stack, "all")["seq"] == 1
    assert last_of(stack, "all")["id"] not in before
