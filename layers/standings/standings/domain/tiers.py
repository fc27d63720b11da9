"""The tier tree: how many members stand ahead of a score, without looking at them.

A score's place is a path in a tree of `FANOUT` (`places`). Each node counts the members below each of its children, so
a node is a range of scores divided into ranges: a tier divided into tiers. A rank is the sum of the counters before
one's own on the nodes of one's path: a handful of reads at any number of members.

Nodes are given as mappings from path to counters, and counters as mappings from a child's digit to a number of
members. A node or a counter that is not there counts nobody.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from standings.domain.places import Path, depth, ordinal_at, path, prefixes

Counters = Mapping[int, int]
Nodes = Mapping[Path, Counters]
_NOBODY: Counters = {}


class Selected(NamedTuple):
    """What stands at a position: an ordinal, and how many members stand ahead of all who share it."""

    ordinal: int
    ahead: int
    equals: int


def deltas(moves: Iterable[tuple[int | None, int | None]]) -> dict[Path, dict[int, int]]:
    """The net change of every counter when members move from one ordinal to another (None: not in the list)."""
    net: dict[Path, dict[int, int]] = {}
    for old, new in moves:
        for number, one in ((old, -1), (new, 1)):
            if number is None or old == new:
                continue
            way = path(number)
            for length, digit in enumerate(way):
                counters = net.setdefault(way[:length], {})
                counters[digit] = counters.get(digit, 0) + one
    changed = {node: {d: n for d, n in counters.items() if n} for node, counters in net.items()}
    return {node: counters for node, counters in changed.items() if counters}


def nodes_for(number: int) -> list[Path]:
    """The nodes that tell the rank of an ordinal: the root first."""
    return list(prefixes(path(number)))


def total(root: Counters) -> int:
    """How many members the list has."""
    return sum(root.values())


def ahead(number: int, nodes: Nodes) -> int:
    """How many members stand ahead of an ordinal; `nodes` holds at least those of `nodes_for`."""
    way = path(number)
    return sum(
        count
        for length, mine in enumerate(way)
        for digit, count in nodes.get(way[:length], _NOBODY).items()
        if digit < mine
    )


def equals(number: int, nodes: Nodes) -> int:
    """How many members share an ordinal; `nodes` as for `ahead`."""
    way = path(number)
    return nodes.get(way[:-1], _NOBODY).get(way[-1], 0)


def between(low: int, high: int, nodes: Nodes) -> int:
    """How many members stand from one ordinal to another, both included; `nodes` holds those of both."""
    return ahead(high, nodes) + equals(high, nodes) - ahead(low, nodes)


def select(position: int, fetch: Callable[[Path], Counters]) -> Selected | None:
    """What stands at a position (from 0) of the list; None beyond its end.

    `fetch` reads one node. They are asked for from the root down, one for each digit.
    """
    passed = 0
    way: Path = ()
    while not way or len(way) <= depth(way[0]):
        for digit, count in sorted(fetch(way).items()):
            if position < passed + count:
                way = (*way, digit)
                break
            passed += count
        else:
            return None
    return Selected(ordinal_at(way), passed, count)
