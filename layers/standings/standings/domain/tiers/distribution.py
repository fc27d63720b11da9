"""The distribution of scores, for charts: how many members have a score within each range, from the tiers alone.

All ranges (buckets) are a power of two of units wide, the finest of which few enough reach from the lowest score to the
highest. They are aligned at 0, as what a node's children count is, 128^k wide: so a bucket is the sum of 2^r
neighbours. What is nearer to 0 has a shorter path, and lies within the first such range as a whole.

A bucket holds scores from m × width to (m + 1) × width - 1, and their negatives; 0 is among the former, and so one of
the latter is a unit narrower. In tiers, 0 stands with the scores behind it: where the highest leads, they are negative,
and the leaf of 0 says how many members to count elsewhere.

The width follows from the lowest and the highest score alone. So these are traced first, as far down as is needed,
and then the nodes between them are read: at most half as many as buckets, and one or two for each level above.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from standings.domain.boards.definitions import MAX_UNITS
from standings.domain.scoring.sort_order import sort_value
from standings.domain.tiers.tier_path import FANOUT, Path, depth, path, sort_value_at
from standings.domain.tiers.tier_tree import Nodes, span

_ROOT: Final[Path] = ()
_ZERO: Final = path(0)
_DIGIT_BITS: Final = FANOUT.bit_length() - 1


class Bucket(NamedTuple):
    """A range of scores, both ends included, in units of the metric; and how many members have one of them."""

    low: int
    high: int
    members: int


class _Extent(NamedTuple):
    """The first and the last ordinal of a list, as closely as nodes tell; and the nodes that tell more.

    Their ranges of 128^`level` units, and any wider, are known.
    """

    first: int
    last: int
    level: int
    finer: frozenset[Path]

    def width_bits(self, most: int, *, descending: bool) -> int:
        """The finest width (2 to this power) that is known to need `most` buckets or fewer."""
        low, high = sorted(sort_value(number, descending=descending) for number in (self.first, self.last))
        bits = self.level * _DIGIT_BITS
        while _reach(_index(low, bits), _index(high, bits), bits) > _room(most, low, high):
            bits += 1
        return bits


def unread(most: int, nodes: Nodes, *, descending: bool) -> list[Path]:
    """The nodes to read next for `histogram`, the root first; none when it can be told.

    At most 10 rounds, and `most` (1 or more) ÷ 2 + 20 nodes in all: of any number of members, with any scores.
    """
    root = nodes.get(_ROOT)
    if root is None:
        return [_ROOT]
    if not any(count > 0 for count in root.values()):
        return []
    extent = _extent(nodes)
    zeros = _ZERO[:-1]
    if descending and root.get(_ZERO[0], 0) > 0 and zeros not in nodes:
        return sorted(extent.finer | {zeros})
    bits = extent.width_bits(most, descending=descending)
    if extent.finer and bits == extent.level * _DIGIT_BITS:
        return sorted(extent.finer)
    return [node for node in _between(extent, bits // _DIGIT_BITS) if node not in nodes and _may_count(node, nodes)]


def histogram(most: int, nodes: Nodes, *, descending: bool) -> list[Bucket]:
    """The members by score, in `most` buckets or fewer, ascending; `nodes` lacks none that is `unread`.

    They follow one another from the first that has members to the last. None reaches across 0, but the one that is
    left where only one is allowed and there are scores on both sides.
    """
    if not any(count > 0 for count in nodes.get(_ROOT, {}).values()):
        return []
    level = _extent(nodes).width_bits(most, descending=descending) // _DIGIT_BITS
    counts = _counts(level, nodes, descending=descending)
    if not counts:
        return []
    bits = level * _DIGIT_BITS
    low, high = min(counts), max(counts)
    room = _room(most, low, high)
    narrowing = 0
    while _reach(low >> narrowing, high >> narrowing, bits + narrowing) > room:
        narrowing += 1
    members: dict[int, int] = {}
    for index, count in counts.items():
        members[index >> narrowing] = members.get(index >> narrowing, 0) + count
    ranges = ((index, _bounds(index, bits + narrowing)) for index in range(low >> narrowing, (high >> narrowing) + 1))
    buckets = [Bucket(start, end, members.get(index, 0)) for index, (start, end) in ranges if start <= end]
    if len(buckets) > most:
        return [Bucket(buckets[0].low, buckets[-1].high, sum(bucket.members for bucket in buckets))]
    return buckets


def _index(score: int, bits: int) -> int:
    """The number of the bucket that a score is in: from 0 upwards, negative scores from -1 downwards.

    Shifting it to the right gives that of a wider bucket.
    """
    return score >> bits if score >= 0 else ~(-score >> bits)


def _bounds(index: int, bits: int) -> tuple[int, int]:
    if index >= 0:
        return index << bits, min(((index + 1) << bits) - 1, MAX_UNITS)
    return max(1 - (-index << bits), -MAX_UNITS), -max(~index << bits, 1)


def _reach(low: int, high: int, bits: int) -> int:
    """How many buckets there are from one to another. Without 0, -1 would be empty at a width of one unit."""
    return high - low + 1 - (bits == 0 and low < 0 <= high)


def _room(most: int, low: int, high: int) -> int:
    """How many buckets are allowed before the two beside 0 are joined."""
    return max(most, 2) if low < 0 <= high else most


def _extent(nodes: Nodes) -> _Extent:
    first, last = _edge(nodes, end=min), _edge(nodes, end=max)
    # What was read and counts nobody, as another moment's node may, tells no more.
    left = {way: 1 + depth(way[0]) - len(way) for way in (first, last) if way not in nodes}
    level = max(left.values(), default=0)
    finer = frozenset(way for way, digits in left.items() if digits == level > 0)
    return _Extent(span(first)[0], span(last)[1], level, finer)


def _edge(nodes: Nodes, *, end: Callable[[list[int]], int]) -> Path:
    """The way to the first or the last member, as far as it is known."""
    way = _ROOT
    while there := [digit for digit, count in nodes.get(way, {}).items() if count > 0]:
        way = (*way, end(there))
    return way


def _between(extent: _Extent, level: int) -> Iterator[Path]:
    """The nodes whose children are 128^`level` wide, from the first ordinal to the last."""
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
    """Whether none of the nodes above says that nobody is there."""
    above = ((nodes.get(node[:length]), digit) for length, digit in enumerate(node))
    return all(counters is None or counters.get(digit, 0) > 0 for counters, digit in above)


def _counts(level: int, nodes: Nodes, *, descending: bool) -> dict[int, int]:
    """The members by index of a bucket that is 128^`level` wide."""
    counts: dict[int, int] = defaultdict(int)
    for head, count in nodes[_ROOT].items():
        if depth(head) <= level:
            counts[_on_its_side(0, head, descending=descending)] += count
    for way, counters in nodes.items():
        if way and depth(way[0]) - len(way) == level:
            # A path that is cut short leads to the ordinal without its last digits.
            start = abs(sort_value_at(way)) * FANOUT
            mirror = FANOUT - 1 if way[0] < _ZERO[0] else 0
            for digit, count in counters.items():
                counts[_on_its_side(start + abs(mirror - digit), way[0], descending=descending)] += count
    if descending:
        zeros = nodes.get(_ZERO[:-1], {}).get(_ZERO[-1], 0)
        counts[~0] -= zeros
        counts[0] += zeros
    return {index: count for index, count in counts.items() if count > 0}


def _on_its_side(index: int, head: int, *, descending: bool) -> int:
    """The index of a bucket of the same distance from 0, on the side where the scores below a head are."""
    return index if descending == (head < _ZERO[0]) else ~index
