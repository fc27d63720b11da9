"""Numbers ranks: competition (1224), ordinal (1234) or dense (1223), as whoever reads chooses.

Competition ranks come from the tiers on one path. What lies within a group of equals has no tiers below it, so an
ordinal rank reads the equals ahead; a dense one reads the tiers ahead down to where each score is alone. Both are
bounded.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, Literal, NamedTuple, cast

from standings.domain.errors import TooFarError, bad_argument
from standings.domain.events.event import MAX_SHOWN_LENGTH
from standings.domain.scoring.sort_order import encode_sortable
from standings.domain.tiers import tier_tree
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.ranking_reads import Entry, Node, Span
from standings.read.reader import RankingReads
from standings.read.shard_merge import fair_share

Method = Literal["competition", "ordinal", "dense"]
METHODS: Final = ("competition", "ordinal", "dense")

MAX_EQUALS: Final = 10_000
"""Equals that are passed one by one to tell an ordinal rank or a position among them."""

MAX_SCORES: Final = 100_000
"""Different scores ahead that a dense rank counts."""

ENTRIES_OF_A_NODE: Final = 36
"""Entries of the index that are read for the price of one node: half a read unit, 4 KB."""

MAX_ENTRIES: Final = 200_000
"""Entries that are read in place of nodes at most: they take seconds, where dearer nodes come side by side."""

TRIES: Final = 3
"""How often a way down the tiers is tried while members move."""

_AT_ONCE: Final = 10_000


def method_of(text: str | None) -> Method:
    """The method that a reader names."""
    if text is None:
        return "competition"
    if text not in METHODS:
        raise bad_argument("method", f"must be one of {', '.join(METHODS)}, is {text[:MAX_SHOWN_LENGTH]!r}")
    return cast("Method", text)


def counters_of(nodes: Mapping[Path, Node]) -> dict[Path, tier_tree.Counters]:
    """The counters of nodes; there is always a root."""
    counters: dict[Path, tier_tree.Counters] = {path: node.counters for path, node in nodes.items()}
    counters.setdefault(ROOT, {})
    return counters


def select(
    reads: RankingReads, position_of: Callable[[int], int], nodes: dict[Path, Node]
) -> tier_tree.Selected | None:
    """What stands at a position (from 0) of a list, which may depend on the total; None beyond its end.

    The nodes on the way are added to `nodes`, the root among them.
    """

    def fetch(path: Path) -> tier_tree.Counters:
        if path not in nodes:
            nodes.update(reads.nodes([path]))
        return nodes[path].counters if path in nodes else {}

    found = None
    for _ in range(TRIES):
        total = tier_tree.total(fetch(ROOT))
        position = position_of(total)
        found = tier_tree.select(position, fetch)
        if found is not None or position >= total:
            break
        # The nodes are of different moments: a member has moved on the way down. Once more, from the root.
        nodes.clear()
    return found


class Base(NamedTuple):
    """What the ranks of entries that follow one another are told by.

    Of the first of them: how many members stand ahead of all its equals, how many equals there are, and how many of
    these stand ahead of it (None: not counted yet).
    """

    ahead: int
    equals: int
    equals_ahead: int | None


def base_of(entry: Entry, nodes: Mapping[Path, Node]) -> Base:
    """The base of a page that begins with an entry; `nodes` holds those of its path."""
    counters = counters_of(nodes)
    number = entry.place.sort_value
    return Base(tier_tree.ahead(number, counters), tier_tree.equals(number, counters), None)


def page_ranks(
    reads: RankingReads, entries: Sequence[Entry], base: Base, nodes: Mapping[Path, Node], method: Method
) -> Iterator[int]:
    """The ranks of entries that follow one another in a list."""
    if not entries:
        return
    groups = _groups(entries)
    if method == "ordinal":
        ahead = base.equals_ahead
        if ahead is None:
            ahead = equals_ahead(reads, [(entries[0], base.equals)])[0]
        first = base.ahead + ahead + 1
        yield from range(first, first + len(entries))
    elif method == "dense":
        number = entries[0].place.sort_value
        first = 1 + distinct_ahead(reads, [number], nodes)[number] if base.ahead else 1
        for position, size in enumerate(groups):
            yield from [first + position] * size
    else:
        rank = base.ahead + 1
        for position, size in enumerate(groups):
            yield from [rank] * size
            # Of the first group some may stand ahead of the page; of the last, nothing more is asked.
            rank += max(base.equals, size) if position == 0 and base.equals_ahead != 0 else size


def ranks(reads: RankingReads, entries: Sequence[Entry], nodes: Mapping[Path, Node], method: Method) -> dict[str, int]:
    """The ranks of entries from anywhere in a list, by member; `nodes` holds those of all their paths."""
    counters = counters_of(nodes)
    if method == "dense":
        distinct = distinct_ahead(reads, {entry.place.sort_value for entry in entries}, nodes)
        return {entry.member: distinct[entry.place.sort_value] + 1 for entry in entries}
    ahead = {entry.member: tier_tree.ahead(entry.place.sort_value, counters) + 1 for entry in entries}
    if method == "ordinal":
        equals = [(entry, tier_tree.equals(entry.place.sort_value, counters)) for entry in entries]
        for entry, passed in zip(entries, equals_ahead(reads, equals), strict=True):
            ahead[entry.member] += passed
    return ahead


def equals_ahead(reads: RankingReads, entries: Sequence[tuple[Entry, int]]) -> list[int]:
    """How many equals of each entry stand ahead of it, given how many equals there are.

    They are read one by one, so no more than `MAX_EQUALS` of them.
    """
    asked = sorted((entry for entry, equals in entries if equals > 1), key=lambda entry: entry.key)
    if not asked:
        return [0] * len(entries)
    # From one of the group to the next, so that none of their equals is read twice.
    starts = [encode_sortable(entry.place.sort_value) for entry in asked]
    ranges = [
        (before.key if before is not None and before.place.sort_value == entry.place.sort_value else start, entry.key)
        for start, before, entry in zip(starts, [None, *asked], asked, strict=False)
    ]
    counts = reads.counts(ranges, MAX_EQUALS + 2)
    ahead: dict[str, int] = {}
    for entry, (start, key), count in zip(asked, ranges, counts, strict=True):
        # The last of a range is the entry itself, unless it moved just now.
        ahead[key] = ahead.get(start, 0) + max(0, count - 1)
        if ahead[key] > MAX_EQUALS:
            detail = f"method: more than {MAX_EQUALS:,} equals stand ahead of {entry.member!r}: ask for another method"
            raise TooFarError(detail)
    return [ahead.get(entry.key, 0) for entry, _ in entries]


def distinct_ahead(reads: RankingReads, numbers: Iterable[int], nodes: Mapping[Path, Node]) -> dict[int, int]:
    """How many different ordinals stand ahead of each of some.

    Tiers are divided until each has one score or is a leaf. Where they are thinly filled it is the entries that are
    read, if that is less.
    """
    wanted = set(numbers)
    if not wanted:
        return {}
    furthest = max(wanted)
    counters = counters_of(nodes)

    def read(paths: Iterable[Path]) -> None:
        asked = [path for path in paths if path not in counters]
        if asked:
            found = reads.nodes(asked)
            counters.update((path, found[path].counters if path in found else {}) for path in asked)

    read({path: None for number in wanted for path in tier_tree.nodes_for(number)})
    while undivided := tier_tree.undivided(furthest, counters):
        if len(undivided) > MAX_SCORES:
            raise _too_many_scores()
        ahead = tier_tree.ahead(furthest, counters)
        if ahead <= min(len(undivided) * ENTRIES_OF_A_NODE, MAX_ENTRIES):
            return _distinct_entries_ahead(reads, wanted, ahead)
        read(undivided)
    distinct = tier_tree.distinct_ahead(wanted, counters)
    if max(distinct.values()) > MAX_SCORES:
        raise _too_many_scores()
    return distinct


def _distinct_entries_ahead(reads: RankingReads, wanted: set[int], ahead: int) -> dict[int, int]:
    furthest = max(wanted)
    found: set[int] = set()
    shards = reads.shards()
    spans = [Span(shard, None, min(_AT_ONCE, fair_share(ahead + 1, shards))) for shard in range(shards)]
    while spans:
        read, _ = reads.spans(spans, [])
        ahead -= sum(map(len, read))
        found.update(
            entry.place.sort_value for entries in read for entry in entries if entry.place.sort_value < furthest
        )
        if len(found) > MAX_SCORES:
            raise _too_many_scores()
        left = [
            (span.shard, entries[-1].key)
            for span, entries in zip(spans, read, strict=True)
            if len(entries) == span.limit and entries[-1].place.sort_value < furthest
        ]
        share = min(_AT_ONCE, fair_share(max(ahead, 0) + 1, len(left))) if left else 0
        spans = [Span(shard, key, share) for shard, key in left]
    ordered = sorted(found)
    return {number: bisect_left(ordered, number) for number in wanted}


def _too_many_scores() -> TooFarError:
    return TooFarError(f"method: more than {MAX_SCORES:,} different scores stand ahead: ask for another method")


def _groups(entries: Sequence[Entry]) -> list[int]:
    """The sizes of the groups of equals in a row of entries."""
    return [sum(1 for _ in group) for _, group in groupby(entries, key=lambda entry: entry.place.sort_value)]
