"""The tier tree: a trie of counters by the digits of a score, in which ranks are looked up (order statistics).

It counts the members ahead of a score without reading them. A node is a tier: a range of scores, divided into `FANOUT`
smaller tiers. It counts the members of each. A rank is the sum of the counters ahead of a score's path, on the nodes of
the path. Nodes are mappings from path to counters, and counters from a child's digit to a number of members. A missing
node or counter counts as 0.

`undivided` and `unread` name the nodes to read next, until there are none. Give a node that does not exist as `{}`.
While members move, nodes may be from different moments: then the answer is off by those moves. `agreeing` keeps it from
contradicting itself.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from standings.domain.boards import MAX_UNITS
from standings.domain.scoring import digits_of, number_of, sort_value

Path = tuple[int, ...]
"""The digits from the root of a tree to a node, or to a sort value. The first digit is a *head*: it gives the sign and
the number of digits that follow."""
Counters = Mapping[int, int]
Nodes = Mapping[Path, Counters]
FANOUT: Final = 128
"""Children of a node of the tier tree, and so scores of a leaf. A node stays near 1 KB, which is one write unit."""
_MIDDLE: Final = FANOUT // 2
ROOT: Final[Path] = ()


def ahead(number: int, nodes: Nodes) -> int:
    """How many members are ahead of a sort value, so one less than its rank. `nodes` must contain `nodes_for` it."""
    return sum(count for _, count in _tiers_ahead(number, nodes))


def equals(number: int, nodes: Nodes) -> int:
    """How many members share a sort value. `nodes` must contain `nodes_for` it."""
    *leaf, digit = path(number)
    return nodes.get(tuple(leaf), {}).get(digit, 0)


def nodes_for(number: int) -> list[Path]:
    """The nodes that give the rank of a sort value, and that count it: the root first, its leaf last."""
    full_path = path(number)
    return [full_path[:length] for length in range(len(full_path))]


# One move needs a path several times, and members share scores.
@lru_cache(maxsize=16384)
def path(number: int) -> Path:
    """The path to a sort value: a head, then base-128 digits. 300 has the path `(66, 2, 44)`."""
    digits = digits_of(number, FANOUT)
    return (_MIDDLE + len(digits) if number >= 0 else _MIDDLE - len(digits), *digits)


def sort_value_at(full_path: Path) -> int:
    """The sort value at the end of a path: the inverse of `path`."""
    head, *digits = full_path
    return number_of(digits, FANOUT, negative=head < _MIDDLE)


def depth(head: int) -> int:
    """How many digits follow a head."""
    return abs(head - _MIDDLE)


def prefixes(full_path: Path) -> Iterator[Path]:
    """The nodes that count a sort value: the root first, its leaf last."""
    for length in range(len(full_path)):
        yield full_path[:length]


def span(tier: Path) -> tuple[int, int]:
    """The first and the last sort value of a tier that is not the root: `(-383, -256)` of the leaf `(62, 125)`."""
    digits = depth(tier[0])
    missing = 1 + digits - len(tier)
    low = sort_value_at(tier + (0,) * missing)
    high = sort_value_at(tier + (FANOUT - 1,) * missing)
    # A number nearer to 0 has fewer digits, and so another head.
    least = FANOUT ** (digits - 1)
    if tier[0] < path(0)[0]:
        return low, min(high, -least)
    return (max(low, least) if digits > 1 else low), high


def is_leaf(node: Path) -> bool:
    """Whether a node's children are sort values."""
    return bool(node) and len(node) == depth(node[0])


def _tiers_ahead(number: int, nodes: Nodes) -> Iterator[tuple[Path, int]]:
    """The tiers ahead of a sort value that are children of its nodes, with the number of members in each."""
    full_path = path(number)
    for length, own_digit in enumerate(full_path):
        node = full_path[:length]
        for digit, count in nodes.get(node, {}).items():
            if digit < own_digit:
                yield (*node, digit), count


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
    """How many distinct sort values are ahead of each of these: `{-300: 0, -295: 1}`. Never more than members are.

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


def _is_divisible(tier: Path, count: int) -> bool:
    return count > 1 and len(tier) <= depth(tier[0])


def percentile(ahead: int, total: int) -> int:
    """The share of a list's `total` members that are not ahead of a member, in hundredths of a percent, rounded down.

    It is never more than is true: 10,000 only if nobody is ahead, 9,999 for the second of 20,001, and 0 for the last of
    them. So the member is at or ahead of the score at any percentile up to its own (`position_at`).
    """
    return 10_000 * (total - ahead) // total


def position_at(numerator: int, denominator: int, total: int) -> int:
    """The last position (from 0) whose percentile is at least p: that of a member with p percent at or behind it.

    p is `numerator` / `denominator`, at most 100, so nothing is rounded. At 0 it is the position behind the last one.
    """
    return total * (100 * denominator - numerator) // (100 * denominator)


def select(position: int, fetch: Callable[[Path], Counters]) -> "Selected | None":
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


class Selected(NamedTuple):
    """The sort value at a position, how many members are ahead of it, and how many share it."""

    sort_value: int
    ahead: int
    equals: int


def agreeing(nodes: Nodes, members: Iterable[int] = ()) -> dict[Path, Counters]:
    """The nodes without contradictions, and with the members that were found at these sort values.

    Nodes of different moments may contradict each other: a node counts more members than the node above says, or none
    where one was found. Here no node counts more than the nearest one above says, and each counts `members`. So those
    ahead of a sort value and at it are never more than the total, nor than those ahead of a later one. Nodes of one
    moment stay as they are. `nodes` must contain those of `nodes_for` of each member.
    """
    held = deltas((None, number) for number in members)
    found: dict[Path, Counters] = {}
    for node in sorted({**nodes, **held}, key=len):
        mine = held.get(node, {})
        counters = dict(nodes.get(node, {}))
        counters.update((digit, count) for digit, count in mine.items() if count > counters.get(digit, 0))
        above = [node[:length] for length in range(len(node)) if node[:length] in found][-1:]
        for nearest in above:
            room = found[nearest].get(node[len(nearest)], 0)
            if sum(counters.values()) > room:
                counters = _first(counters, room, mine)
        found[node] = counters
    return found


def _first(counters: Counters, room: int, held: Counters) -> dict[int, int]:
    """The first `room` members of a node, with room kept for those that are `held`."""
    kept: dict[int, int] = {}
    room -= sum(held.values())
    for digit in sorted(counters):
        more = min(counters[digit] - held.get(digit, 0), room)
        kept[digit] = held.get(digit, 0) + more
        room -= more
    return kept


def deltas(moves: Iterable[tuple[int | None, int | None]]) -> dict[Path, dict[int, int]]:
    """The net change of every counter when members move from one sort value to another (None: not in the list).

    A move from -300 to -301 changes one leaf: `{(62, 125): {83: -1, 82: 1}}`.
    """
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
    """The counters of a node, added up over its lanes: `{83: 1}` of `[{83: 2}, {83: -1}]`."""
    total: dict[int, int] = {}
    for counters in lanes:
        for digit, count in counters.items():
            total[digit] = total.get(digit, 0) + count
    return total


def histogram(most: int, nodes: Nodes, *, descending: bool) -> list["Bin"]:
    """The distribution of scores: the members in at most `most` bins, ascending, without gaps.

    It needs the tree alone, of which `unread` named the nodes to read. No bin contains scores on both sides of 0,
    unless `most` is 1.

    All bins have the same width: the smallest power of two at which few enough bins reach from the lowest score to the
    highest. Bins are aligned at 0, like tiers, which are 128^k wide. So a bin is the sum of 2^r tiers. Bin m holds the
    scores from m * width to (m + 1) * width - 1, or on the other side of 0 their negatives. 0 belongs to the positive
    side. In the tree, 0 is among the sort values that are not negative: if the highest score leads, those are the
    negative scores. Then the leaf of 0 gives the number of members to move to the positive side.
    """
    if not any(count > 0 for count in nodes.get(ROOT, {}).values()):
        return []
    level = _extent(nodes, most, descending=descending).bits // _DIGIT_BITS
    counts = _counts(level, nodes, descending=descending)
    if not counts:
        return []
    bits, low, high = level * _DIGIT_BITS, min(counts), max(counts)
    wider = _wider(low, high, bits, most)
    members: Counter[int] = Counter()
    for index, count in counts.items():
        members[index >> wider] += count
    ranges = ((index, _bounds(index, bits + wider)) for index in range(low >> wider, (high >> wider) + 1))
    bins = [Bin(start, end, members[index]) for index, (start, end) in ranges if start <= end]
    return bins if len(bins) <= most else [Bin(bins[0].low, bins[-1].high, sum(one.members for one in bins))]


class Bin(NamedTuple):
    """A range of scores, both ends included, in units of the metric, and how many members have one of them."""

    low: int
    high: int
    members: int


def unread(most: int, nodes: Nodes, *, descending: bool) -> list[Path]:
    """The nodes to read next for `histogram`, the root first; none when it has all that it needs.

    The width of bins depends on the lowest and the highest score alone. So first come the paths to these two, as deep
    as needed, then the nodes between them. There are at most 10 rounds and `most` ÷ 2 + 20 nodes, for any scores.
    `most` is at least 1.
    """
    root = nodes.get(ROOT)
    if root is None:
        return [ROOT]
    if not any(count > 0 for count in root.values()):
        return []
    extent = _extent(nodes, most, descending=descending)
    leaf_of_zero = _ZERO[:-1]
    if descending and root.get(_ZERO[0], 0) > 0 and leaf_of_zero not in nodes:
        return sorted(extent.finer | {leaf_of_zero})
    if extent.finer and extent.bits == extent.level * _DIGIT_BITS:
        return sorted(extent.finer)
    between = _between(extent, extent.bits // _DIGIT_BITS)
    return [node for node in between if node not in nodes and _may_count(node, nodes)]


_ZERO: Final = path(0)
_DIGIT_BITS: Final = FANOUT.bit_length() - 1


class _Extent(NamedTuple):
    """The first and the last sort value, exact to 128^`level` units. `finer` are the nodes to read for more.

    Bins are 2^`bits` wide: that is the smallest known width that needs few enough.
    """

    first: int
    last: int
    level: int
    finer: frozenset[Path]
    bits: int


def _extent(nodes: Nodes, most: int, *, descending: bool) -> _Extent:
    edges = _edge(nodes, end=min), _edge(nodes, end=max)
    # A node that was read and counts nobody, because it is from another moment, is not read again.
    levels = {node: 1 + depth(node[0]) - len(node) for node in edges if node not in nodes}
    level = max(levels.values(), default=0)
    finer = frozenset(node for node, height in levels.items() if height == level > 0)
    first, last = span(edges[0])[0], span(edges[1])[1]
    low, high = sorted(sort_value(number, descending=descending) for number in (first, last))
    bits = level * _DIGIT_BITS
    return _Extent(first, last, level, finer, bits + _wider(_index(low, bits), _index(high, bits), bits, most))


def _edge(nodes: Nodes, *, end: Callable[[list[int]], int]) -> Path:
    """The path to the first or the last member, as far as nodes were read."""
    node = ROOT
    while digits := [digit for digit, count in nodes.get(node, {}).items() if count > 0]:
        node = (*node, end(digits))
    return node


def _index(score: int, bits: int) -> int:
    """The index of a score's bin, below 0 for negative scores. Shifted right, it is the index of a wider bin."""
    return score >> bits if score >= 0 else ~(-score >> bits)


def _wider(low: int, high: int, bits: int, most: int) -> int:
    """By how many bits bins that are 2^`bits` wide must be wider, so that few enough reach from `low` to `high`.

    Both are indexes. At a width of one unit, bin -1 is empty and left out. The two bins at 0 are only joined later.
    """
    both_sides = low < 0 <= high
    wider = 0
    while (high >> wider) - (low >> wider) + 1 - (both_sides and bits + wider == 0) > max(most, 1 + both_sides):
        wider += 1
    return wider


def _bounds(index: int, bits: int) -> tuple[int, int]:
    if index >= 0:
        return index << bits, min(((index + 1) << bits) - 1, MAX_UNITS)
    return max(1 - (-index << bits), -MAX_UNITS), -max(~index << bits, 1)


def _between(extent: _Extent, level: int) -> Iterator[Path]:
    """The nodes whose children are 128^`level` wide, from the first sort value to the last."""
    bits = (level + 1) * _DIGIT_BITS
    first, last = extent.first, extent.last
    for sign, nearest, furthest in ((-1, -last, -first), (1, first, last)):
        if furthest < 0 or (sign < 0 and furthest == 0):
            continue
        for index in range(max(nearest, 0) >> bits, (furthest >> bits) + 1):
            if index:
                yield path(sign * (index << bits))[: -(level + 1)]
            else:
                yield path(sign * FANOUT**level)[:1]


def _may_count(node: Path, nodes: Nodes) -> bool:
    """Whether every node above that was read counts members in this direction."""
    above = ((nodes.get(node[:length]), digit) for length, digit in enumerate(node))
    return all(counters is None or counters.get(digit, 0) > 0 for counters, digit in above)


def _counts(level: int, nodes: Nodes, *, descending: bool) -> dict[int, int]:
    """The members by index of a bin that is 128^`level` wide."""
    counts: Counter[int] = Counter()
    for head, count in nodes[ROOT].items():
        if depth(head) <= level:
            counts[_on_its_side(0, head, descending=descending)] += count
    for node, counters in nodes.items():
        if node and depth(node[0]) - len(node) == level:
            # `sort_value_at` takes the digits of a node as a number that is shorter by the missing digits.
            start = abs(sort_value_at(node)) * FANOUT
            mirror = FANOUT - 1 if node[0] < _ZERO[0] else 0
            for digit, count in counters.items():
                counts[_on_its_side(start + abs(mirror - digit), node[0], descending=descending)] += count
    if descending:
        zeros = nodes.get(_ZERO[:-1], {}).get(_ZERO[-1], 0)
        counts[~0] -= zeros
        counts[0] += zeros
    return {index: count for index, count in counts.items() if count > 0}


def _on_its_side(index: int, head: int, *, descending: bool) -> int:
    """The index on the side of 0 where the scores below a head are, at the same distance from 0."""
    return index if descending == (head < _ZERO[0]) else ~index
