"""Readers: a rank by nodes and logs, and a page of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .items import Generation, Log, Node, NodeKey, tier_of
from .logs import add_entries
from .rules import Rule
from .world import MEMBERS

if TYPE_CHECKING:
    from collections import Counter

    from .world import Acting, Process, World

TRIES: Final = 3


@dataclass
class Logs:
    """The logs as they were read, and how many the first log named."""

    named: int
    logs: dict[int, Log]
    truth: dict[int, Counter[int]]
    """What each log had been given when it was read."""


def period_of(process: Process) -> int | None:
    """Choose a period that can be read, or return None if there is none."""
    world, record = process.world, process.record
    first = max(record.first, process.clock - min(record.late, process.late))
    if not world.on(Rule.AS_KEPT):
        first = process.clock - process.late
    return world.rng.randint(first, process.clock) if first <= process.clock else None


def is_judged(process: Process, period: int) -> bool:
    """Whether a period can still be read. While a reader uses an old record, it may read what is no longer kept."""
    world = process.world
    return world.record.readable(period, world.now) or not world.on(Rule.AS_KEPT)


def rank(process: Process) -> Acting[None]:
    """Count the places ahead of a place, and compare with what the logs were given."""
    world = process.world
    generation, period = world.generations.get(process.record.read), period_of(process)
    if generation is None or period is None:
        return
    row = generation.rows.get(world.rng.randrange(MEMBERS))
    if row is not None and row.low > period and is_judged(process, period):
        world.wrong.append(f"unknown: the row is complete from {row.low} on, read in {period}")
    place, known = world.rng.randrange(-4, 12), world.rng.randint(1, generation.named)
    yield from count(process, generation, known, period, place)


def count(process: Process, generation: Generation, known: int, period: int, place: int) -> Acting[None]:
    """Read logs and nodes until they fit together, at most TRIES times, and compare. `known` logs are known before."""
    world = process.world
    keys: list[NodeKey] = [(period, None), (period, tier_of(place))]
    if world.on(Rule.LOGS_FIRST):
        logs = yield from _read_logs(process, generation, known, period)
        nodes = yield from _read_nodes(generation, keys)
    else:
        nodes = yield from _read_nodes(generation, keys)
        logs = yield from _read_logs(process, generation, known, period)
    for _ in range(TRIES):
        if not _is_ahead(process, nodes, logs):
            _judge(process, nodes, logs, place)
            return
        world.met["ahead"] += 1
        again = yield from _read_logs(process, generation, logs.named, period)
        has_gap = any(way not in logs.logs or log.base > logs.logs[way].end for way, log in again.logs.items())
        logs = _joined(logs, again)
        if has_gap and world.on(Rule.GAP_AGAIN):
            world.met["gap"] += 1
            nodes = yield from _read_nodes(generation, keys)
    world.met["gave up"] += 1


def _read_logs(process: Process, generation: Generation, known: int, period: int) -> Acting[Logs]:
    """Read the logs that the reader knows, in any order, and then those that the first log names as well."""
    found = Logs(known, {}, {})
    ways = list(range(known))
    process.world.rng.shuffle(ways)
    for way in ways:
        yield
        _read_log(found, generation, way, period)
    if process.world.on(Rule.EVERY_NAMED_LOG):
        for way in range(known, found.named):
            yield
            _read_log(found, generation, way, period)
    return found


def _read_log(found: Logs, generation: Generation, way: int, period: int) -> None:
    log = generation.logs.get(way, Log(0))
    entries = [{key: change for key, change in entry.items() if key[0] == period} for entry in log.entries]
    found.logs[way] = Log(log.base, entries)
    found.truth[way] = generation.ledger[way, period].copy()
    if way == 0:
        found.named = max(found.named, generation.named)
        # A log that this reader does not read is for it as it is now.
        for other in generation.logs.keys() - found.truth.keys():
            found.truth[other] = generation.ledger[other, period].copy()


def _read_nodes(generation: Generation, keys: list[NodeKey]) -> Acting[dict[NodeKey, Node]]:
    found: dict[NodeKey, Node] = {}
    for key in keys:
        yield
        node = generation.nodes.get(key, Node())
        found[key] = Node(node.counts.copy(), dict(node.at))
    return found


def _is_ahead(process: Process, nodes: dict[NodeKey, Node], logs: Logs) -> bool:
    """Whether a node holds more than the logs that were read."""
    world = process.world
    if not world.on(Rule.AHEAD_AGAIN):
        return False
    positions = [item for node in nodes.values() for item in node.at.items()]
    if world.on(Rule.UNKNOWN_IS_AHEAD) and any(way not in logs.logs for way, _ in positions):
        world.met["unknown log"] += 1
        return True
    return any(position > logs.logs[way].end for way, position in positions if way in logs.logs)


def _joined(logs: Logs, again: Logs) -> Logs:
    """Join two readings of the logs by position."""
    joined = {way: _join(logs.logs.get(way), log) for way, log in again.logs.items()}
    return Logs(again.named, joined, again.truth)


def _join(before: Log | None, after: Log) -> Log:
    if before is None or after.base > before.end:
        return after
    return Log(before.base, before.entries[: after.base - before.base] + after.entries)


def with_entries(key: NodeKey, node: Node, logs: dict[int, Log]) -> Counter[int]:
    """Return a node's counts with the entries behind its positions."""
    whole = Node(node.counts.copy())
    for way, log in logs.items():
        add_entries(whole, key, log.entries[max(0, node.at.get(way, log.base) - log.base) :])
    return whole.counts


def _judge(process: Process, nodes: dict[NodeKey, Node], logs: Logs, place: int) -> None:
    """Compare a rank with that by everything that each log had been given when it was read."""
    (root, leaf), period = nodes, next(iter(nodes))[0]
    tier = tier_of(place)
    ahead = {other: n for other, n in with_entries(root, nodes[root], logs.logs).items() if tier_of(other) > tier}
    beside = {other: n for other, n in with_entries(leaf, nodes[leaf], logs.logs).items() if other > place}
    found = 1 + sum(ahead.values()) + sum(beside.values())
    want = 1 + sum(n for counts in logs.truth.values() for other, n in counts.items() if other > place)
    if found != want and is_judged(process, period):
        process.world.wrong.append(f"rank of {place} in {period}: {found}, expected {want}")


def page(process: Process) -> Acting[None]:
    """Read a list. Each member whose row is as new as its item is listed as its item says."""
    world, number = process.world, process.record.read
    generation, period = world.generations.get(number), period_of(process)
    yield
    if generation is None or period is None or not is_judged(process, period):
        return
    unsettled = {member for member, _ in generation.pending} | {change.member for change in world.parked}
    for member, image in world.images.items():
        row = generation.rows.get(member)
        version = row.version if row is not None else 0
        parked = any(change.member == member for change in world.parked)
        steps = image.steps(0) | (row.steps if row is not None else {})
        needed = max(steps, default=0) >= world.now - world.record.late
        if world.projected.get(member) == image.version != version and needed and not parked:
            world.wrong.append(f"behind: the row of {member} is {row}, the item {image}")
        if member not in unsettled and row is not None and row.version == image.version:
            compare_list(process.world, generation, member, period)


def compare_list(world: World, generation: Generation, member: int, period: int) -> None:
    """Compare what a list shows of a member with what is true."""
    shown = [
        item.place
        for (other, first), item in generation.index.items()
        if other == member and item.until is not None and first <= period < item.until
    ]
    fact = world.facts[member].place(period) if member in world.facts else None
    if shown != ([] if fact is None else [fact]):
        world.wrong.append(f"list: {member} in {period} at {shown}, expected {fact}")
