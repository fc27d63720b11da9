"""Pages of a list: the first, those that cursors lead to in both directions, and those at a position or a member.

The entries of a page come from the index, their ranks from the tiers at each read: so a rank is right even where the
page before was read a while ago.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from standings.domain.boards.ranking import Ranking
from standings.domain.errors import TooFarError, bad_argument
from standings.domain.scoring.sort_order import decode_sort_key, encode_sortable
from standings.domain.tiers import tier_tree
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.ranking_reads import Entry, Node
from standings.read import cursors
from standings.read.cursors import ENDS, Cursor
from standings.read.rank_numbering import MAX_EQUALS, METHODS, Base, Method, base_of, counters_of, select
from standings.read.reader import RankingReads
from standings.read.shard_merge import read_around, read_stretch

MAX_ENTRIES: Final = 1_000
MAX_RADIUS: Final = 100


class Page(NamedTuple):
    """Entries, what tells their ranks, the nodes that were read, and the keys to read on from (None at the ends).

    A page that others have left empty leads to the list's end that it is at: whoever stands at its place is not passed.
    """

    reads: RankingReads
    entries: Sequence[Entry]
    base: Base
    nodes: dict[Path, Node]
    previous: str | None
    following: str | None


_NOBODY: Final = Base(0, 0, 0)


def read_page(reads: RankingReads, limit: int, at: Cursor | None) -> Page:
    """The page that a cursor leads to, or the first."""
    _check_limit(limit)
    if at is None:
        return _first(reads, limit)
    reads = reads.of_period(at.period)
    if at.forward:
        return _first(reads, limit) if at.key == ENDS else _after(reads, at.key, limit)
    return _before(reads, None if at.key == ENDS else at.key, limit)


def page_at(reads: RankingReads, rank: int, limit: int) -> Page:
    """The page that begins at a position (from 1) of the list: down the tiers, then past equals ahead of it."""
    _check_limit(limit)
    if rank < 1:
        raise bad_argument("rank", f"must be at least 1, is {rank}")
    nodes: dict[Path, Node] = {}
    found = select(reads, lambda _: rank - 1, nodes)
    if found is None:
        there = tier_tree.total(counters_of(nodes)[ROOT])
        return Page(reads, [], _NOBODY, nodes, ENDS if there else None, None)
    skipped = rank - 1 - found.ahead
    if skipped > MAX_EQUALS:
        raise TooFarError(f"rank: more than {MAX_EQUALS:,} members of equal score stand ahead of it: page on from them")
    group = encode_sortable(found.sort_value)
    stretch = read_stretch(reads, group, skipped + limit + 1, [], forward=True)
    shown = stretch.entries[skipped : skipped + limit]
    base = Base(found.ahead, found.equals, skipped)
    if shown and shown[0].place.sort_value != found.sort_value:
        # Equals have left since the tiers were read: the entries are what is there.
        _read_path(reads, shown[0], nodes)
        base = base_of(shown[0], nodes)
    following = shown[-1].key if len(stretch.entries) > skipped + limit else None
    previous = None if rank == 1 else shown[0].key if shown else ENDS
    return Page(reads, shown, base, {**nodes, **stretch.nodes}, previous, following)


def page_around(reads: RankingReads, entry: Entry, radius: int) -> Page:
    """A member's entry with its neighbours on both sides."""
    ahead, behind, nodes = read_around(reads, entry, radius + 1, tier_tree.nodes_for(entry.place.sort_value))
    shown = [*ahead[:radius][::-1], entry, *behind[:radius]]
    _read_path(reads, shown[0], nodes)
    return Page(
        reads,
        shown,
        base_of(shown[0], nodes),
        nodes,
        shown[0].key if len(ahead) > radius else None,
        shown[-1].key if len(behind) > radius else None,
    )


def cursor_at(ranking: Ranking, end: str | None, method: Method, *, forward: bool) -> str | None:
    """The cursor that reads on from a key; None where the list ends."""
    return None if end is None else cursors.encode_cursor(Cursor(ranking.period, forward, end, method), ranking)


def read_cursor(reads: RankingReads, text: str, *, method: Method | None, named: bool) -> Cursor:
    """The cursor in a text; 400 where it is none, or of another list than the reader names.

    `method` is the one that is named, if any; `named` says that the ranking's period is.
    """
    ranking = reads.ranking
    try:
        cursor = cursors.decode_cursor(text, ranking)
    except ValueError as error:
        raise bad_argument("cursor", "is altered, or of another list") from error
    if cursor.method not in METHODS:
        raise bad_argument("cursor", "is of no method that there is")
    if method is not None and method != cursor.method:
        raise bad_argument("cursor", f"is of a list numbered by {cursor.method}, not by {method}")
    if named and cursor.period != ranking.period:
        raise bad_argument("cursor", "is of another period than the one named")
    unit = ranking.window.unit
    first = ranking.metric.timetable.index(unit, 0) if unit is not None else 0
    if not first <= cursor.period <= ranking.period:
        raise bad_argument("cursor", "is of no period that can be read")
    until = ranking._replace(period=cursor.period).readable_until
    if until is not None and reads.now >= until:
        raise bad_argument("cursor", "its period is no longer kept")
    return cursor


def _first(reads: RankingReads, limit: int) -> Page:
    entries, nodes = read_stretch(reads, None, limit + 1, [ROOT], forward=True)
    shown = entries[:limit]
    return Page(reads, shown, _NOBODY, nodes, None, shown[-1].key if len(entries) > limit else None)


def _after(reads: RankingReads, after: str, limit: int) -> Page:
    number = decode_sort_key(after, ties_by_instant=reads.ranking.metric.ties_by_instant)[0].sort_value
    entries, nodes = read_stretch(reads, after, limit + 1, tier_tree.nodes_for(number), forward=True)
    shown = entries[:limit]
    counters = counters_of(nodes)
    ahead, equals = tier_tree.ahead(number, counters), tier_tree.equals(number, counters)
    within = bool(shown) and shown[0].place.sort_value == number
    base = Base(ahead, equals, None) if within else Base(ahead + equals, 0, 0)
    previous = shown[0].key if shown else ENDS
    return Page(reads, shown, base, nodes, previous, shown[-1].key if len(entries) > limit else None)


def _before(reads: RankingReads, before: str | None, limit: int) -> Page:
    entries, nodes = read_stretch(reads, before, limit + 1, [ROOT], forward=False)
    shown = entries[:limit][::-1]
    base = _NOBODY
    if shown:
        _read_path(reads, shown[0], nodes)
        base = base_of(shown[0], nodes)
    following: str | None = shown[-1].key if shown else ENDS
    if before is None:
        following = None
    return Page(reads, shown, base, nodes, shown[0].key if len(entries) > limit else None, following)


def _read_path(reads: RankingReads, entry: Entry, nodes: dict[Path, Node]) -> None:
    """Read what tells an entry's rank, unless it was read already."""
    missing = [path for path in tier_tree.nodes_for(entry.place.sort_value) if path not in nodes]
    if missing:
        nodes.update(reads.nodes(missing))


def check_radius(radius: int) -> None:
    """400 for more neighbours than a page around a member has."""
    if not 0 <= radius <= MAX_RADIUS:
        raise bad_argument("radius", f"must be from 0 to {MAX_RADIUS}, is {radius}")


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_ENTRIES:
        raise bad_argument("limit", f"must be from 1 to {MAX_ENTRIES}, is {limit}")
