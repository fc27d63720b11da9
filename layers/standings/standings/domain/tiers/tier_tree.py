"""The tier tree: count the members ahead of a score without reading them.

A node is a tier: a range of scores, divided into `FANOUT` smaller tiers. It counts the members of each. A rank is the
sum of the counters ahead of a score's path, on the nodes of the path. Nodes are mappings from path to counters, and
counters from a child's digit to a number of members. A missing node or counter counts as 0.

`undivided` and `distribution.unread` name the nodes to read next, until there are none. Give a node that does not exist
as `{}`. While members move, nodes may be from different moments: then the answer is off by those moves.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from standings.domain.tiers.tier_path import FANOUT, ROOT, Path, depth, path, prefixes, sort_value_at

Counters = Mapping[int, int]
Nodes = Mapping[Path, Counters]


class Selected(NamedTuple):
    """The sort value at a position, how many members are ahead of it, and how many share it."""

    sort_value: int
    ahead: int
    equals: int


def deltas(moves: Iterable[tuple[int | None, int | None]]) -> dict[Path, dict[int, int]]:
    """The net change of every counter when members move from one sort value to another (None: not in the list)."""
    net: dict[Path, dict[int, int]] = {}
    for old, new in moves:
        for number, change in ((old, -1), (new, 1)):
            if number is None or old == new:
                continue
            full_path = path(number)
            for length, digit in enumerate(full_path):
                counters = net.setdefault(full_path[:length], {})
                counters[digit] = counters.get(digit, 0) + change
    changed = {node: {digit: count for digit, count in counters.items() if count} for node, counters in net.items()}
    return {node: counters for node, counters in changed.items() if counters}


def summed(lanes: Iterable[Counters]) -> dict[int, int]:
    """The counters of a node, added up over its lanes."""
    total: dict[int, int] = {}
    for counters in lanes:
        for digit, count in counters.items():
            total[digit] = total.get(digit, 0) + count
    return total


def is_leaf(node: Path) -> bool:
    """Whether a node's children are sort values."""
    return bool(node) and len(node) == depth(node[0])


def nodes_for(number: int) -> list[Path]:
    """The nodes that give the rank of a sort value, the root first."""
    return list(prefixes(path(number)))


def total(root: Counters) -> int:
    """How many members the list has."""
    return sum(root.values())


def ahead(number: int, nodes: Nodes) -> int:
    """How many members are ahead of a sort value. `nodes` must contain those of `nodes_for`."""
    return sum(count for _, count in _tiers_ahead(number, nodes))


def equals(number: int, nodes: Nodes) -> int:
    """How many members share a sort value. `nodes` must contain those of `nodes_for`."""
    *leaf, digit = path(number)
    return nodes.get(tuple(leaf), {}).get(digit, 0)


def span(tier: Path) -> tuple[int, int]:
    """The first and the last sort value of a tier: of all paths that begin with this one (not the root's)."""
    digits = depth(tier[0])
    missing = 1 + digits - len(tier)
    low = sort_value_at(tier + (0,) * missing)
    high = sort_value_at(tier + (FANOUT - 1,) * missing)
    # A number nearer to 0 has fewer digits, and so another head.
    least = FANOUT ** (digits - 1)
    if tier[0] < path(0)[0]:
        return low, min(high, -least)
    return (max(low, least) if digits > 1 else low), high


def undivided(number: int, nodes: Nodes) -> dict[Path, int]:
    """The nodes to read next to count the distinct sort values ahead of one, with the number of members in each.

    `nodes` must contain those of `nodes_for`. For several sort values, pass the last one. A tier of one member is not
    read: so at each level, at most half as many nodes are read as there are members ahead.
    """
    unread: dict[Path, int] = {}
    tiers = list(_tiers_ahead(number, nodes))
    while tiers:
        tier, count = tiers.pop()
        if _is_divisible(tier, count) and tier not in nodes:
            unread[tier] = count
        elif _is_divisible(tier, count):
            tiers += [((*tier, digit), members) for digit, members in nodes[tier].items()]
    return unread


def distinct_ahead(numbers: Iterable[int], nodes: Nodes) -> dict[int, int]:
    """How many distinct sort values are ahead of each of these; never more than members are.

    Read nodes until nothing is `undivided` ahead of the last one: a tier that was not read counts as one sort value.
    """
    known: dict[Path, int] = {}

    def distinct(tier: Path, count: int) -> int:
        if not _is_divisible(tier, count):
            return 1 if count > 0 else 0
        if tier not in known:
            below = sum(distinct((*tier, digit), members) for digit, members in nodes.get(tier, {}).items())
            # Only nodes from different moments can be out of these bounds.
            known[tier] = min(count, max(1, below))
        return known[tier]

    return {number: sum(distinct(*tier) for tier in _tiers_ahead(number, nodes)) for number in numbers}


def _tiers_ahead(number: int, nodes: Nodes) -> Iterator[tuple[Path, int]]:
    """The tiers ahead of a sort value that are children of its nodes, with the number of members in each."""
    full_path = path(number)
    for length, own_digit in enumerate(full_path):
        node = full_path[:length]
        for digit, count in nodes.get(node, {}).items():
            if digit < own_digit:
                yield (*node, digit), count


def _is_divisible(tier: Path, count: int) -> bool:
    return count > 1 and len(tier) <= depth(tier[0])


def position_at(numerator: int, denominator: int, total: int) -> int:
    """The position (from 0) of the last member, or an equal of it, with at least p percent of the list at or behind it.

    p is `numerator` / `denominator`, at most 100, so nothing is rounded. At 0 it is the position behind the last one.
    """
    return total * (100 * denominator - numerator) // (100 * denominator)


def select(position: int, fetch: Callable[[Path], Counters]) -> Selected | None:
    """The sort value at a position (from 0) of the list; None beyond its end.

    `fetch` reads one node. It is called from the root down, once for each digit.
    """
    passed = 0
    node = ROOT
    while not node or len(node) <= depth(node[0]):
        for digit, count in sorted(fetch(node).items()):
            if position < passed + count:
                node = (*node, digit)
                break
            passed += count
        else:
            return None
    return Selected(sort_value_at(node), passed, count)
