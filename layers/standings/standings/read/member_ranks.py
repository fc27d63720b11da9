"""Ranks of members: of one, of a group, of one in many rankings; all from entries, then the tiers on their paths."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from standings.domain.boards.ranking import Ranking
from standings.domain.tiers import tier_tree
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.ranking_reads import Entry, Node
from standings.read.rank_numbering import Method, counters_of, ranks
from standings.read.reader import RankingReads, Request


class Ranked(NamedTuple):
    """A member's rank by some method; `ahead` members stand ahead of it and all its equals, of `total` altogether."""

    entry: Entry
    rank: int
    ahead: int
    total: int


class Ranks(NamedTuple):
    """Ranks of members that have one, by member, and what was read of the ranking."""

    of: Mapping[str, Ranked]
    nodes: Mapping[Path, Node]
    total: int


def read_ranks(request: Request, wanted: Sequence[tuple[Ranking, str]], method: Method) -> dict[Ranking, Ranks]:
    """The ranks of members, each in a ranking: two round trips, however many there are.

    Of a ranking in which nobody asked for has a place only the root is read.
    """
    found = request.store.entries(wanted)
    entries: dict[Ranking, list[Entry]] = {ranking: [] for ranking, _ in wanted}
    for (ranking, _), entry in found.items():
        entries[ranking].append(entry)
    paths = {(ranking, path): None for ranking, some in entries.items() for path in _paths(some)}
    nodes = request.store.nodes(list(paths))
    by_ranking: dict[Ranking, dict[Path, Node]] = {ranking: {} for ranking in entries}
    for (ranking, path), node in nodes.items():
        by_ranking[ranking][path] = node
    return {
        ranking: _ranks(request.reads(ranking), some, by_ranking[ranking], method) for ranking, some in entries.items()
    }


def _paths(entries: Iterable[Entry]) -> set[Path]:
    return {ROOT, *(path for entry in entries for path in tier_tree.nodes_for(entry.place.sort_value))}


def _ranks(reads: RankingReads, entries: Sequence[Entry], nodes: Mapping[Path, Node], method: Method) -> Ranks:
    counters = counters_of(nodes)
    ahead = {entry.member: tier_tree.ahead(entry.place.sort_value, counters) for entry in entries}
    # Entries and tiers are read one after the other: while they move, the members themselves are there at least.
    total = max(tier_tree.total(counters[ROOT]), max(ahead.values(), default=-1) + 1)
    reads.shards(nodes)
    numbered = ranks(reads, entries, nodes, method)
    of = {entry.member: Ranked(entry, numbered[entry.member], ahead[entry.member], total) for entry in entries}
    return Ranks(of, nodes, total)
