"""Where too many members share the last score to compare them all, the index is trusted after a quarter of an hour."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from standings.announce.announcer import ENOUGH, PATIENCE
from standings.announce.read_top import MAX_EQUALS
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import announce, apply, event

BOARDS = """
[boards."*"]
announce.all = { top = 3 }
metrics.points = { aggregate = "sum", windows = ["all"] }
"""
CROWD = [event(f"m{number:03}", 1) for number in range(MAX_EQUALS + 5)]


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock, BOARDS) as deployed:
        yield deployed


def test_a_crowd_of_equals_is_announced_and_looked_at_some_times_more(stack: Stack) -> None:
    apply(stack, CROWD)
    begun = stack.clock()
    announced = announce(stack)
    assert len(announced) == 1
    assert stack.clock() - begun >= 15 * 60_000, "the index is trusted only after a quarter of an hour"
    assert PATIENCE < ENOUGH


def test_a_new_look_at_a_crowd_is_not_given_up_with_an_old_one(stack: Stack) -> None:
    apply(stack, CROWD)
    announce(stack)
    stack.clock.milliseconds += 2_000
    looks = [
        {"messageId": str(tries), "body": orjson.dumps({"ranking": ["b", "points", "all", 0], "tries": tries})}
        for tries in (ENOUGH, 0)
    ]
    stack.announcer({"Records": looks[:1]}, Context())
    assert stack.looks.messages == []
    stack.announcer({"Records": looks}, Context())
    assert len(stack.looks.messages) == 1
    begun = stack.clock()
    announce(stack)
    assert stack.clock() - begun >= 15 * 60_000, "the index is trusted only after a quarter of an hour"
