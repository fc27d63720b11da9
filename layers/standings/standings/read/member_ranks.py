"""Ranks of members: one, a group, or one on its card. Each takes two round trips for ranks: entries, then tiers."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from standings.domain.boards.definitions import Metric, Ranking
from standings.domain.boards.names import check_member
from standings.domain.errors import NotFoundError, no_such_member, not_found
from standings.domain.members.member_item import Image
from standings.domain.members.rolling_sum import aggregate_in_period
from standings.domain.scoring.aggregates import Aggregate
from standings.domain.tiers import tier_tree
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.rankings import Entry, Node
from standings.read import answer_fields
from standings.read.rank_numbering import counters_of, entry_ranks
from standings.read.reader import Method, Question, RankingReads, Request

MAX_MEMBERS: Final = 100  # Members of a group


class Ranked(NamedTuple):
    """A member's entry with its rank and, as a JSON number, its percentile."""

    entry: Entry
    rank: int
    percentile: Any


class Ranks(NamedTuple):
    """Ranks by member, without those that are not ranked; the nodes read, and the number of members in the ranking."""

    by_member: Mapping[str, Ranked]
    nodes: Mapping[Path, Node]
    total: int


def rank(question: Question, *, member: str, previous: bool = False) -> dict[str, Any]:
    """A member's rank, score and percentile; with `previous` also its rank in the period before."""
    check_member("member", member)
    head, ranked, before = _read(question, [member], previous=previous)
    if member not in ranked:
        raise not_ranked(question, member)
    return {**head, **_fields(member, ranked, question), **before[member]}


def group(question: Question, *, members: Sequence[str], previous: bool = False) -> dict[str, Any]:
    """The ranks of a group in the ranking and among themselves, in the order of `members`.

    A member that is named twice is answered twice, and counts once in the group.
    """
    head, ranked, before = _read(question, list(dict.fromkeys(members)), previous=previous)
    group_ranks = _group_ranks([one.entry for one in ranked.values()], question.method)
    return {
        **head,
        "entries": [
            {**_fields(member, ranked, question), "group_rank": group_ranks.get(member), **before[member]}
            for member in members
        ],
    }


def card(request: Request, board: str, member: str, method: Method | None, *, notes: bool = False) -> dict[str, Any]:
    """A member's total and its score in each window's current period, also if it is hidden; ranks if a method is given.

    With `notes` each score has the note of the event that it came with, or None.

    The error is NotFoundError if the board has no such member.
    """
    family = request.family(board)
    check_member("id", member)
    image = request.store.image(board, member)
    if image is None or image.removed:
        raise no_such_member(board, member)
    metrics = family.metrics.values()
    rankings = [request.current(board, metric, window) for metric in metrics for window in metric.windows]
    ranks: dict[Ranking, Ranks] = {}
    if method is not None:
        readable = {ranking: current for ranking in rankings if (current := request.readable(ranking)) is not None}
        found = read_ranks(request, list(readable.values()), [member], method) if readable else {}
        ranks = {ranking: found[current] for ranking, current in readable.items()}
    return {
        "board": board,
        "member": member,
        "hidden": image.hidden,
        "metrics": [
            {
                "metric": metric.name,
                **_scored(image.cell(metric.total()), metric, notes=notes),
                "windows": [
                    {**_window(image, ranking, notes=notes), **(_rank(ranks.get(ranking), member) if method else {})}
                    for ranking in rankings
                    if ranking.metric == metric
                ],
            }
            for metric in metrics
        ],
    }


def not_ranked(question: Question, member: str) -> NotFoundError:
    """The error of a member without a rank. It says whether the member is hidden, inactive or unknown."""
    ranking = question.reads.ranking
    image = question.request.store.image(ranking.board, member)
    if image is None or image.removed:
        return no_such_member(ranking.board, member)
    reason = "is hidden" if image.hidden else f"has no event in this period of {ranking.window.name!r}"
    return not_found("not-ranked", "Not ranked in this period", f"{member!r} {reason}")


def read_ranks(
    request: Request, rankings: Sequence[Ranking], members: Sequence[str], method: Method, *, shared: int = 1
) -> dict[Ranking, Ranks]:
    """The ranks of all these members in each ranking. Where none of them is ranked, only the root is read.

    Each ranking may use the part of the request's limits that it has if `shared` of them share these.
    """
    entries: dict[Ranking, list[Entry]] = {ranking: [] for ranking in rankings}
    pairs = [(ranking, member) for ranking in rankings for member in members]
    for (ranking, _), entry in request.store.entries(pairs).items():
        entries[ranking].append(entry)
    paths = {
        (ranking, path): None
        for ranking, some in entries.items()
        for path in (ROOT, *(path for entry in some for path in tier_tree.nodes_for(entry.place.sort_value)))
    }
    nodes: dict[Ranking, dict[Path, Node]] = {ranking: {} for ranking in rankings}
    for (ranking, path), node in request.store.nodes(list(paths)).items():
        nodes[ranking][path] = node
    return {
        ranking: _ranks(request.reads(ranking, shared), some, nodes[ranking], method)
        for ranking, some in entries.items()
    }


def _ranks(reads: RankingReads, entries: Sequence[Entry], nodes: Mapping[Path, Node], method: Method) -> Ranks:
    counters = counters_of(nodes)
    ahead = {entry.member: tier_tree.ahead(entry.place.sort_value, counters) for entry in entries}
    # Members may move between the two reads: count at least the members that were found.
    total = max(tier_tree.total(counters[ROOT]), max(ahead.values(), default=-1) + 1)
    reads.partitions(nodes)
    numbers = entry_ranks(reads, entries, nodes, method)
    by_member = {
        entry.member: Ranked(entry, numbers[entry.member], answer_fields.percentile(ahead[entry.member], total))
        for entry in entries
    }
    return Ranks(by_member, nodes, total)


def _read(
    question: Question, members: Sequence[str], *, previous: bool
) -> tuple[dict[str, Any], Mapping[str, Ranked], dict[str, dict[str, int | None]]]:
    """The head of the answer, the members that are ranked, and each member's previous rank if wanted."""
    ranking = question.reads.ranking
    before = question.request.previous(ranking) if previous else None
    rankings = [ranking] if before is None else [ranking, before]
    ranks = read_ranks(question.request, rankings, members, question.method)
    ranked, nodes, total = ranks[ranking]
    entries = [one.entry for one in ranked.values()]
    head = answer_fields.head(ranking, question.request.now, question.method, nodes.values(), entries) | {
        "total": total
    }
    earlier = {} if before is None else {member: one.rank for member, one in ranks[before].by_member.items()}
    return head, ranked, {member: {"previous_rank": earlier.get(member)} if previous else {} for member in members}


def _fields(member: str, ranked: Mapping[str, Ranked], question: Question) -> dict[str, Any]:
    if member not in ranked:
        return {"member": member, "rank": None, "score": None, "percentile": None}
    entry, rank, percentile = ranked[member]
    score = answer_fields.score_at(entry.place.sort_value, question.reads.ranking.metric)
    return {"member": member, "rank": rank, "score": score, "percentile": percentile}


def _group_ranks(entries: Sequence[Entry], method: Method) -> dict[str, int]:
    """The ranks of members among themselves."""
    marks = {entry.member: (entry.place.sort_value, entry.key if method == "ordinal" else "") for entry in entries}
    ordered = sorted(set(marks.values()) if method == "dense" else marks.values())
    return {member: bisect_left(ordered, mark) + 1 for member, mark in marks.items()}


def _window(image: Image, ranking: Ranking, *, notes: bool) -> dict[str, Any]:
    aggregate = aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
    return {
        "window": ranking.window.name,
        "period": answer_fields.period(ranking),
        **_scored(aggregate, ranking.metric, notes=notes),
    }


def _scored(aggregate: Aggregate | None, metric: Metric, *, notes: bool) -> dict[str, Any]:
    score = None if aggregate is None else answer_fields.decimal(aggregate.value, metric.precision)
    return {"score": score, **({"note": answer_fields.note(aggregate)} if notes else {})}


def _rank(ranks: Ranks | None, member: str) -> dict[str, Any]:
    if ranks is None or member not in ranks.by_member:
        return {"rank": None, "percentile": None, "total": None}
    ranked = ranks.by_member[member]
    return {"rank": ranked.rank, "percentile": ranked.percentile, "total": ranks.total}
