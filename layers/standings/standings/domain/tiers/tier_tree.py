"""The tier tree: how many members stand ahead of a score, without looking at them.

A score's place is a path in a tree of `FANOUT` (`places`). Each node counts the members below each of its children, so
a node is a range of scores divided into ranges: a tier divided into tiers. A rank is the sum of the counters before
one's own on the nodes of one's path: a handful of reads at any number of members.

Nodes are given as mappings from path to counters, and counters as mappings from a child's digit to a number of
members. A node or a counter that is not there counts nobody.

Some questions learn from the nodes that they have which ones they need next. `undivided` (and `distribution.unread`)
then names nodes until none is missing; whoever reads them gives one that is not there as `{}`, so that it is not asked
for again. Nodes may be of different moments, while members move: such an answer is off by those moves.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from standings.domain.tiers.tier_path import FANOUT, Path, depth, path, prefixes, sort_value_at

Counters = Mapping[int, int]
Nodes = Mapping[Path, Counters]
_NOBODY: Counters = {}


class Selected(NamedTuple):
    """What stands at a position: an ordinal, and how many members stand ahead of all who share it."""

    sort_value: int
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


def summed(lanes: Iterable[Counters]) -> dict[int, int]:
    """The counters of a node that several lanes make up."""
    found: dict[int, int] = {}
    for counters in lanes:
        for digit, count in counters.items():
            found[digit] = found.get(digit, 0) + count
    return found


def is_leaf(node: Path) -> bool:
    """Whether a node's children are ordinals, and not nodes."""
    return bool(node) and len(node) == depth(node[0])


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


def span(way: Path) -> tuple[int, int]:
    """The first and the last ordinal below a head or any longer part of a path."""
    digits = depth(way[0])
    left = 1 + digits - len(way)
    low = sort_value_at((*way, *[0] * left))
    high = sort_value_at((*way, *[FANOUT - 1] * left))
    # As many digits as the head says: what is nearer to 0 has a shorter path.
    least = FANOUT ** (digits - 1)
    if way[0] < path(0)[0]:
        return low, min(high, -least)
    return (max(low, least) if digits > 1 else low), high


def undivided(number: int, nodes: Nodes) -> dict[Path, int]:
    """The nodes to read next to tell the distinct ordinals ahead of one, and how many members each of them counts.

    `nodes` holds at least those of `nodes_for`. A range of one member is one ordinal, and is not divided further: no
    level has more nodes to read than half of the members ahead. Read what is named until nothing is, which takes no
    more rounds than the longest path there is has digits. For several ordinals, ask for the furthest behind.
    """
    found: dict[Path, int] = {}
    divisible = [(way, count) for way, count in _ahead(number, nodes) if _is_divisible(way, count)]
    while divisible:
        way, count = divisible.pop()
        counters = nodes.get(way)
        if counters is None:
            found[way] = count
        elif len(way) < depth(way[0]):
            divisible += [((*way, digit), below) for digit, below in counters.items() if below > 1]
    return found


def distinct_ahead(numbers: Iterable[int], nodes: Nodes) -> dict[int, int]:
    """How many distinct ordinals stand ahead of each of some; never more than members do.

    `nodes` holds at least those of `nodes_for` each of them, and nothing of it is `undivided` ahead of the furthest
    behind. A range that is not divided counts as one ordinal, so that fewer nodes give too small an answer.
    """
    known: dict[Path, int] = {}

    def distinct(way: Path, count: int) -> int:
        if not _is_divisible(way, count):
            return 1 if count > 0 else 0
        if way not in known:
            below = nodes.get(way, _NOBODY).items()
            # Between these bounds it is anyway, unless the nodes are of different moments.
            known[way] = min(count, max(1, sum(distinct((*way, digit), here) for digit, here in below)))
        return known[way]

    return {number: sum(distinct(way, count) for way, count in _ahead(number, nodes)) for number in numbers}


def _ahead(number: int, nodes: Nodes) -> Iterator[tuple[Path, int]]:
    """The ranges ahead of an ordinal, beside its path, and the members of each."""
    way = path(number)
    for length, mine in enumerate(way):
        for digit, count in nodes.get(way[:length], _NOBODY).items():
            if digit < mine:
                yield (*way[:length], digit), count


def _is_divisible(way: Path, count: int) -> bool:
    return count > 1 and len(way) <= depth(way[0])


def position_at(numerator: int, denominator: int, total: int) -> int:
    """The position (from 0, for `select`) at which the members at or behind are still p percent of a list.

    It is that of the furthest behind of whom this is true, or of one of its equals. p is a fraction, so that nothing
    is rounded: more than 0 and at most 100, which makes it a position of any list that has members.
    """
    return total * (100 * denominator - numerator) // (100 * denominator)


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
    return Selected(sort_value_at(way), passed, count)
