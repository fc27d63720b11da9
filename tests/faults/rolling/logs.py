"""Logs: which one a process appends to, how one is made, and how one is folded into the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .items import MARGIN, MOST_LOGS, Entry, Generation, Log, Node, NodeKey, tier_of
from .rules import Rule

if TYPE_CHECKING:
    from .world import Acting, Process

TRIES: Final = 30


def change_log(process: Process, number: int) -> Acting[None]:
    """Append to another log from now on. Make one if there are few."""
    generation, rng = process.world.generations[number], process.world.rng
    if generation.named < MOST_LOGS and rng.random() < 0.3:
        yield from make_log(process, generation)
    process.log = rng.randrange(generation.named)


def make_log(process: Process, generation: Generation) -> Acting[None]:
    """Make a log and let the first log name it. Several processes may do so at once."""
    world, new = process.world, generation.named
    steps = [_make, _name]
    if not world.on(Rule.MADE_BEFORE_NAMED):
        steps.reverse()
    yield
    for step in steps:
        step(process, generation, new)
        if world.chance(0.05):
            return  # it dies, or is too slow
        yield


def _make(process: Process, generation: Generation, new: int) -> None:
    world = process.world
    if new not in generation.logs or not world.on(Rule.MADE_ONCE):
        generation.logs[new] = Log(world.turn + 1000)
        world.met["log made"] += 1


def _name(_: Process, generation: Generation, new: int) -> None:
    if generation.named == new:
        generation.named = new + 1


def fold(process: Process, number: int, way: int) -> Acting[None]:
    """Bring the nodes up to the end of a prefix of a log, and cut the prefix off."""
    world = process.world
    yield
    generation = world.generations.get(number)
    if generation is None or way not in generation.logs:
        return
    base, entries = generation.logs[way].base, list(generation.logs[way].entries)
    entries = entries[: world.rng.choice((1, 2, 4, 99))]
    if not entries:
        return
    touched = _touched(process, entries)
    world.rng.shuffle(touched)
    for key in touched:
        done = yield from _bring(process, generation, way, base, entries, key)
        if not done or world.chance(0.02):
            return  # it dies
        if not world.on(Rule.CUT_AT_THE_END) and world.chance(0.2):
            break
    yield from _cut(process, generation, (number, way), base, len(entries))


def _touched(process: Process, entries: list[Entry]) -> list[NodeKey]:
    """Return the nodes that entries change, except those of periods that nobody reads any more."""
    kept = process.clock - process.keeps - (MARGIN if process.world.on(Rule.MARGIN) else 0)
    if not process.world.on(Rule.DROP_UNREADABLE):
        kept = process.clock
    keys: set[NodeKey] = set()
    for entry in entries:
        for period, place in entry:
            if period >= kept:
                keys |= {(period, None), (period, tier_of(place))}
    return sorted(keys, key=str)


def _bring(
    process: Process, generation: Generation, way: int, base: int, entries: list[Entry], key: NodeKey
) -> Acting[bool]:
    """Add to a node what it lacks. The first update is sent without reading the node."""
    world, end = process.world, base + len(entries)
    seen: int | None = None
    for _ in range(TRIES):
        yield
        if world.chance(0.08):
            continue  # throttled
        node = generation.nodes.setdefault(key, Node())
        at = node.at.get(way)
        start = base if seen is None else seen
        refused = at is not None and at > base if seen is None else at != seen and world.on(Rule.POSITION_AS_SEEN)
        if world.on(Rule.WHAT_IT_LACKS) and refused:
            seen = at
            continue
        if start >= end:
            return True
        node.expires = process.expires(key[0])
        add_entries(node, key, entries[start - base :])
        if world.on(Rule.NODES_REMEMBER):
            node.at[way] = end
        if world.chance(0.05):
            continue  # the answer is lost
        return True
    return False


def add_entries(node: Node, key: NodeKey, entries: list[Entry]) -> None:
    """Add the changes of entries that concern a node."""
    wanted, tier = key
    for entry in entries:
        for (period, place), change in entry.items():
            if period == wanted and tier in {None, tier_of(place)}:
                node.counts[place] += change


def _cut(process: Process, generation: Generation, log: tuple[int, int], base: int, count: int) -> Acting[None]:
    """Cut a prefix off a log. A conflict with a transaction is tried again."""
    world, (_, way) = process.world, log
    for _ in range(3):
        yield
        if ("log", *log) in world.locked:
            continue
        stored = generation.logs[way]
        if stored.base == base or not world.on(Rule.CUT_ONCE):
            stored.base += count
            del stored.entries[:count]
            world.met["cut"] += 1
        return


def clean(process: Process) -> Acting[None]:
    """Remove empty nodes, which no process may do while their period can be read."""
    yield
    for generation in process.world.generations.values():
        for key in [key for key, node in generation.nodes.items() if not any(node.counts.values())]:
            del generation.nodes[key]
