"""What places members by their current images: rebuilds into a new generation, and replays of parked records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .items import Change, Generation, Image
from .project import commit, every_slot, move, write_list
from .rules import Rule
from .world import CACHE, Died, Job

if TYPE_CHECKING:
    from .world import Acting, Process, World

TRIES: Final = 60
PAGE: Final = 2
"""How many images a rebuild reads at once."""


def rebuild(process: Process) -> Acting[None]:
    """Make everything anew beside what is read, switch, and delete what was read before."""
    world = process.world
    number = max(world.generations) + 1
    world.generations[number] = Generation()
    job = Job(world.now, process.late)
    world.enter(replace(world.record, written=(*world.record.written, number), job=job))
    if world.on(Rule.WAIT):
        yield from _until_all_know(process)
    members = sorted(world.images)
    for first in range(0, len(members), PAGE):
        images = {member: world.images[member] for member in members[first : first + PAGE]}
        for member, image in images.items():
            if world.on(Rule.REMOVED_TOO) or not image.removed:
                yield from _scanned(process, number, member, image)
    _switch(world, number)
    yield from _until_all_know(process)
    world.enter(replace(world.record, written=(number,)))
    yield from _until_all_know(process)
    world.generations = {number: world.generations[number]}
    world.met["rebuilt"] += 1


def _scanned(process: Process, number: int, member: int, image: Image) -> Acting[None]:
    """Place a member. Whatever dies is done again, with a new look at the item."""
    done = False
    while not done:
        try:
            done = yield from place_current(process, number, member, image, Rule.SCAN_ALL)
        except Died:
            image = process.world.images[member]


def _switch(world: World, number: int) -> None:
    """Read the new generation: it is complete for all that was kept when the rebuild began."""
    record, job = world.record, world.record.job
    assert job is not None
    first = max(record.first, job.since - record.late)
    world.enter(replace(record, read=number, late=job.late, first=first, job=None))


def _until_all_know(process: Process) -> Acting[None]:
    """Wait until no process uses an older record."""
    world, phase = process.world, process.world.record.phase
    while True:
        yield
        others = [each for each in world.running if each is not process]
        if world.turn - world.record_since > CACHE and all(each.record.phase >= phase for each in others):
            return


def replay(process: Process, change: Change) -> Acting[bool]:
    """Place the member of a parked record. Returns whether that is done."""
    world = process.world
    for number in process.record.written:
        yield
        image = world.images[change.member] if world.on(Rule.REPLAY_CURRENT) else change.new
        if not (yield from place_current(process, number, change.member, image, Rule.REPLAY_ALL)):
            return False
    return True


def place_current(process: Process, number: int, member: int, image: Image, every: Rule) -> Acting[bool]:
    """Place a member by its image as it was read a moment ago. Returns whether that is done."""
    world = process.world
    for _ in range(TRIES):
        yield
        generation = world.generations.get(number)
        if generation is None:
            return True
        seen = generation.rows.get(member)
        if seen is not None and seen.version > image.version:
            if not world.on(Rule.UNTIL_CURRENT) or not world.on(Rule.REPLAY_CURRENT):
                return True
            image = world.images[member]
            continue
        is_there = seen is not None and seen.version == image.version
        if is_there and not world.on(Rule.LIST_ANYWAY):
            return True
        each = move(process, member, seen, [Change(member, None, image)])
        if world.on(every):
            each = replace(each, slots=every_slot(each.row, image))
        yield from write_list(process, generation, [each])
        if is_there or (yield from commit(process, number, [each])):
            return True
    return False
