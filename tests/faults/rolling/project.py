"""The projector: a batch of changes becomes rows, entries in logs and list items."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .items import MARGIN, MOST_ENTRIES, WINDOW, Change, Entry, Generation, Image, ListItem, Log, Row, bounded, slab_end
from .logs import change_log, fold
from .rules import Rule
from .world import Died

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .items import Steps
    from .world import Acting, Process

TRIES: Final = 60
CHUNK: Final = 2
"""How many rows a transaction holds at most."""


@dataclass(frozen=True)
class Move:
    """A row that is to be written, and the row that was read."""

    member: int
    seen: Row | None
    row: Row
    before: Steps
    """What is taken off the counts."""
    slots: frozenset[int]
    """The first periods of the list items to write."""


def project(process: Process, batch: list[Change]) -> Acting[int]:
    """Project a batch. Returns how many of its records are done."""
    undone: dict[int, int] = {}
    for index, change in enumerate(batch):
        undone.setdefault(change.member, index)
    while undone:
        chunk = list(undone)[:CHUNK]
        for number in process.record.written:
            done = yield from _place(process, number, {member: _of(batch, member) for member in chunk})
            if not done:
                return min(undone.values())
        for member in chunk:
            del undone[member]
    return len(batch)


def _of(batch: list[Change], member: int) -> list[Change]:
    return [change for change in batch if change.member == member]


def _place(process: Process, number: int, wanted: dict[int, list[Change]]) -> Acting[bool]:
    """Place members in a generation by the newest image of each. Returns whether all are placed."""
    world, left = process.world, dict(wanted)
    for _ in range(TRIES):
        yield
        generation = world.generations.get(number)
        if generation is None:
            return True  # retired: nobody reads it
        rows = {member: generation.rows.get(member) for member in left}
        for member, seen in rows.items():
            if seen is not None and seen.version >= left[member][-1].new.version:
                del left[member]
        if not left:
            return True
        moves = [move(process, member, rows[member], changes) for member, changes in left.items()]
        if world.on(Rule.LIST_FIRST):
            yield from write_list(process, generation, moves)
        committed = yield from commit(process, number, moves)
        if committed and not world.on(Rule.LIST_FIRST):
            yield from write_list(process, generation, moves)
        if world.chance(0.03):
            return False
    return False


def move(process: Process, member: int, seen: Row | None, changes: list[Change]) -> Move:
    """Return what brings a row to the newest of some changes."""
    world, image = process.world, changes[-1].new
    row = row_of(process, seen, image)
    slots = set(world.spans(row.steps))
    if seen is not None and world.on(Rule.STEPS_OF_THE_ROW):
        slots |= _ending_after(row.low, world.spans(seen.steps))
    if world.on(Rule.STEPS_BETWEEN):
        for change in changes:
            slots |= _ending_after(row.low, world.spans(change.new.steps(process.kept_from(change.new.stamp))))
    before = seen.steps if seen is not None else {}
    if not world.on(Rule.FROM_THE_ROW):
        before = changes[0].old.steps(row.low) if changes[0].old is not None else {}
    return Move(member, seen, row, before, frozenset(slots))


def row_of(process: Process, seen: Row | None, image: Image) -> Row:
    """Return the row of an image. Its steps begin where those of the row that was read are complete."""
    low = process.kept_from(image.stamp)
    if seen is not None and process.world.on(Rule.NOT_BELOW_LOW):
        low = max(low, seen.low)
    return Row(image.version, low, image.steps(low), process.expires(image.stamp + MARGIN + WINDOW))


def every_slot(row: Row, image: Image) -> frozenset[int]:
    """Return all first periods that can be there for an image and anything older."""
    return frozenset(range(row.low, image.stamp + MARGIN + WINDOW + 1))


def _ending_after(low: int, found: dict[int, tuple[int, int]]) -> set[int]:
    return {first for first, (until, _) in found.items() if until > low}


def write_list(process: Process, generation: Generation, moves: Iterable[Move]) -> Acting[None]:
    """Write list items, each by itself."""
    world = process.world
    for each in moves:
        mine = world.spans(each.row.steps)
        for first in sorted(each.slots):
            yield
            key, expires = (each.member, first), process.expires(slab_end(first) - 1)
            have = generation.items.get(key)
            if have is not None and have.version > each.row.version and world.on(Rule.LIST_VERSION):
                continue
            if first in mine:
                generation.list(key, ListItem(each.row.version, expires, *mine[first]))
            elif world.on(Rule.LEAVES_VERSION):
                generation.list(key, ListItem(each.row.version, expires))
            elif have is not None:
                generation.list(key, None)
            if world.chance(0.02):
                raise Died


def commit(process: Process, number: int, moves: list[Move]) -> Acting[bool]:
    """Write rows and an entry in one transaction. Returns whether it is known to be done."""
    world, entry = process.world, entry_of(moves)
    yield
    draw, generation = world.rng.random(), world.generations.get(number)
    if draw < 0.06 or generation is None:
        if generation is not None:
            yield from change_log(process, number)
        return False  # throttled, or retired
    way = process.log if process.log < generation.named else 0
    locks: list[tuple[object, ...]] = [("row", number, each.member) for each in moves]
    if entry:
        locks.append(("log", number, way))
    if not world.locked.isdisjoint(locks):
        world.met["conflict"] += 1
        yield from change_log(process, number)
        return False
    if any(_version(generation, each.member) != _seen(each) for each in moves) and world.on(Rule.VERSION_AS_READ):
        return False
    if entry and not _takes(process, generation, way):
        yield from fold(process, number, way)
        process.log = world.rng.randrange(generation.named)
        return False
    world.locked.update(locks)
    try:
        yield from _apply(process, generation, moves, entry, way)
    finally:
        world.locked.difference_update(locks)
    if draw > 0.97:
        raise Died  # it is done, and the answer is lost
    return True


def _takes(process: Process, generation: Generation, way: int) -> bool:
    """Whether a log is there and takes another entry."""
    if way not in generation.logs and not process.world.on(Rule.APPEND_TO_EXISTING):
        generation.logs[way] = Log(0)
    return way in generation.logs and len(generation.logs[way].entries) < MOST_ENTRIES


def _apply(process: Process, generation: Generation, moves: list[Move], entry: Entry, way: int) -> Acting[None]:
    """Do a transaction. Others see its items one by one; no other transaction meets them."""
    world = process.world
    parts: list[Move | None] = [*moves, None]
    world.rng.shuffle(parts)
    for part in parts:
        if part is not None:
            generation.rows[part.member] = part.row
            if not part.row.steps and not world.on(Rule.ROW_STAYS):
                del generation.rows[part.member]
        elif entry:
            generation.logs[way].entries.append(entry)
            for (period, place), change in entry.items():
                generation.ledger[way, period][place] += change
        if not world.on(Rule.ONE_TRANSACTION) and world.chance(0.05):
            raise Died
        yield


def _version(generation: Generation, member: int) -> int:
    return generation.rows[member].version if member in generation.rows else 0


def _seen(each: Move) -> int:
    return each.seen.version if each.seen is not None else 0


def entry_of(moves: list[Move]) -> Entry:
    """Return the changes of count that come with rows."""
    counts: Counter[tuple[int, int]] = Counter()
    for each in moves:
        steps = each.row.steps
        for period in each.before.keys() | steps.keys():
            if period >= each.row.low and each.before.get(period) != steps.get(period):
                if period in each.before:
                    counts[period, each.before[period]] -= 1
                if period in steps:
                    counts[period, steps[period]] += 1
    return bounded(counts)
