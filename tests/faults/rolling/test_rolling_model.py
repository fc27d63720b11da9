"""The protocol of the model is exact in thousands of schedules. Without any rule that it needs, it is not.

`python -m tests.faults.rolling` prints the seeds that are wrong without each rule.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest

from tests.support.thoroughness import seeds

from .__main__ import main
from .items import Change, Generation, Image
from .judge import judge
from .logs import fold, make_log
from .project import project
from .read import count
from .rebuild import place_current, rebuild
from .rules import Rule
from .schedule import run
from .world import Process, World

BLOCK: Final = 25
"""How many schedules a test runs."""

BY_CHANCE: Final[dict[Rule, tuple[int, ...]]] = {
    Rule.ONE_TRANSACTION: (1, 2),
    Rule.VERSION_AS_READ: (0, 3),
    Rule.FROM_THE_ROW: (0, 1),
    Rule.NODES_REMEMBER: (0, 1),
    Rule.WHAT_IT_LACKS: (0, 1),
    Rule.POSITION_AS_SEEN: (1, 9),
    Rule.CUT_AT_THE_END: (0, 1),
    Rule.CUT_ONCE: (0, 1),
    Rule.DROP_UNREADABLE: (0, 1),
    Rule.NOT_CLEANED: (0, 1),
    Rule.MADE_ONCE: (518, 521),
    Rule.MADE_BEFORE_NAMED: (9, 12),
    Rule.LOGS_FIRST: (0, 1),
    Rule.EVERY_NAMED_LOG: (0, 1),
    Rule.AHEAD_AGAIN: (16, 19),
    Rule.UNKNOWN_IS_AHEAD: (446, 515),
    Rule.GAP_AGAIN: (37, 67),
    Rule.MARGIN: (0, 1),
    Rule.SLABS: (1, 13),
    Rule.LIST_VERSION: (6, 7),
    Rule.LEAVES_VERSION: (1, 19),
    Rule.STEPS_OF_THE_ROW: (1, 2),
    Rule.STEPS_BETWEEN: (19, 60),
    Rule.LIST_FIRST: (1, 4),
    Rule.ROW_STAYS: (403, 538),
    Rule.REPLAY_CURRENT: (22, 23),
    Rule.REPLAY_ALL: (1, 16),
    Rule.SCAN_ALL: (139, 158),
    Rule.LIST_ANYWAY: (186, 273),
    Rule.WAIT: (159, 307),
    Rule.VERSION_FROM_CLOCK: (196, 301),
    Rule.BY_DEFINITION: (75, 257),
    Rule.AS_KEPT: (1, 2),
}
"""The seeds of schedules that are wrong without a rule.

Without MADE_BEFORE_NAMED no count is wrong. A maker that dies leaves a log that is named and that nobody can append to.
"""

NEVER: Final = {
    Rule.NOT_BELOW_LOW: "What is counted twice below a row's low is in periods that the record does not let anybody "
    "read: a definition that keeps less takes them off the record, and a rebuild begins with new nodes.",
    Rule.WHOLE_SLABS: "Sums that were trimmed too early make wrong places, but only in periods that nobody reads. They "
    "are part of the image, so the steps still follow from the image alone.",
    Rule.APPEND_TO_EXISTING: "A log is made before it is named, and never deleted while anybody appends.",
}
"""The rules without which no schedule was ever wrong, and why."""


@pytest.mark.parametrize("block", seeds(12, 200))
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
    placing = place_current(process(world), 0, 0, image, Rule.SCAN_ALL)
    next(placing)
    next(placing)  # it has read that there is no row
    finish(project(process(world), written(world, 0, replace(image, version=2, hidden=True))))
    finish(placing)
    judge(world)
    return world


def removed_with_an_old_record(rule: Rule | None) -> World:
    """A member is placed in both generations, and removed from one of them while the other is made."""
    world, _ = calm(rule)
    acting = rebuild(process(world))
    next(acting)
    image = someone(world)
    finish(project(process(world), written(world, 0, image)))
    old = replace(process(world), record=world.record_before)
    finish(project(old, written(world, 0, replace(image, version=2, sums={}, removed=True))))
    for _ in acting:
        world.turn += 100
    judge(world)
    return world


BY_HAND: Final[dict[Rule, Callable[[Rule | None], World]]] = {
    Rule.UNKNOWN_IS_AHEAD: a_log_named_between_two_reads,
    Rule.MADE_ONCE: two_make_a_log,
    Rule.UNTIL_CURRENT: a_rebuild_overtaken,
    Rule.REMOVED_TOO: removed_with_an_old_record,
}
"""Schedules written for rules that chance rarely shows."""


@pytest.mark.parametrize("rule", BY_HAND)
def test_the_schedule_written_for_a_rule_is_wrong_without_it(rule: Rule) -> None:
    assert BY_HAND[rule](None).wrong == []
    assert BY_HAND[rule](rule).wrong != []


def test_every_rule_is_shown_or_said_to_be_unneeded() -> None:
    assert BY_CHANCE.keys() | BY_HAND.keys() == set(Rule) - NEVER.keys()


def test_the_command_prints_how_many_schedules_are_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["2", "--rule", ""]) == 0
    assert "0 of 2 wrong, all rules" in capsys.readouterr().out
    main(["5", "--rule", Rule.ONE_TRANSACTION])
    assert "3 of 5 wrong, without: a row and its entry" in capsys.readouterr().out
