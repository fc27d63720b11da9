"""Ranks of members: one, a group, or one member in many rankings. Each takes two round trips: entries, then tiers."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from standings.domain.boards.names import check_member
from standings.domain.boards.ranking import Ranking
from standings.domain.errors import NotFoundError, no_such_member, not_found
from standings.domain.tiers import tier_tree
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.rankings import Entry, Node
from standings.read import answer_fields
from standings.read.rank_numbering import counters_of, entry_ranks
from standings.read.ranking_reads import RankingReads
from standings.read.reader import Method, Question, Request


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
    current, before = _read_both(question, [member], previous=previous)
    if member not in current.by_member:
        raise not_ranked(question, member)
    return {
        **_head(question, current),
        "total": current.total,
        **_fields(member, current, question),
        **_previous(member, before, previous=previous),
    }


def group(question: Question, *, members: Sequence[str], previous: bool = False) -> dict[str, Any]:
    """The ranks of a group in the ranking and among themselves, in the order of `members`."""
    current, before = _read_both(question, members, previous=previous)
    group_ranks = _group_ranks([ranked.entry for ranked in current.by_member.values()], question.method)
    return {
        **_head(question, current),
        "total": current.total,
        "entries": [
            {
                **_fields(member, current, question),
                "group_rank": group_ranks.get(member),
                **_previous(member, before, previous=previous),
            }
            for member in members
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
    request: Request, rankings: Sequence[Ranking], members: Sequence[str], method: Method
) -> dict[Ranking, Ranks]:
    """The ranks of all these members in each ranking. Where none of them is ranked, only the root is read."""
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
    return {ranking: _ranks(request.reads(ranking), some, nodes[ranking], method) for ranking, some in entries.items()}


def _ranks(reads: RankingReads, entries: Sequence[Entry], nodes: Mapping[Path, Node], method: Method) -> Ranks:
    counters = counters_of(nodes)
    ahead = {entry.member: tier_tree.ahead(entry.place.sort_value, counters) for entry in entries}
    # Members may move between the two reads: count at least the members that were found.
    total = max(tier_tree.total(counters[ROOT]), max(ahead.values(), default=-1) + 1)
    reads.shards(nodes)
    numbers = entry_ranks(reads, entries, nodes, method)
    by_member = {
        entry.member: Ranked(entry, numbers[entry.member], answer_fields.percentile(ahead[entry.member], total))
        for entry in entries
    }
    return Ranks(by_member, nodes, total)


def _read_both(question: Question, members: Sequence[str], *, previous: bool) -> tuple[Ranks, Ranks | None]:
    """The ranks in the question's period, and those in the period before if wanted and readable."""
    ranking = question.reads.ranking
    before = question.request.previous(ranking) if previous else None
    rankings = [ranking] if before is None else [ranking, before]
    ranks = read_ranks(question.request, rankings, members, question.method)
    return ranks[ranking], ranks[before] if before is not None else None


def _head(question: Question, ranks: Ranks) -> dict[str, Any]:
    entries = [ranked.entry for ranked in ranks.by_member.values()]
    return answer_fields.head(question.reads.ranking, question.method, ranks.nodes.values(), entries)


def _fields(member: str, ranks: Ranks, question: Question) -> dict[str, Any]:
    ranked = ranks.by_member.get(member)
    if ranked is None:
        return {"member": member, "rank": None, "score": None, "percentile": None}
    score = answer_fields.score_at(ranked.entry.place.sort_value, question.reads.ranking.metric)
    return {"member": member, "rank": ranked.rank, "score": score, "percentile": ranked.percentile}


def _previous(member: str, before: Ranks | None, *, previous: bool) -> dict[str, int | None]:
    if not previous:
        return {}
    ranked = before.by_member.get(member) if before is not None else None
    return {"previous_rank": ranked.rank if ranked is not None else None}


def _group_ranks(entries: Sequence[Entry], method: Method) -> dict[str, int]:
    """The ranks of members among themselves."""
    ordered = sorted(entries, key=lambda entry: entry.key)
    numbers = [entry.place.sort_value for entry in ordered]
    if method == "ordinal":
        return {entry.member: position for position, entry in enumerate(ordered, start=1)}
    if method == "dense":
        numbers = sorted(set(numbers))
    return {entry.member: bisect_left(numbers, entry.place.sort_value) + 1 for entry in ordered}
