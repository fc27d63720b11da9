"""The writer: events, members that are hidden, removed or come back, and definitions with another `late`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .items import MARGIN, WINDOW, Change, Image
from .rules import Rule
from .world import MEMBERS, Process, World

if TYPE_CHECKING:
    from collections.abc import Mapping


def write(world: World) -> None:
    """Change a member's item."""
    member = world.rng.randrange(MEMBERS)
    process = world.process("writer")
    old = world.images.get(member)
    if old is None:
        start = world.turn + 1000 if world.on(Rule.VERSION_FROM_CLOCK) else 1
        fresh = fact = Image(start, process.clock, {})
    else:
        stamp = max(old.stamp, process.clock)
        fresh = replace(old, version=old.version + 1, stamp=stamp)
        fact = replace(world.facts[member], version=fresh.version, stamp=stamp)
    draw = world.rng.random()
    if old is not None and not old.removed and draw < 0.10:
        new = fact = replace(fresh, sums={}, hidden=False, removed=True)
        world.met["removed"] += 1
    elif old is not None and not old.removed and draw < 0.17:
        new, fact = replace(fresh, hidden=not old.hidden), replace(fact, hidden=not old.hidden)
    else:
        world.met["came back"] += old is not None and old.removed
        bucket = fresh.stamp + world.rng.choice((0, 0, 0, 0, *range(-process.late, 0), MARGIN))
        points = world.rng.choice((-2, 1, 1, 2, 3, 5))
        new = replace(fresh, sums=_trimmed(process, fresh.stamp, _added(fresh.sums, bucket, points)), removed=False)
        fact = replace(fact, sums=_added(fact.sums, bucket, points), removed=False)
    world.images[member], world.facts[member] = new, fact
    world.streams[member % 2].append(Change(member, old, new))


def _added(sums: Mapping[int, int], bucket: int, points: int) -> dict[int, int]:
    return {**sums, bucket: sums.get(bucket, 0) + points}


def _trimmed(process: Process, stamp: int, sums: dict[int, int]) -> dict[int, int]:
    """Return the sums without buckets that no kept period contains."""
    low = process.kept_from(stamp)
    if not process.world.on(Rule.WHOLE_SLABS):
        low = stamp - process.late - MARGIN
    return {bucket: value for bucket, value in sums.items() if bucket > low - WINDOW}


def expire(world: World) -> None:
    """Delete what has expired: items of removed members, and what was kept for periods that nobody reads.

    An item of a removed member outlives all attempts that know an older version, parked records, and rebuilds.
    """
    known = {change.member for change in world.parked}.union(*(process.members for process in world.running))
    removed = [member for member, image in world.images.items() if image.removed]
    for member in removed if world.record.job is None else []:
        if member in known or world.projected.get(member) != world.images[member].version:
            continue
        del world.images[member], world.facts[member]
        world.met["expired"] += 1


def expire_counts(world: World) -> None:
    """Delete rows, nodes and list items of periods that nobody reads any more."""
    for generation in world.generations.values():
        for node in [key for key, node in generation.nodes.items() if node.expires <= world.now]:
            del generation.nodes[node]
        locked = {key[2] for key in world.locked if key[0] == "row"}
        for member in [member for member, row in generation.rows.items() if row.expires <= world.now]:
            if member not in locked:
                del generation.rows[member]
                world.met["row expired"] += 1
        for key in [key for key, item in generation.items.items() if item.expires <= world.now]:
            generation.list(key, None)
