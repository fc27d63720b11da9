"""The tier tree: a trie of counters by the digits of a score, in which ranks are looked up (order statistics).

It counts the members ahead of a score without reading them. A node is a tier: a range of scores, divided into `FANOUT`
smaller tiers. It counts the members of each. A rank is the sum of the counters ahead of a score's path, on the nodes of
the path. Nodes are mappings from path to counters, and counters from a child's digit to a number of members. A missing
node or counter counts as 0.

In a ranking with tie-breaks the path goes on: behind the digits of the score come those of the first tie-break, and so
on. No path of a number begins another's, so paths sort as the numbers do, one after the other. A path of fewer numbers
than the ranking has is a tier too: `ahead((-8,), …)` counts by the score alone. How many numbers a whole path has is
called `components`.

`undivided` and `unread` name the nodes to read next, until there are none. Give a node that does not exist as `{}`.
While members move, nodes may be from different moments: then the answer is off by those moves. `agreeing` keeps it from
contradicting itself.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from standings.domain.boards import MAX_UNITS
from standings.domain.scoring import SortValues, digits_of, number_of, sort_value

Path = tuple[int, ...]
"""The digits from the root of a tree to a node, or to a place. The first digit of each sort value is a *head*: it gives
the sign and the number of digits that follow."""
Counters = Mapping[int, int]
Nodes = Mapping[Path, Counters]
FANOUT: Final = 128  # Children of a node, and so scores of a leaf. A node stays near 1 KB, which is one write unit
_MIDDLE: Final = FANOUT // 2
ROOT: Final[Path] = ()


def ahead(values: SortValues, nodes: Nodes) -> int:
    """How many members are ahead of sort values, so one less than their rank. `nodes` must contain `nodes_for` them."""
    return sum(count for _, count in _tiers_ahead(values, nodes))


def equals(values: SortValues, nodes: Nodes) -> int:
    """How many members share sort values. `nodes` must contain `nodes_for` them."""
    *leaf, digit = path(values)
    return nodes.get(tuple(leaf), {}).get(digit, 0)


def nodes_for(values: SortValues) -> list[Path]:
    """The nodes that give the rank of sort values, and that count them: the root first, their leaf last."""
    return list(prefixes(path(values)))


# One move needs a path several times, and members share scores.
@lru_cache(maxsize=16384)
def path(values: SortValues) -> Path:
    """The path to sort values: of each a head, then base-128 digits. `(300,)` has the path `(66, 2, 44)`."""
    return tuple(digit for number in values for digit in _path_of(number))


def _path_of(number: int) -> Path:
    digits = digits_of(number, FANOUT)
    return (_MIDDLE + len(digits) if number >= 0 else _MIDDLE - len(digits), *digits)


def values_at(full_path: Path) -> SortValues:
    """The sort values at the end of a path: the inverse of `path`."""
    return tuple(_sort_value_at(full_path[start:end]) for start, end in _parts(full_path))


def _sort_value_at(digits: Path) -> int:
    return number_of(digits[1:], FANOUT, negative=digits[0] < _MIDDLE)


def _parts(of: Path) -> Iterator[tuple[int, int]]:
    """Where the digits of each sort value begin and end in a path. The last ones may be missing."""
    start = 0
    while start < len(of):
        end = start + 1 + depth(of[start])
        yield start, end
        start = end


def is_whole(of: Path, components: int) -> bool:
    """Whether a path leads to a place: it has all digits of all sort values."""
    end = 0
    for _ in range(components):
        if end >= len(of):
            return False
        end += 1 + depth(of[end])
    return end == len(of)


def depth(head: int) -> int:
    """How many digits follow a head."""
    return abs(head - _MIDDLE)


def prefixes(full_path: Path) -> Iterator[Path]:
    """The nodes that count a place: the root first, its leaf last."""
    for length in range(len(full_path)):
        yield full_path[:length]


def span(tier: Path) -> tuple[SortValues, SortValues]:
    """The first and the last sort values of a tier: `((-383,), (-256,))` of the leaf `(62, 125)`.

    If the tier has digits of several sort values, all but the last are the same. The root is no such tier, and neither
    is one where the digits of a sort value end and those of the next begin.
    """
    *whole, (start, end) = _parts(tier)
    same, rest = tuple(_sort_value_at(tier[first:last]) for first, last in whole), tier[start:]
    missing, digits = end - len(tier), depth(rest[0])
    low = _sort_value_at(rest + (0,) * missing)
    high = _sort_value_at(rest + (FANOUT - 1,) * missing)
    # A number nearer to 0 has fewer digits, and so another head.
    least = FANOUT ** (digits - 1)
    if rest[0] < _ZERO[0]:
        high = min(high, -least)
    elif digits > 1:
        low = max(low, least)
    return (*same, low), (*same, high)


def is_leaf(node: Path, components: int) -> bool:
    """Whether a node's children are places."""
    return is_whole((*node, 0), components)


def _tiers_ahead(values: SortValues, nodes: Nodes) -> Iterator[tuple[Path, int]]:
    """The tiers ahead of sort values that are children of their nodes, with the number of members in each."""
    full_path = path(values)
    for length, own_digit in enumerate(full_path):
        node = full_path[:length]
        for digit, count in nodes.get(node, {}).items():
            if digit < own_digit:
                yield (*node, digit), count


def undivided(values: SortValues, nodes: Nodes, components: int) -> dict[Path, int]:
    """The nodes to read next to count the distinct places ahead of one, with the number of members in each.

    `nodes` must contain those of `nodes_for`. For several places, pass the last one. A tier of one member is not read:
    so at each level, at most half as many nodes are read as there are members ahead.
    """
    unread: dict[Path, int] = {}
    tiers = list(_tiers_ahead(values, nodes))
    while tiers:
        tier, count = tiers.pop()
        if not _is_divisible(tier, count, components):
            continue
        if tier not in nodes:
            unread[tier] = count
        else:
            tiers += [((*tier, digit), members) for digit, members in nodes[tier].items()]
    return unread


def distinct_ahead(places: Iterable[SortValues], nodes: Nodes, components: int) -> dict[SortValues, int]:
    """How many distinct places are ahead of each, once nothing is `undivided`: `{(-300,): 0, (-295,): 1}`."""
    known: dict[Path, int] = {}

    def distinct(tier: Path, count: int) -> int:
        if not _is_divisible(tier, count, components):
            return 1 if count > 0 else 0
        if tier not in known:
            below = sum(distinct((*tier, digit), members) for digit, members in nodes.get(tier, {}).items())
            # Only nodes from different moments can be out of these bounds.
            known[tier] = min(count, max(1, below))
        return known[tier]

    return {values: sum(distinct(*tier) for tier in _tiers_ahead(values, nodes)) for values in places}


def _is_divisible(tier: Path, count: int, components: int) -> bool:
    return count > 1 and not is_whole(tier, components)


def percentile(ahead: int, total: int) -> int:
    """The share of a list's `total` members that are not ahead of a member, in hundredths of a percent, rounded down.

    It is never more than is true: 10,000 only if nobody is ahead, 9,999 for the second of 20,001, and 0 for the last of
    them. So the member is at or ahead of the score at any percentile up to its own (`position_at`).
    """
    return 10_000 * (total - ahead) // total


def position_at(numerator: int, denominator: int, total: int) -> int:
    """The last position (from 0) with a percentile of at least `numerator` / `denominator`; at 0 the one behind all."""
    return total * (100 * denominator - numerator) // (100 * denominator)


def select(position: int, fetch: Callable[[Path], Counters], components: int) -> "Selected | None":
    """The sort values at a position (from 0); None beyond the end. `fetch` reads a node, once for each digit."""
    passed = 0
    node = ROOT
    while not is_whole(node, components):
        for digit, count in sorted(fetch(node).items()):
            if position < passed + count:
                node = (*node, digit)
                break
            passed += count
        else:
            return None
    return Selected(values_at(node), passed, count)


class Selected(NamedTuple):
    """The sort values at a position, how many members are ahead of them, and how many share them."""

    values: SortValues
    ahead: int
    equals: int


def agreeing(nodes: Nodes, members: Iterable[SortValues] = ()) -> dict[Path, Counters]:
    """The nodes without contradictions, and with the members that were found at these sort values.

    Nodes of different moments may contradict each other: a node counts more members than the node above says, or none
    where one was found. Here no node counts more than the nearest one above says, and each counts `members`. So those
    ahead of a place and at it are never more than the total, nor than those ahead of a later one. Nodes of one
    moment stay as they are. `nodes` must contain those of `nodes_for` of each member.
    """
    held = deltas((None, values) for values in members)
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


def deltas(moves: Iterable[tuple[SortValues | None, SortValues | None]]) -> dict[Path, dict[int, int]]:
    """The net changes of counters when members move (None: not in the list): `{(62, 125): {83: -1, 82: 1}}`."""
    net: dict[Path, dict[int, int]] = {}
    for old, new in moves:
        for values, change in ((old, -1), (new, 1)):
            if values is None or old == new:
                continue
            full_path = path(values)
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

    It needs the tree alone, of which `unread` named the nodes to read. It goes by the score, whatever the
    tie-breaks. No bin contains scores on both sides of 0, unless `most` is 1.

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
    as needed, then the nodes between them. There are at most 10 rounds and `most` (at least 1) ÷ 2 + 20 nodes.
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


_ZERO: Final = path((0,))
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
    (first,), (last,) = span(edges[0])[0], span(edges[1])[1]
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
                yield _path_of(sign * (index << bits))[: -(level + 1)]
            else:
                yield _path_of(sign * FANOUT**level)[:1]


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
            # The digits of a node are taken as a number that is shorter by the missing digits.
            start = abs(_sort_value_at(node)) * FANOUT
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
