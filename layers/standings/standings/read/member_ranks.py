"""Ranks of members: how places are numbered (competition, dense, ordinal), and the answers with members' ranks."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from standings.domain import tiers
from standings.domain.boards import Metric, Ranking, check_member
from standings.domain.errors import NotFoundError, TooFarError, no_such_member
from standings.domain.members import Image, aggregate_in_period
from standings.domain.scoring import Aggregate, encode_sortable
from standings.domain.tiers import ROOT, Path
from standings.read.reader import (
    BEYOND,
    Method,
    Question,
    Request,
    answer_head,
    decimal_of,
    note_of,
    percentile_of,
    score_at,
)
from standings.stores import Entry, Node, Partition, Span

# Numbers ranks in three ways: competition (1, 2, 2, 4), ordinal (1, 2, 3, 4) and dense (1, 2, 2, 3).
#
# - Competition ranks come from the tier nodes on the path of a score.
# - Ordinal ranks also count the members of equal score that are ahead, by reading them: tiers do not divide equals.
# - Dense ranks count the different scores ahead, by reading the tiers ahead down to single scores.
#
# The last two read up to a bound and raise TooFarError beyond it.

ENTRIES_OF_A_NODE: Final = 36  # Entries of the index that cost as much as one node: half a read unit, 4 KB
MAX_TRIES: Final = 3  # How often `select` goes down the tiers while members move
_PAGE_SIZE: Final = 10_000


class Base(NamedTuple):
    """The counts from which a page's ranks follow, for its first entry."""

    ahead: int  # Members with a better score
    equals: int  # Members with the same score, the entry included
    equals_ahead: int | None  # Those of them that come before it; None: not counted yet


class PageRanks(NamedTuple):
    """The ranks of consecutive entries, by the question's method and by competition.

    `ahead` is how many members come before the first. Unless it `is_counted`, all entries have one score, and some of
    these members may come behind the last instead.
    """

    numbers: Sequence[int]
    by_competition: Sequence[int]
    ahead: int
    is_counted: bool = True


def counters_of(nodes: Mapping[Path, Node], members: Iterable[int] = ()) -> dict[Path, tiers.Counters]:
    """The counters of nodes, as they agree with each other and with members that were found at these sort values.

    A missing root counts nobody.
    """
    return tiers.agreeing({ROOT: {}, **{path: node.counters for path, node in nodes.items()}}, members)


def select(question: Question, position_of: Callable[[int], int], nodes: dict[Path, Node]) -> tiers.Selected | None:
    """The score at a position, counted from 0; None beyond the ends. `position_of` gives the position for a total.

    The nodes on the path are added to `nodes`.
    """

    def counters_at(path: Path) -> tiers.Counters:
        if path not in nodes:
            nodes.update(question.nodes([path]))
        return nodes[path].counters if path in nodes else {}

    selected = None
    for _ in range(MAX_TRIES):
        total = tiers.total(counters_at(ROOT))
        position = position_of(total)
        if not 0 <= position < total:
            return None
        selected = tiers.select(position, counters_at)
        if selected is not None:
            break
        # A member moved between two reads. Start again from the root.
        nodes.clear()
    return selected


def page_ranks(
    question: Question, entries: Sequence[Entry], base: Base, counters: tiers.Nodes, ahead: Sequence[Entry] = ()
) -> PageRanks:
    """The ranks of consecutive entries. Those found `ahead` of them are counted, whatever `base` says."""
    if not entries:
        return PageRanks([], [], 0)
    numbers = [entry.place.sort_value for entry in entries]
    positions = [bisect_left(numbers, number) for number in numbers]
    better = [number for entry in ahead if (number := entry.place.sort_value) < numbers[0]]
    unseen, is_counted = base.equals_ahead, base.equals_ahead is not None or positions[-1] > 0
    if unseen is None:
        # Some members of the first score may be ahead of the page; if it has no other score, also behind it.
        unseen = max(0, base.equals - numbers.count(numbers[0]))
        if question.method == "ordinal":
            unseen = min(unseen, _equals_ahead(question, entries[:1], counters)[entries[0].key])
            is_counted = True
    first, unseen = max(base.ahead, len(better)), max(unseen, len(ahead) - len(better))
    by_competition = [first + 1 + position + (unseen if position else 0) for position in positions]
    ranks: Sequence[int] = by_competition
    if question.method == "ordinal":
        ranks = range(first + unseen + 1, first + unseen + 1 + len(entries))
    elif question.method == "dense":
        distinct = distinct_ahead(question, numbers[:1], counters)[numbers[0]] if base.ahead else 0
        distinct = min(first, max(distinct, len(set(better)), first > 0))
        scores = sorted(set(numbers))
        ranks = [1 + distinct + bisect_left(scores, number) for number in numbers]
    return PageRanks(ranks, by_competition, first + unseen, is_counted)


def entry_ranks(question: Question, entries: Sequence[Entry], counters: tiers.Nodes) -> dict[str, int]:
    """The ranks of any entries by member; `counters` are those of all their paths, and count these entries."""
    if question.method == "dense":
        distinct = distinct_ahead(question, {entry.place.sort_value for entry in entries}, counters)
        return {entry.member: distinct[entry.place.sort_value] + 1 for entry in entries}
    equals_ahead = _equals_ahead(question, entries, counters) if question.method == "ordinal" else {}
    return {
        entry.member: tiers.ahead(entry.place.sort_value, counters) + equals_ahead.get(entry.key, 0) + 1
        for entry in entries
    }


def _equals_ahead(question: Question, entries: Sequence[Entry], counters: tiers.Nodes) -> dict[str, int]:
    """How many members of equal score are ahead of each entry, by key."""
    ahead = {entry.key: 0 for entry in entries}
    tied = [entry for entry in entries if tiers.equals(entry.place.sort_value, counters) > 1]
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
    most = question.limits.equals
    # The count of a range includes its last entry.
    counts = question.counts(ranges, most + len(ranges))
    if counts is None:
        whom, less = (repr(tied[0].member), "") if len(tied) == 1 else ("these members", "for fewer members, or ")
        detail = f"method: more than {most:,} equals stand ahead of {whom}: ask {less}for another method"
        raise TooFarError(detail)
    behind = Counter(entry.place.sort_value for entry in tied)
    for entry, (start, key), count in zip(tied, ranges, counts, strict=True):
        # The count includes the entry itself, unless it just moved. Members may also have come or gone since the tiers
        # were read: let each entry have a place of its own among the equals.
        number = entry.place.sort_value
        behind[number] -= 1
        least = ahead[start] + 1 if start in ahead else 0
        ahead[key] = min(
            max(least, ahead.get(start, 0) + count - 1), tiers.equals(number, counters) - 1 - behind[number]
        )
    return ahead


def distinct_ahead(question: Question, numbers: Iterable[int], counters: tiers.Nodes) -> dict[int, int]:
    """How many different scores are ahead of each sort value.

    Reads tiers until each has one score or is a leaf. Where the tiers hold few members, it reads the entries instead.
    """
    sort_values = set(numbers)
    if not sort_values:
        return {}
    counters = dict(counters)
    distinct = _distinct_ahead(question, sort_values, counters)
    ahead = {number: tiers.ahead(number, counters) for number in sort_values}
    # Entries may be of another moment than the tiers: as many scores are ahead as members at most, and one at least.
    first = min(sort_values)
    more = distinct[first] == 0 < ahead[first]
    return {number: min(ahead[number], count + more) for number, count in distinct.items()}


def _distinct_ahead(question: Question, sort_values: set[int], counters: dict[Path, tiers.Counters]) -> dict[int, int]:
    """The same as it is read, unbounded by the members ahead. Adds what it reads to `counters`."""
    furthest = max(sort_values)
    nodes_left = question.limits.nodes

    def read(paths: Iterable[Path]) -> None:
        unread = [path for path in paths if path not in counters]
        if unread:
            read_nodes = question.nodes(unread)
            counters.update((path, read_nodes[path].counters if path in read_nodes else {}) for path in unread)

    read({path: None for number in sort_values for path in tiers.nodes_for(number)})
    while undivided := tiers.undivided(furthest, counters):
        _check_scores(question, len(undivided))
        ahead = tiers.ahead(furthest, counters)
        # To read the entries takes a query of each partition at least: each costs what a node costs.
        nodes_until_then = question.limits.nodes - nodes_left + len(undivided)
        is_cheaper = len(question.partitions({})) - 1 <= nodes_until_then
        if is_cheaper and ahead <= min(len(undivided) * ENTRIES_OF_A_NODE, question.limits.entries):
            return _distinct_entries_ahead(question, sort_values, ahead)
        if (nodes_left := nodes_left - len(undivided)) < 0:
            raise TooFarError("method: too many different scores stand ahead, far apart: ask for another method")
        read(undivided)
    distinct = tiers.distinct_ahead(sort_values, counters)
    _check_scores(question, max(distinct.values()))
    return distinct


def _distinct_entries_ahead(question: Question, sort_values: set[int], ahead: int) -> dict[int, int]:
    """The same from the sorted index, which has about `ahead` entries to read."""
    furthest = max(sort_values)
    scores: set[int] = set()
    last_keys: list[tuple[Partition, str | None]] = [(partition, None) for partition in question.partitions({})]
    while last_keys:
        share = min(_PAGE_SIZE, max(ahead, 0) // len(last_keys) + 1 + BEYOND)
        parts, _ = question.spans([Span(partition, key, share) for partition, key in last_keys], [])
        ahead -= sum(map(len, parts))
        scores.update(number for part in parts for entry in part if (number := entry.place.sort_value) < furthest)
        _check_scores(question, len(scores))
        last_keys = [
            (partition, part[-1].key)
            for (partition, _), part in zip(last_keys, parts, strict=True)
            if len(part) == share and part[-1].place.sort_value < furthest
        ]
    # A member may have left its score since; it is ranked there.
    ordered = sorted(scores | (sort_values - {furthest}))
    return {number: bisect_left(ordered, number) for number in sort_values}


def _check_scores(question: Question, count: int) -> None:
    if count > (most := question.limits.scores):
        raise TooFarError(f"method: more than {most:,} different scores stand ahead: ask for another method")


# Ranks of members: one, a group, or one on its card. Each takes two round trips for ranks: entries, then tiers.

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

    Raises NotFoundError if the board has no such member.
    """
    family = request.family(board)
    check_member("id", member)
    image = request.read(request.store.image, board, member)
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
                    {
                        **_window(request, image, ranking, notes=notes),
                        **(_rank(ranks.get(ranking), member) if method else {}),
                    }
                    for ranking in rankings
                    if ranking.metric == metric
                ],
            }
            for metric in metrics
        ],
    }


def not_ranked(question: Question, member: str) -> NotFoundError:
    """The error of a member without a rank. It says whether the member is hidden, inactive or unknown."""
    ranking = question.ranking
    image = question.request.read(question.request.store.image, ranking.board, member)
    if image is None or image.removed:
        return no_such_member(ranking.board, member)
    reason = "is hidden" if image.hidden else f"has no event in this period of {ranking.window.name!r}"
    return NotFoundError("not-ranked", "Not ranked in this period", f"{member!r} {reason}")


def read_ranks(
    request: Request, rankings: Sequence[Ranking], members: Sequence[str], method: Method, *, shared: int = 1
) -> dict[Ranking, Ranks]:
    """The ranks of all these members in each ranking. Where none of them is ranked, only the root is read.

    `shared` rankings split the request's limits evenly.
    """
    entries: dict[Ranking, list[Entry]] = {ranking: [] for ranking in rankings}
    pairs = [(ranking, member) for ranking in rankings for member in members]
    for (ranking, _), entry in request.read(request.store.entries, pairs).items():
        entries[ranking].append(entry)
    paths = {
        (ranking, path): None
        for ranking, some in entries.items()
        for path in (ROOT, *(path for entry in some for path in tiers.nodes_for(entry.place.sort_value)))
    }
    nodes: dict[Ranking, dict[Path, Node]] = {ranking: {} for ranking in rankings}
    for (ranking, path), node in request.read(request.store.nodes, list(paths)).items():
        nodes[ranking][path] = node
    return {
        ranking: _ranks(request.about(ranking, method, shared), some, nodes[ranking])
        for ranking, some in entries.items()
    }


def _ranks(question: Question, entries: Sequence[Entry], nodes: Mapping[Path, Node]) -> Ranks:
    # Members may move between the two reads, but those that were found are ranked where they were found.
    counters = counters_of(nodes, [entry.place.sort_value for entry in entries])
    total = tiers.total(counters[ROOT])
    question.partitions(nodes)
    numbers = entry_ranks(question, entries, counters)
    by_member = {
        entry.member: Ranked(
            entry, numbers[entry.member], percentile_of(tiers.ahead(entry.place.sort_value, counters), total)
        )
        for entry in entries
    }
    return Ranks(by_member, nodes, total)


def _read(
    question: Question, members: Sequence[str], *, previous: bool
) -> tuple[dict[str, Any], Mapping[str, Ranked], dict[str, dict[str, int | None]]]:
    """The head of the answer, the members that are ranked, and each member's previous rank if wanted."""
    ranking = question.ranking
    before = question.request.beside(ranking, -1) if previous else None
    rankings = [ranking] if before is None else [ranking, before]
    ranks = read_ranks(question.request, rankings, members, question.method)
    ranked, nodes, total = ranks[ranking]
    entries = [one.entry for one in ranked.values()]
    head = answer_head(question, nodes.values(), entries) | {"total": total}
    earlier = {} if before is None else {member: one.rank for member, one in ranks[before].by_member.items()}
    return head, ranked, {member: {"previous_rank": earlier.get(member)} if previous else {} for member in members}


def _fields(member: str, ranked: Mapping[str, Ranked], question: Question) -> dict[str, Any]:
    if member not in ranked:
        return {"member": member, "rank": None, "score": None, "percentile": None}
    entry, rank, percentile = ranked[member]
    score = score_at(entry.place.sort_value, question.ranking.metric)
    return {"member": member, "rank": rank, "score": score, "percentile": percentile}


def _group_ranks(entries: Sequence[Entry], method: Method) -> dict[str, int]:
    """The ranks of members among themselves."""
    marks = {entry.member: (entry.place.sort_value, entry.key if method == "ordinal" else "") for entry in entries}
    ordered = sorted(set(marks.values()) if method == "dense" else marks.values())
    return {member: bisect_left(ordered, mark) + 1 for member, mark in marks.items()}


def _window(request: Request, image: Image, ranking: Ranking, *, notes: bool) -> dict[str, Any]:
    aggregate = aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
    return {
        "window": ranking.window.name,
        "period": request.period(ranking),
        **_scored(aggregate, ranking.metric, notes=notes),
    }


def _scored(aggregate: Aggregate | None, metric: Metric, *, notes: bool) -> dict[str, Any]:
    score = None if aggregate is None else decimal_of(aggregate.value, metric.precision)
    return {"score": score, **({"note": note_of(aggregate)} if notes else {})}


def _rank(ranks: Ranks | None, member: str) -> dict[str, Any]:
    if ranks is None or member not in ranks.by_member:
        return {"rank": None, "percentile": None, "total": None}
    ranked = ranks.by_member[member]
    return {"rank": ranked.rank, "percentile": ranked.percentile, "total": ranks.total}
