"""The protocol of the model is exact in thousands of schedules. Without any rule that it needs, it is not.

`python -m tests.faults.rolling` prints the seeds that are wrong without each rule.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest

from tests.support.thoroughness import seeds

from .items import Change, Generation, Image
from .judge import judge
from .logs import fold, make_log
from .project import project
from .read import count
from .rebuild import place_current
from .rules import Rule
from .schedule import run
from .world import Process, World

BLOCK: Final = 25
"""How many schedules a test runs."""

BY_CHANCE: Final[dict[Rule, tuple[int, ...]]] = {}
"""The seeds of schedules that are wrong without a rule."""

NEVER: Final = {
    Rule.NOT_BELOW_LOW: "What is counted twice below a row's low is in periods that the record does not let anybody "
    "read: a definition that keeps less takes them off the record, and a rebuild begins with new nodes.",
    Rule.WHOLE_SLABS: "Sums that were trimmed too early make wrong places, but only in periods that nobody reads. They "
    "are part of the image, so the steps still follow from the image alone.",
    Rule.APPEND_TO_EXISTING: "A log is made before it is named, and never deleted while anybody appends.",
}
"""The rules without which no schedule was ever wrong, and why."""


@pytest.mark.parametrize("block", seeds(12, 160))
def test_counts_and_lists_are_exact_with_all_rules(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        assert run(seed).wrong == [], f"seed {seed} is wrong with all rules"


@pytest.mark.parametrize("rule", BY_CHANCE)
def test_a_random_schedule_is_wrong_without_the_rule(rule: Rule) -> None:
    assert [seed for seed in BY_CHANCE[rule] if not run(seed, rule).wrong] == []


class Calm(Random):
    """Random numbers for which nothing goes wrong."""

    def random(self) -> float:
        return 0.5


def calm(rule: Rule | None) -> tuple[World, Generation]:
    """Return a world without faults, and what is read in it."""
    world = World(Calm(0), frozenset({rule} if rule else ()), late=1)
    return world, world.generations[0]


def process(world: World, log: int = 0) -> Process:
    return Process(world, "by hand", world.record, world.late, ahead=0, log=log)


def finish(acting: Generator[None, None, Any]) -> None:
    for _ in acting:
        pass


def written(world: World, member: int, image: Image) -> list[Change]:
    """Write a member's item and return the record of it."""
    old = world.images.get(member)
    world.images[member] = world.facts[member] = image
    return [Change(member, old, image)]


def someone(world: World) -> Image:
    """Return the item of a member with five points."""
    return Image(1, world.now, {world.now: 5})


def a_log_named_between_two_reads(rule: Rule | None) -> World:
    world, generation = calm(rule)
    reader = count(process(world), generation, known=1, period=world.now, place=0)
    next(reader)
    next(reader)  # it has read the only log, and reads nodes next
    finish(make_log(process(world), generation))
    finish(project(process(world, log=1), written(world, 0, someone(world))))
    finish(fold(process(world), 0, 1))
    finish(reader)
    return world


def two_make_a_log(rule: Rule | None) -> World:
    world, generation = calm(rule)
    late = make_log(process(world), generation)
    next(late)
    finish(make_log(process(world), generation))
    finish(project(process(world, log=1), written(world, 0, someone(world))))
    finish(late)
    judge(world)
    return world


def a_rebuild_overtaken(rule: Rule | None) -> World:
    """A rebuild writes list items of an image while a newer one is placed, which has none of its steps."""
    world, _ = calm(rule)
    image = someone(world)
    written(world, 0, image)
    rebuild = place_current(process(world), 0, 0, image, Rule.SCAN_ALL)
    next(rebuild)
    next(rebuild)  # it has read that there is no row
    finish(project(process(world), written(world, 0, replace(image, version=2, hidden=True))))
    finish(rebuild)
    judge(world)
    return world


BY_HAND: Final[dict[Rule, Callable[[Rule | None], World]]] = {
    Rule.UNKNOWN_IS_AHEAD: a_log_named_between_two_reads,
    Rule.MADE_ONCE: two_make_a_log,
    Rule.UNTIL_CURRENT: a_rebuild_overtaken,
}
"""Schedules written for rules that chance rarely shows."""


@pytest.mark.parametrize("rule", BY_HAND)
def test_the_schedule_written_for_a_rule_is_wrong_without_it(rule: Rule) -> None:
    assert BY_HAND[rule](None).wrong == []
    assert BY_HAND[rule](rule).wrong != []


def test_every_rule_is_shown_or_said_to_be_unneeded() -> None:
    assert BY_CHANCE.keys() | BY_HAND.keys() == set(Rule) - NEVER.keys()
