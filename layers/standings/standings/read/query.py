"""Answers questions about rankings, each in a handful of reads at any size."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from standings.domain.boards.names import check_member
from standings.domain.boards.ranking import Ranking
from standings.domain.errors import NotFoundError, bad_argument, no_such_member, not_found
from standings.domain.events import instants
from standings.domain.scoring.sort_order import sort_value
from standings.domain.tiers import distribution, tier_tree
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.ranking_reads import Entry, Node
from standings.read import json_values
from standings.read.member_ranks import Ranked, Ranks, read_ranks
from standings.read.pages import Page, check_radius, cursor_at, page_around, page_at, read_cursor, read_page
from standings.read.rank_numbering import Method, counters_of, distinct_ahead, method_of, page_ranks, select
from standings.read.reader import RankingReads, Reader

MAX_MEMBERS: Final = 100
MAX_BUCKETS: Final = 1_000


class Asked(NamedTuple):
    """A question: the ranking that it reads, how ranks are to be numbered, and which of both was named."""

    reads: RankingReads
    method: Method
    names_period: bool
    names_method: bool


class Query:
    """Answers as `dict`s that are ready for JSON; `RequestError` for a question that has none."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def asked(
        self, board: str, metric: str, window: str, *, period: str | None = None, method: str | None = None
    ) -> Asked:
        """What a question is about, in a reader's own words; None for what is usual."""
        numbered = method_of(method)
        reads = self._reader.request().ranking(board, metric, window, period)
        return Asked(reads, numbered, period is not None, method is not None)

    # ---- lists

    def page(self, asked: Asked, *, limit: int, cursor: str | None) -> dict[str, Any]:
        """A page of the list: the first, or the one that a cursor leads to."""
        at = None
        if cursor is not None:
            method = asked.method if asked.names_method else None
            at = read_cursor(asked.reads, cursor, method=method, named=asked.names_period)
        return _page(read_page(asked.reads, limit, at), method_of(at.method if at else asked.method))

    def page_at(self, asked: Asked, *, rank: int, limit: int) -> dict[str, Any]:
        """The page that begins at a position of the list."""
        return _page(page_at(asked.reads, rank, limit), asked.method)

    def page_around(self, asked: Asked, *, member: str, radius: int) -> dict[str, Any]:
        """A member with its neighbours."""
        check_member("around", member)
        check_radius(radius)
        found = asked.reads.entries([member])
        if not found:
            raise _unranked(asked, member)
        return _page(page_around(asked.reads, found[member], radius), asked.method)

    # ---- ranks

    def rank(self, asked: Asked, *, member: str, previous: bool = False) -> dict[str, Any]:
        """A member's rank, score and percentile; with `previous` also its rank in the period before."""
        ranking = asked.reads.ranking
        check_member("member", member)
        found, before = _ranks(asked, [member], previous=previous)
        if member not in found.of:
            raise _unranked(asked, member)
        ranked = found.of[member]
        return {
            **_about(ranking, asked.method, found.nodes, [ranked.entry]),
            "total": ranked.total,
            **_standing(ranked, ranking),
            **_previous(member, before, previous=previous),
        }

    def group(self, asked: Asked, *, members: Sequence[str], previous: bool = False) -> dict[str, Any]:
        """The ranks of a group, among all and among themselves, in the order asked for."""
        ranking = asked.reads.ranking
        found, before = _ranks(asked, members, previous=previous)
        within = _group_ranks([ranked.entry for ranked in found.of.values()], asked.method)
        return {
            **_about(ranking, asked.method, found.nodes, [ranked.entry for ranked in found.of.values()]),
            "total": found.total,
            "entries": [
                {
                    **(
                        _standing(found.of[member], ranking)
                        if member in found.of
                        else {"member": member, "rank": None, "score": None, "percentile": None}
                    ),
                    "group_rank": within.get(member),
                    **_previous(member, before, previous=previous),
                }
                for member in members
            ],
        }

    def score_rank(self, asked: Asked, *, score: str) -> dict[str, Any]:
        """The rank that a score would have, and how many members stand ahead of it, at it and behind it."""
        ranking = asked.reads.ranking
        units = json_values.units_of("score", score, ranking.metric.precision)
        number = sort_value(units, descending=ranking.metric.descending)
        nodes = asked.reads.nodes(tier_tree.nodes_for(number))
        counters = counters_of(nodes)
        ahead, equals = tier_tree.ahead(number, counters), tier_tree.equals(number, counters)
        # Nodes of one answer may be of different moments: whoever is counted is there at least.
        total = max(tier_tree.total(counters[ROOT]), ahead + equals)
        rank = ahead + 1
        if asked.method == "ordinal":
            rank += equals
        elif asked.method == "dense":
            rank = distinct_ahead(asked.reads, [number], nodes)[number] + 1
        return {
            **_about(ranking, asked.method, nodes, []),
            "total": total,
            "score": json_values.score_of(units, ranking.metric),
            "rank": rank,
            "above": ahead,
            "at": equals,
            "below": total - ahead - equals,
        }

    # ---- numbers

    def percentile(self, asked: Asked, *, p: str) -> dict[str, Any]:
        """The score at a percentile: the furthest behind of those whose percentile is at least p."""
        ranking = asked.reads.ranking
        share = json_values.percentage("p", p)
        nodes: dict[Path, Node] = {}
        found = select(
            asked.reads, lambda total: tier_tree.position_at(share.numerator, share.denominator, total), nodes
        )
        score = None
        if found is not None:
            units = sort_value(found.sort_value, descending=ranking.metric.descending)
            score = json_values.score_of(units, ranking.metric)
        return {
            **_about(ranking, asked.method, nodes, []),
            "total": tier_tree.total(counters_of(nodes)[ROOT]),
            "p": json_values.exactly(share),
            "score": score,
        }

    def distribution(self, asked: Asked, *, buckets: int) -> dict[str, Any]:
        """How many members have a score in each of some ranges of equal width, told by the tiers alone."""
        ranking = asked.reads.ranking
        if not 1 <= buckets <= MAX_BUCKETS:
            raise bad_argument("buckets", f"must be from 1 to {MAX_BUCKETS}, is {buckets}")
        descending = ranking.metric.descending
        nodes: dict[Path, Node] = {}
        while unread := distribution.unread(buckets, counters := _as_read(nodes), descending=descending):
            read = asked.reads.nodes(unread)
            nodes.update((path, read.get(path, _EMPTY)) for path in unread)
        found = distribution.histogram(buckets, counters, descending=descending)
        return {
            **_about(ranking, asked.method, nodes, []),
            "total": sum(bucket.members for bucket in found),
            "buckets": [
                {
                    "from": json_values.score_of(bucket.low, ranking.metric),
                    "to": json_values.score_of(bucket.high, ranking.metric),
                    "members": bucket.members,
                }
                for bucket in found
            ],
        }


def _page(page: Page, method: Method) -> dict[str, Any]:
    ranking = page.reads.ranking
    numbers = page_ranks(page.reads, page.entries, page.base, page.nodes, method)
    return {
        **_about(ranking, method, page.nodes, page.entries),
        # Entries and tiers are of different moments: whoever is shown is there at least.
        "total": max(tier_tree.total(counters_of(page.nodes)[ROOT]), page.base.ahead + len(page.entries)),
        "entries": [
            {"rank": rank, "member": entry.member, "score": _score(entry, ranking)}
            for rank, entry in zip(numbers, page.entries, strict=True)
        ],
        "next": cursor_at(ranking, page.following, method, forward=True),
        "previous": cursor_at(ranking, page.previous, method, forward=False),
    }


def _ranks(asked: Asked, members: Sequence[str], *, previous: bool) -> tuple[Ranks, Ranks | None]:
    ranking, request = asked.reads.ranking, asked.reads.request
    before = request.previous(ranking) if previous else None
    rankings = [ranking] if before is None else [ranking, before]
    found = read_ranks(request, [(one, member) for one in rankings for member in members], asked.method)
    return found[ranking], found[before] if before is not None else None


def _unranked(asked: Asked, member: str) -> NotFoundError:
    ranking = asked.reads.ranking
    image = asked.reads.request.store.image(ranking.board, member)
    if image is None or image.removed:
        return no_such_member(ranking.board, member)
    why = "is hidden" if image.hidden else f"has no event in this period of {ranking.window.name!r}"
    return not_found("not-ranked", "Not ranked in this period", f"{member!r} {why}")


_EMPTY: Final = Node({}, None)


def _as_read(nodes: Mapping[Path, Node]) -> dict[Path, tier_tree.Counters]:
    return {path: node.counters for path, node in nodes.items()}


def _about(ranking: Ranking, method: Method, nodes: Mapping[Path, Node], entries: Sequence[Entry]) -> dict[str, Any]:
    stamps = [node.written_at_ms for node in nodes.values() if node.written_at_ms is not None]
    stamps += [entry.written_at_ms for entry in entries]
    return {
        "board": ranking.board,
        "metric": ranking.metric.name,
        "window": ranking.window.name,
        "period": json_values.period(ranking),
        "order": ranking.metric.order,
        "method": method,
        "as_of": instants.instant(max(stamps, default=None)),
    }


def _standing(ranked: Ranked, ranking: Ranking) -> dict[str, Any]:
    return {
        "member": ranked.entry.member,
        "rank": ranked.rank,
        "score": _score(ranked.entry, ranking),
        "percentile": json_values.percentile(ranked.total - ranked.ahead, ranked.total),
    }


def _previous(member: str, before: Ranks | None, *, previous: bool) -> dict[str, int | None]:
    if not previous:
        return {}
    return {"previous_rank": before.of[member].rank if before is not None and member in before.of else None}


def _group_ranks(entries: Sequence[Entry], method: Method) -> dict[str, int]:
    """The ranks that members have among themselves."""
    ordered = sorted(entries, key=lambda entry: entry.key)
    numbers = [entry.place.sort_value for entry in ordered]
    if method == "ordinal":
        return {entry.member: position for position, entry in enumerate(ordered, start=1)}
    if method == "dense":
        numbers = sorted(set(numbers))
    return {entry.member: bisect_left(numbers, entry.place.sort_value) + 1 for entry in ordered}


def _score(entry: Entry, ranking: Ranking) -> Any:
    units = sort_value(entry.place.sort_value, descending=ranking.metric.descending)
    return json_values.score_of(units, ranking.metric)
