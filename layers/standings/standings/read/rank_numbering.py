"""Numbers ranks in three ways: competition (1, 2, 2, 4), ordinal (1, 2, 3, 4) and dense (1, 2, 2, 3).

- Competition ranks come from the tier nodes on the path of a score.
- Ordinal ranks also count the members of equal score that are ahead, by reading them: tiers do not divide equals.
- Dense ranks count the different scores ahead, by reading the tiers ahead down to single scores.

The last two read up to a bound and raise TooFarError beyond it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from standings.domain.errors import TooFarError
from standings.domain.scoring.sort_order import encode_sortable
from standings.domain.tiers import tier_tree
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.rankings import Entry, Node, Partition, Span
from standings.read.reader import BEYOND, Method, RankingReads

ENTRIES_OF_A_NODE: Final = 36  # Entries of the index that cost as much as one node: half a read unit, 4 KB
MAX_TRIES: Final = 3  # How often `select` goes down the tiers while members move
_PAGE_SIZE: Final = 10_000


class Base(NamedTuple):
    """The counts from which a page's ranks follow, for its first entry."""

    ahead: int  # Members with a better score
    equals: int  # Members with the same score, the entry included
    equals_ahead: int | None  # Those of them that come before it; None: not counted yet


def counters_of(nodes: Mapping[Path, Node]) -> dict[Path, tier_tree.Counters]:
    """The counters of nodes; a missing root counts nobody."""
    return {ROOT: {}, **{path: node.counters for path, node in nodes.items()}}


def select(
    reads: RankingReads, position_of: Callable[[int], int], nodes: dict[Path, Node]
) -> tier_tree.Selected | None:
    """The score at a position, counted from 0; None beyond the ends. `position_of` gives the position for a total.

    The nodes on the path are added to `nodes`.
    """

    def counters_at(path: Path) -> tier_tree.Counters:
        if path not in nodes:
            nodes.update(reads.nodes([path]))
        return nodes[path].counters if path in nodes else {}

    selected = None
    for _ in range(MAX_TRIES):
        total = tier_tree.total(counters_at(ROOT))
        position = position_of(total)
        if not 0 <= position < total:
            return None
        selected = tier_tree.select(position, counters_at)
        if selected is not None:
            break
        # A member moved between two reads. Start again from the root.
        nodes.clear()
    return selected


def page_ranks(
    reads: RankingReads, entries: Sequence[Entry], base: Base, nodes: Mapping[Path, Node], method: Method
) -> Sequence[int]:
    """The ranks of consecutive entries."""
    if not entries:
        return []
    if method == "ordinal":
        ahead = base.equals_ahead
        if ahead is None:
            ahead = _equals_ahead(reads, entries[:1], counters_of(nodes))[entries[0].key]
        first = base.ahead + ahead + 1
        return range(first, first + len(entries))
    numbers = [entry.place.sort_value for entry in entries]
    if method == "dense":
        first = 1 + distinct_ahead(reads, numbers[:1], nodes)[numbers[0]] if base.ahead else 1
        scores = sorted(set(numbers))
        return [first + bisect_left(scores, number) for number in numbers]
    # Some members of the first score may be ahead of the page.
    unseen = max(0, base.equals - numbers.count(numbers[0])) if base.equals_ahead != 0 else 0
    positions = [bisect_left(numbers, number) for number in numbers]
    return [base.ahead + 1 + position + (unseen if position else 0) for position in positions]


def entry_ranks(
    reads: RankingReads, entries: Sequence[Entry], nodes: Mapping[Path, Node], method: Method
) -> dict[str, int]:
    """The ranks of any entries by member; `nodes` holds the nodes on all their paths."""
    if method == "dense":
        distinct = distinct_ahead(reads, {entry.place.sort_value for entry in entries}, nodes)
        return {entry.member: distinct[entry.place.sort_value] + 1 for entry in entries}
    counters = counters_of(nodes)
    equals_ahead = _equals_ahead(reads, entries, counters) if method == "ordinal" else {}
    return {
        entry.member: tier_tree.ahead(entry.place.sort_value, counters) + equals_ahead.get(entry.key, 0) + 1
        for entry in entries
    }


def _equals_ahead(reads: RankingReads, entries: Sequence[Entry], counters: tier_tree.Nodes) -> dict[str, int]:
    """How many members of equal score are ahead of each entry, by key."""
    ahead = {entry.key: 0 for entry in entries}
    tied = [entry for entry in entries if tier_tree.equals(entry.place.sort_value, counters) > 1]
    if not tied:
        return ahead
    tied.sort(key=lambda entry: entry.key)
    # Count from one entry to the next of the same score, so that no entry is read twice.
    last_keys: dict[int, str] = {}
    ranges: list[tuple[str, str]] = []
    for entry in tied:
        number = entry.place.sort_value
        ranges.append((last_keys.get(number, encode_sortable(number)), entry.key))
        last_keys[number] = entry.key
    most = reads.limits.equals
    # The count of a range includes its last entry.
    counts = reads.counts(ranges, most + len(ranges))
    if counts is None:
        whom, less = (repr(tied[0].member), "") if len(tied) == 1 else ("these members", "for fewer members, or ")
        detail = f"method: more than {most:,} equals stand ahead of {whom}: ask {less}for another method"
        raise TooFarError(detail)
    for (start, key), count in zip(ranges, counts, strict=True):
        # The count includes the entry itself, unless it just moved.
        ahead[key] = ahead.get(start, 0) + max(0, count - 1)
    return ahead


def distinct_ahead(reads: RankingReads, numbers: Iterable[int], nodes: Mapping[Path, Node]) -> dict[int, int]:
    """How many different scores are ahead of each sort value.

    Reads tiers until each has one score or is a leaf. Where the tiers hold few members, it reads the entries instead.
    """
    sort_values = set(numbers)
    if not sort_values:
        return {}
    furthest = max(sort_values)
    counters = counters_of(nodes)

    nodes_left = reads.limits.nodes

    def read(paths: Iterable[Path]) -> None:
        unread = [path for path in paths if path not in counters]
        if unread:
            read_nodes = reads.nodes(unread)
            counters.update((path, read_nodes[path].counters if path in read_nodes else {}) for path in unread)

    read({path: None for number in sort_values for path in tier_tree.nodes_for(number)})
    while undivided := tier_tree.undivided(furthest, counters):
        _check_scores(reads, len(undivided))
        ahead = tier_tree.ahead(furthest, counters)
        if ahead <= min(len(undivided) * ENTRIES_OF_A_NODE, reads.limits.entries):
            return _distinct_entries_ahead(reads, sort_values, ahead)
        if (nodes_left := nodes_left - len(undivided)) < 0:
            raise TooFarError("method: too many different scores stand ahead, far apart: ask for another method")
        read(undivided)
    distinct = tier_tree.distinct_ahead(sort_values, counters)
    _check_scores(reads, max(distinct.values()))
    return distinct


def _distinct_entries_ahead(reads: RankingReads, sort_values: set[int], ahead: int) -> dict[int, int]:
    """The same from the sorted index, which has about `ahead` entries to read."""
    furthest = max(sort_values)
    scores: set[int] = set()
    last_keys: list[tuple[Partition, str | None]] = [(partition, None) for partition in reads.partitions({})]
    while last_keys:
        share = min(_PAGE_SIZE, max(ahead, 0) // len(last_keys) + 1 + BEYOND)
        parts, _ = reads.spans([Span(partition, key, share) for partition, key in last_keys], [])
        ahead -= sum(map(len, parts))
        scores.update(number for part in parts for entry in part if (number := entry.place.sort_value) < furthest)
        _check_scores(reads, len(scores))
        last_keys = [
            (partition, part[-1].key)
            for (partition, _), part in zip(last_keys, parts, strict=True)
            if len(part) == share and part[-1].place.sort_value < furthest
        ]
    ordered = sorted(scores)
    return {number: bisect_left(ordered, number) for number in sort_values}


def _check_scores(reads: RankingReads, count: int) -> None:
    if count > (most := reads.limits.scores):
        raise TooFarError(f"method: more than {most:,} different scores stand ahead: ask for another method")
