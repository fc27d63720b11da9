"""Pages of a ranking's list: the first, after or before a cursor, from a position, and around a member.

Entries come from the sorted index. Ranks come from the tiers at each read, so they are current on every page. Each page
may also tell the rank of one member, `me`, wherever that is in the list.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from standings.domain.boards.names import check_member
from standings.domain.errors import TooFarError, bad_argument, check_range
from standings.domain.scoring.sort_order import decode_sort_key, encode_sortable
from standings.domain.tiers import tier_tree
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.rankings import Entry, Node
from standings.read import answer_fields
from standings.read.cursors import ENDS, Cursor, encode_cursor, read_cursor
from standings.read.member_ranks import not_ranked
from standings.read.rank_numbering import Base, counters_of, entry_ranks, page_ranks, select
from standings.read.reader import Method, Question, RankingReads
from standings.read.shard_merge import read_around, read_stretch

MAX_ENTRIES: Final = 1_000
MAX_RADIUS: Final = 100
_START: Final = Base(0, 0, 0)


class _Page(NamedTuple):
    """Entries, the base of their ranks, the nodes read, and the keys to read on from (None: the list ends there).

    If a page is empty, its keys lead back to the end of the list, so that no member is skipped.
    """

    entries: Sequence[Entry]
    base: Base
    nodes: dict[Path, Node]
    previous: str | None
    following: str | None


def page(question: Question, *, limit: int, cursor: str | None, me: str | None = None) -> dict[str, Any]:
    """The first page, or the page that a cursor leads to."""
    reads, method = question.reads, question.method
    at = Cursor(reads.ranking.period, forward=True, key=ENDS, method=method)
    if cursor is not None:
        at = read_cursor(question, cursor)
        reads = question.request.reads(reads.ranking._replace(period=at.period))
        method = at.method
    check_range("limit", limit, 1, MAX_ENTRIES)
    return _answer(question.request.now, reads, method, (_after if at.forward else _before)(reads, at.key, limit), me)


def page_at(question: Question, *, rank: int, limit: int, me: str | None = None) -> dict[str, Any]:
    """The page that starts at a position of the list, counted from 1."""
    check_range("limit", limit, 1, MAX_ENTRIES)
    if rank < 1:
        raise bad_argument("rank", f"expected at least 1, got {rank}")
    return _answer(question.request.now, question.reads, question.method, _at(question.reads, rank - 1, limit), me)


def page_around(question: Question, *, member: str, radius: int, me: str | None = None) -> dict[str, Any]:
    """A member with up to `radius` neighbours on each side."""
    check_member("around", member)
    check_range("radius", radius, 0, MAX_RADIUS)
    entry = question.reads.entry(member)
    if entry is None:
        raise not_ranked(question, member)
    return _answer(question.request.now, question.reads, question.method, _around(question.reads, entry, radius), me)


def _answer(now: int, reads: RankingReads, method: Method, contents: _Page, me: str | None) -> dict[str, Any]:
    ranking = reads.ranking
    # Entries and tiers are read at different moments: count at least the members on the page.
    total = max(tier_tree.total(counters_of(contents.nodes)[ROOT]), contents.base.ahead + len(contents.entries))
    numbers = page_ranks(reads, contents.entries, contents.base, contents.nodes, method)

    def cursor(key: str | None, *, forward: bool) -> str | None:
        return None if key is None else encode_cursor(Cursor(ranking.period, forward, key, method), ranking)

    return {
        **answer_fields.head(ranking, now, method, contents.nodes.values(), contents.entries),
        "total": total,
        "entries": [_line(reads, entry, number) for number, entry in zip(numbers, contents.entries, strict=True)],
        "next": cursor(contents.following, forward=True),
        "previous": cursor(contents.previous, forward=False),
        **({} if me is None else {"me": _me(reads, method, me, contents.nodes, total)}),
    }


def _line(reads: RankingReads, entry: Entry, rank: int) -> dict[str, Any]:
    score = answer_fields.score_at(entry.place.sort_value, reads.ranking.metric)
    return {"rank": rank, "member": entry.member, "score": score}


def _me(reads: RankingReads, method: Method, member: str, nodes: dict[Path, Node], total: int) -> dict[str, Any] | None:
    """A member's rank, and the entry just before it in the list; None if it is not ranked.

    `nodes` are those that the page has read. Missing ones are added.
    """
    entry = reads.entry(member)
    if entry is None:
        return None
    number = entry.place.sort_value
    paths = tier_tree.nodes_for(number)
    missing = [path for path in paths if path not in nodes]
    before, read = read_stretch(reads, entry.key, 1, missing, forward=False)
    nodes.update(read)
    mine = {path: nodes[path] for path in paths if path in nodes}
    rank = entry_ranks(reads, [entry], mine, method)[member]
    ahead = tier_tree.ahead(number, counters_of(mine))
    line = None
    if before and before[0].member != member:  # A member that moves meanwhile may be found again
        line = _line(reads, before[0], _rank_before(reads, before[0], number, rank, nodes, method))
    percentile = answer_fields.percentile(ahead, max(total, ahead + 1))
    return {**_line(reads, entry, rank), "percentile": percentile, "ahead": line}


def _rank_before(
    reads: RankingReads, entry: Entry, number: int, rank: int, nodes: dict[Path, Node], method: Method
) -> int:
    """The rank of the entry just before one with this sort value and rank. It takes one more node at most."""
    mine = entry.place.sort_value
    if method == "ordinal":
        step = 1
    elif mine == number:
        step = 0
    elif method == "dense":
        step = 1
    else:
        leaf = tier_tree.nodes_for(mine)[-1]
        if leaf not in nodes:
            nodes.update(reads.nodes([leaf]))
        # Nobody stands between the two, so all who are ahead of one but not of the other have this score.
        step = tier_tree.equals(mine, counters_of(nodes))
    return max(1, rank - step)


def _after(reads: RankingReads, key: str, limit: int) -> _Page:
    if key == ENDS:
        entries, nodes = read_stretch(reads, None, limit + 1, [ROOT], forward=True)
        return _Page(entries[:limit], _START, nodes, None, _last_key(entries, limit))
    number = decode_sort_key(key, ties_by_instant=reads.ranking.metric.ties_by_instant)[0].sort_value
    entries, nodes = read_stretch(reads, key, limit + 1, tier_tree.nodes_for(number), forward=True)
    counters = counters_of(nodes)
    ahead, equals = tier_tree.ahead(number, counters), tier_tree.equals(number, counters)
    is_same_score = bool(entries) and entries[0].place.sort_value == number
    base = Base(ahead, equals, None) if is_same_score else Base(ahead + equals, 0, 0)
    return _Page(entries[:limit], base, nodes, entries[0].key if entries else ENDS, _last_key(entries, limit))


def _before(reads: RankingReads, key: str, limit: int) -> _Page:
    entries, nodes = read_stretch(reads, key or None, limit + 1, [ROOT], forward=False)
    page_entries = entries[:limit][::-1]
    base = _base(reads, page_entries[0], nodes) if page_entries else _START
    following = None if key == ENDS else entries[0].key if entries else ENDS
    return _Page(page_entries, base, nodes, _last_key(entries, limit), following)


def _at(reads: RankingReads, skip: int, limit: int) -> _Page:
    """The page after the first `skip` entries: down the tiers, then past members of equal score."""
    nodes: dict[Path, Node] = {}
    selected = select(reads, lambda _: skip, nodes)
    if selected is None:
        total = tier_tree.total(counters_of(nodes)[ROOT])
        return _Page([], _START, nodes, ENDS if total else None, None)
    equals_ahead = skip - selected.ahead
    if equals_ahead > (most := reads.limits.equals):
        raise TooFarError(f"rank: more than {most:,} members of equal score stand ahead of it: page on from them")
    start = encode_sortable(selected.sort_value)
    entries, root = read_stretch(reads, start, equals_ahead + limit + 1, [], forward=True)
    entries = entries[equals_ahead:]
    base = Base(selected.ahead, selected.equals, equals_ahead)
    if entries and entries[0].place.sort_value != selected.sort_value:
        # Members of that score left after the tiers were read: rank the entries that are there.
        base = _base(reads, entries[0], nodes)
    previous = None if skip == 0 else entries[0].key if entries else ENDS
    return _Page(entries[:limit], base, {**nodes, **root}, previous, _last_key(entries, limit))


def _around(reads: RankingReads, entry: Entry, radius: int) -> _Page:
    ahead, behind, nodes = read_around(reads, entry, radius + 1, tier_tree.nodes_for(entry.place.sort_value))
    entries = [*ahead[:radius][::-1], entry, *behind[:radius]]
    base = _base(reads, entries[0], nodes)
    previous = entries[0].key if len(ahead) > radius else None
    following = entries[-1].key if len(behind) > radius else None
    return _Page(entries, base, nodes, previous, following)


def _last_key(entries: Sequence[Entry], limit: int) -> str | None:
    """The key of a page's last entry, if more entries were found than the page holds."""
    return entries[limit - 1].key if len(entries) > limit else None


def _base(reads: RankingReads, entry: Entry, nodes: dict[Path, Node]) -> Base:
    """The base of a page that starts with an entry. Missing nodes are read and added to `nodes`."""
    number = entry.place.sort_value
    missing = [path for path in tier_tree.nodes_for(number) if path not in nodes]
    if missing:
        nodes.update(reads.nodes(missing))
    counters = counters_of(nodes)
    return Base(tier_tree.ahead(number, counters), tier_tree.equals(number, counters), None)
