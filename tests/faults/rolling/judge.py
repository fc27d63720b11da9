"""Compare counts and lists with what is true, once nothing is going on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from .items import Node
from .read import compare_list, with_entries
from .rules import Rule
from .world import MEMBERS

if TYPE_CHECKING:
    from .items import Generation
    from .world import World

LATER: Final = 3
"""So many periods are compared as they will be read later, with nobody having touched anything."""


def judge(world: World) -> None:
    """Compare all periods that can be read now and later."""
    generation = world.generations[world.record.read]
    for key in list(generation.pending):
        while key in generation.pending:
            generation.index_next(key)
    for now in range(world.now, world.now + LATER):
        first = max(world.record.first, now - min(world.record.late, world.late))
        for period in range(first if world.on(Rule.AS_KEPT) else now - world.late, now + 1):
            _compare_counts(world, generation, period)
            for member in range(MEMBERS):
                compare_list(world, generation, member, period)
                row = generation.rows.get(member)
                if row is not None and row.low > period:
                    world.wrong.append(f"unknown: the row is complete from {row.low} on, read in {period}")
    if not generation.logs.keys() >= set(range(generation.named)):
        world.wrong.append(f"log: {sorted(generation.logs)} are there, {generation.named} are named")


def _compare_counts(world: World, generation: Generation, period: int) -> None:
    places = [fact.place(period) for fact in world.facts.values()]
    want = Counter(place for place in places if place is not None)
    tiers = {tier for at, tier in generation.nodes if at == period and tier is not None}
    for log in generation.logs.values():
        tiers |= {place // 4 for entry in log.entries for at, place in entry if at == period}
    below: Counter[int] = Counter()
    for tier in sorted(tiers):
        key = period, tier
        below.update(with_entries(key, generation.nodes.get(key, Node()), generation.logs))
    root = with_entries((period, None), generation.nodes.get((period, None), Node()), generation.logs)
    for name, counts in (("tiers", below), ("root", root)):
        found = {place: count for place, count in counts.items() if count}
        if found != want:
            world.wrong.append(f"counts: {name} of {period} hold {found}, expected {dict(want)}")
