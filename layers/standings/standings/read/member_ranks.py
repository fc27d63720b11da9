"""Ranks of members: one, a group, one on its card, one on each of its boards, one in each period.

Each takes two round trips for its ranks: the members' entries, then the tier nodes on the paths of their scores.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Final

from standings.domain import tiers
from standings.domain.boards import Metric, Ranking, check_member, family_of
from standings.domain.errors import NotFoundError, TooFarError
from standings.domain.members import Image, aggregate_in_period, place, place_if_ranked
from standings.domain.scoring import Aggregate, SortValues, decimal_text, encode_values
from standings.domain.tiers import ROOT, Path
from standings.read.session import BEYOND, Limits, Method, RankingReader, ReadSession, decimal_of, note_of, scored
from standings.stores import Entry, Node, Partition, Span

MAX_MEMBERS: Final = 100  # Members of a group
ENTRIES_OF_A_NODE: Final = 36  # Entries of the index that cost as much as one node: half a read unit, 4 KB
MAX_TRIES: Final = 3  # How often `select` goes down the tiers while members move
_PAGE_SIZE: Final = 10_000
_Distinct = dict[SortValues, int]  # How many different scores are ahead of each: `{(-300,): 0, (-295,): 1}`


def rank(reader: RankingReader, *, member: str, previous: bool = False) -> dict[str, Any]:
    """A member's rank, score and percentile; with `previous` also its rank in the period before.

    It is `{"board": "b", …, "total": 40, "member": "u7", "rank": 3, "score": 50, "percentile": 95}`. Raises
    NotFoundError for a member without a rank, InvalidArgumentError for a text that is no member, TooFarError.
    """
    check_member("member", member)
    ranks, *earlier = read_ranks(reader.session, _periods(reader, 1 + previous), [member], reader.method)
    if member not in ranks.entries:
        raise not_ranked(reader, member)
    return {**ranks.head(), **ranks.line(member), **_previous(earlier, member, asked=previous)}


def group(reader: RankingReader, *, members: Sequence[str], previous: bool = False) -> dict[str, Any]:
    """The ranks of a group in the ranking and among themselves, in the order of `members`. May raise TooFarError.

    Its `entries` are `[{"member": "u7", "rank": 3, "score": 50, "percentile": 95, "group_rank": 1}]`. A member
    that is named twice is answered twice, and counts once in the group.
    """
    wanted = list(dict.fromkeys(members))
    ranks, *earlier = read_ranks(reader.session, _periods(reader, 1 + previous), wanted, reader.method)
    by_key = reader.method == "ordinal"
    marks = {member: (entry.place.values, entry.key if by_key else "") for member, entry in ranks.entries.items()}
    ordered = sorted(set(marks.values()) if reader.method == "dense" else marks.values())
    in_group = {member: bisect_left(ordered, mark) + 1 for member, mark in marks.items()}
    lines = [
        {**ranks.line(one), "group_rank": in_group.get(one), **_previous(earlier, one, asked=previous)}
        for one in members
    ]
    return {**ranks.head(), "entries": lines}


def history(reader: RankingReader, *, member: str, periods: int) -> dict[str, Any]:
    """The member's rank and score in up to `periods` periods, newest first; None where it was not ranked.

    Its `periods` are `[{"period": {"name": "2026-11-21", …}, "rank": 3, "score": 50, "total": 40}]`, from the reader's
    own back; `all` has one. May raise NotFoundError, InvalidArgumentError and TooFarError.
    """
    check_member("member", member)
    rankings = _periods(reader, periods)
    limits = reader.session.limits.shared(len(rankings))
    found = read_ranks(reader.session, rankings, [member], reader.method, limits)
    if not any(ranks.entries for ranks in found):
        reader.session.image(reader.ranking.board, member)
    shown = []
    for ranking, ranks in zip(rankings, found, strict=True):
        line = {name: value for name, value in ranks.line(member).items() if name not in ("member", "percentile")}
        shown.append({"period": reader.session.period(ranking), **line, "total": ranks.total})
    return {**found[0].head(), "member": member, "periods": shown}


def card(
    session: ReadSession, board: str, member: str, method: Method | None, *, notes: bool = False
) -> dict[str, Any]:
    """A member's total, and its score in each window, also if it is hidden; ranks by a method. Raises NotFoundError."""
    check_member("id", member)
    windows = _current(session, board)
    image = session.image(board, member)
    ranks = None if method is None else _ranks_now(session, windows, member, method)
    return _card(session, image, windows, ranks, notes=notes)


def cards(session: ReadSession, images: Sequence[Image], window: str) -> list[dict[str, Any]]:
    """The cards of a member on several boards, with the metrics and the ranks of one window, all in two round trips."""
    windows = {image.board: rankings_in(session, image.board, window) for image in images}
    ranks = _ranks_now(session, [one for some in windows.values() for one in some], images[0].member, "competition")
    return [_card(session, image, windows[image.board], ranks) for image in images]


def followed(session: ReadSession, board: str, member: str) -> dict[str, Any] | None:
    """The card with ranks once each follows the member's item, or a newer one; None till then. NotFoundError."""
    windows = _current(session, board)
    image = session.image(board, member)
    ranks = _ranks_now(session, windows, member, "competition")
    for ranking, found in ranks.items():
        entry = found.entries.get(member)
        is_newer = entry is not None and entry.written_at_ms > image.written_at_ms
        if not is_newer and place(image, ranking) != (entry.place if entry is not None else None):
            return None
    return _card(session, image, windows, ranks)


_Windows = list[tuple[Metric, list[Ranking]]]  # The rankings of each metric in the current periods of its windows


def _current(session: ReadSession, board: str) -> _Windows:
    counted = family_of(session.boards, board).counted_metrics
    return [(metric, [session.current(board, metric, window) for window in metric.windows]) for metric in counted]


def rankings_in(session: ReadSession, board: str, window: str) -> _Windows:
    """The rankings of a board in the current period of one window, each with its metric; none without a family."""
    family = session.boards.family(board)
    counted = family.counted_metrics if family is not None else ()
    return [(metric, [session.current(board, metric, one)]) for metric in counted if (one := metric.window(window))]


def _ranks_now(session: ReadSession, windows: _Windows, member: str, method: Method) -> dict[Ranking, "Ranks"]:
    """The member's ranks in those of these rankings that can be read."""
    readable = {one: found for _, some in windows for one in some if (found := session.readable(one)) is not None}
    return dict(zip(readable, read_ranks(session, list(readable.values()), [member], method), strict=True))


def _card(
    session: ReadSession,
    image: Image,
    windows: _Windows,
    ranks: Mapping[Ranking, "Ranks"] | None,
    *,
    notes: bool = False,
) -> dict[str, Any]:
    def noted(aggregate: Aggregate | None) -> dict[str, Any]:
        return {"note": note_of(aggregate)} if notes else {}

    def metric_of(metric: Metric, rankings: Iterable[Ranking]) -> dict[str, Any]:
        total = image.cell(metric.total())
        score = None if total is None else decimal_of(total.value, metric.precision)
        return {"metric": metric.name, "score": score, **noted(total), "windows": [*map(window_of, rankings)]}

    def window_of(ranking: Ranking) -> dict[str, Any]:
        aggregate = aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
        there = place_if_ranked(image, ranking)
        shown = scored(there.values if there is not None else None, ranking.metric) | noted(aggregate)
        shown |= {} if ranks is None else _ranked(ranks.get(ranking), image.member)
        return {"window": ranking.window.name, "period": session.period(ranking), **shown}

    metrics = [metric_of(*each) for each in windows]
    return {"board": image.board, "member": image.member, "hidden": image.hidden, "metrics": metrics}


def not_ranked(reader: RankingReader, member: str) -> NotFoundError:
    """The error of a member without a rank: hidden, inactive, or with such a score. NotFoundError if it is unknown."""
    ranking = reader.ranking
    image = reader.session.image(ranking.board, member)
    aggregate = aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
    reason = "is hidden"
    if not image.hidden and (aggregate is None or ranking.metric.ranks(aggregate.value)):
        reason = f"has no event in this period of {ranking.window.name!r}"
    elif not image.hidden:
        reason = f"has a score that is not ranked: {_ranked_from(ranking.metric)}"
    return NotFoundError("not-ranked", "Not ranked in this period", f"{member!r} {reason}")


def check_ranked(metric: Metric, units: int, argument: str) -> None:
    """Raise NotFoundError for a score that is not ranked."""
    if not metric.ranks(units):
        detail = f"{argument}: expected a score that is ranked: {_ranked_from(metric)}"
        raise NotFoundError("not-ranked", "Not ranked", detail)


def _ranked_from(metric: Metric) -> str:
    """Which scores a metric ranks: `points ranks from 1 up`."""
    last = decimal_text(metric.ranked_from or 0, metric.precision)
    return f"{metric.name!r} ranks from {last} {'up' if metric.descending else 'down'}"


class Ranks:
    """The ranks of members in a ranking: the entries of those that are ranked, by member, and the nodes that were read.

    Members may move between the two reads, but those that were found are ranked where they were found.
    """

    def __init__(self, reader: RankingReader) -> None:
        self.reader = reader
        self.entries: dict[str, Entry] = {}
        self.nodes: dict[Path, Node] = {}
        self.numbers: Mapping[str, int] = {}

    def count(self) -> None:
        """Count by the entries and nodes that were read."""
        self.reader.learn_shards(self.nodes)
        self.counters = counters_of(self.nodes, [entry.place.values for entry in self.entries.values()])
        self.total = sum(self.counters[ROOT].values())

    def line(self, member: str) -> dict[str, Any]:
        """The line of a member: `{"member": "u7", "rank": 3, "score": 50, "percentile": 99.5}`; None if not ranked."""
        metric, entry = self.reader.ranking.metric, self.entries.get(member)
        if entry is None:
            return {"member": member, "rank": None, **scored(None, metric), "percentile": None}
        values = entry.place.values
        percentile = decimal_of(tiers.percentile(tiers.ahead(values, self.counters), self.total), 2)
        return {"member": member, "rank": self.numbers[member], **scored(values, metric), "percentile": percentile}

    def head(self) -> dict[str, Any]:
        """The head of an answer that is made of them."""
        return self.reader.head(self.total, self.nodes, self.entries.values())


def read_ranks(
    session: ReadSession,
    rankings: Sequence[Ranking],
    members: Sequence[str],
    method: Method,
    limits: Limits | None = None,
) -> list[Ranks]:
    """The ranks of all these members in each ranking; where none is ranked, only the root is read. TooFarError."""
    found = {ranking: Ranks(RankingReader(session, ranking, method, limits)) for ranking in rankings}
    pairs = [(ranking, member) for ranking in rankings for member in members]
    for (ranking, _), entry in session.retry(session.rankings.entries, pairs).items():
        found[ranking].entries[entry.member] = entry
    paths = {
        (ranking, path): None
        for ranking, ranks in found.items()
        for path in (ROOT, *(path for one in ranks.entries.values() for path in tiers.nodes_for(one.place.values)))
    }
    for (ranking, path), node in session.retry(session.rankings.nodes, list(paths)).items():
        found[ranking].nodes[path] = node
    for ranks in found.values():
        ranks.count()
    numbers = _numbers([(ranks.reader, [*ranks.entries.values()], ranks.counters) for ranks in found.values()])
    for ranks, by_member in zip(found.values(), numbers, strict=True):
        ranks.numbers = by_member
    return [*found.values()]


def _periods(reader: RankingReader, most: int) -> list[Ranking]:
    """The reader's ranking and those of the periods before it, up to `most` in all, newest first."""
    rankings = [reader.ranking]
    while len(rankings) < most and (before := reader.session.beside(rankings[-1], -1)) is not None:
        rankings.append(before)
    return rankings


def _previous(earlier: Sequence[Ranks], member: str, *, asked: bool) -> dict[str, int | None]:
    """The rank of a member in the period before, if it is asked for; None if it had none or that cannot be read."""
    return {"previous_rank": earlier[0].line(member)["rank"] if earlier else None} if asked else {}


def _ranked(ranks: Ranks | None, member: str) -> dict[str, Any]:
    """The ranks of a window on a card; the total is None too if the member is not ranked."""
    if ranks is None or member not in ranks.entries:
        return {"rank": None, "percentile": None, "total": None}
    line = ranks.line(member)
    return {"rank": line["rank"], "percentile": line["percentile"], "total": ranks.total}


def entry_ranks(reader: RankingReader, entries: Sequence[Entry], counters: tiers.Nodes) -> dict[str, int]:
    """The ranks of entries by member: `{"u7": 3}`. `counters` has the nodes of all their paths, and counts them."""
    return _numbers([(reader, entries, counters)])[0]


def _numbers(found: Sequence[tuple[RankingReader, Sequence[Entry], tiers.Nodes]]) -> list[dict[str, int]]:
    """The same in several rankings, by one method: what dense ranks read of the tiers, they read together."""
    if found and found[0][0].method == "dense":
        wanted = [(reader, {entry.place.values for entry in entries}, counters) for reader, entries, counters in found]
        ahead = zip(_distinct_ahead(wanted), (entries for _, entries, _ in found), strict=True)
        return [{each.member: distinct[each.place.values] + 1 for each in entries} for distinct, entries in ahead]
    numbers = []
    for reader, entries, counters in found:
        equals = equals_ahead(reader, entries, counters) if reader.method == "ordinal" else {}
        ranks = {one.member: tiers.ahead(one.place.values, counters) + equals.get(one.key, 0) + 1 for one in entries}
        numbers.append(ranks)
    return numbers


def counters_of(nodes: Mapping[Path, Node], members: Iterable[SortValues] = ()) -> dict[Path, tiers.Counters]:
    """The counters of nodes, agreeing with each other and with members that were found. A missing root is empty."""
    return tiers.agreeing({ROOT: {}, **{path: node.counters for path, node in nodes.items()}}, members)


def equals_ahead(reader: RankingReader, entries: Sequence[Entry], counters: tiers.Nodes) -> dict[str, int]:
    """How many equals are ahead of each entry, by key: `{"MvIu123": 2}`. TooFarError beyond `Limits.equals` in all."""
    ahead = {entry.key: 0 for entry in entries}
    tied = sorted((each for each in entries if tiers.equals(each.place.values, counters) > 1), key=lambda one: one.key)
    if not tied:
        return ahead
    # Count from one entry to the next of the same score, so that no entry is read twice.
    last_keys: dict[SortValues, str] = {}
    ranges: list[tuple[str, str]] = []
    for entry in tied:
        values = entry.place.values
        ranges.append((last_keys.get(values, encode_values(values)), entry.key))
        last_keys[values] = entry.key
    most = reader.limits.equals
    # The count of a range includes its last entry.
    counts = reader.counts(ranges, most + len(ranges))
    if counts is None:
        whom, less = (repr(tied[0].member), "") if len(tied) == 1 else ("these members", "for fewer members, or ")
        raise TooFarError(f"method: more than {most:,} equals stand ahead of {whom}: ask {less}for another method")
    behind = Counter(entry.place.values for entry in tied)
    for entry, (start, key), count in zip(tied, ranges, counts, strict=True):
        # The count includes the entry itself, unless it just moved. Members may also have come or gone since the tiers
        # were read: let each entry have a place of its own among the equals.
        values = entry.place.values
        behind[values] -= 1
        least = ahead[start] + 1 if start in ahead else 0
        most_here = tiers.equals(values, counters) - 1 - behind[values]
        ahead[key] = min(max(least, ahead.get(start, 0) + count - 1), most_here)
    return ahead


def distinct_ahead(reader: RankingReader, wanted: Iterable[SortValues], counters: tiers.Nodes) -> dict[SortValues, int]:
    """How many different scores, with their tie-breaks, are ahead of each of these: `{(-300,): 0, (-295,): 1}`.

    Reads tiers until each has one score or is a leaf. Where the tiers hold few members, it reads the entries instead.
    Raises TooFarError if there are too many to read.
    """
    return _distinct_ahead([(reader, wanted, counters)])[0]


def _distinct_ahead(wanted: Sequence[tuple[RankingReader, Iterable[SortValues], tiers.Nodes]]) -> list[_Distinct]:
    """The same in several rankings. All rankings go down their tiers at once: a round trip reads a step of each."""
    session = wanted[0][0].session
    searches = {reader.ranking: _search_distinct(reader, places, counters) for reader, places, counters in wanted}
    found: dict[Ranking, _Distinct] = {}
    nodes: Mapping[tuple[Ranking, Path], Node] = {}
    asked: dict[Ranking, Iterable[Path]] = {}
    while len(found) < len(searches):
        for ranking in [each for each in searches if each not in found]:
            paths = asked.get(ranking)
            read = {path: nodes[ranking, path].counters if (ranking, path) in nodes else {} for path in paths or ()}
            try:
                asked[ranking] = searches[ranking].send(None if paths is None else read)
            except StopIteration as stop:
                found[ranking] = stop.value
        pairs = [(ranking, path) for ranking, some in asked.items() if ranking not in found for path in some]
        nodes = session.retry(session.rankings.nodes, pairs) if pairs else {}
    return [found[reader.ranking] for reader, _, _ in wanted]


def _search_distinct(
    reader: RankingReader, wanted: Iterable[SortValues], known: tiers.Nodes
) -> Generator[Iterable[Path], dict[Path, tiers.Counters] | None, _Distinct]:
    """The search in one ranking: it yields the nodes to read next, is sent their counters, and returns the answer."""
    places, counters = set(wanted), dict(known)
    if not places:
        return {}
    furthest, components = max(places), reader.ranking.metric.components
    limits, nodes_read = reader.limits, 0
    counters |= (yield {path for values in places for path in tiers.nodes_for(values)} - counters.keys()) or {}
    while undivided := tiers.undivided(furthest, counters, components):
        _check_scores(reader, len(undivided))
        ahead_of_all = tiers.ahead(furthest, counters)
        nodes_read += len(undivided)
        # To read the entries takes a query of each partition at least: each costs what a node costs.
        is_cheaper = len(reader.partitions) - 1 <= nodes_read
        if is_cheaper and ahead_of_all <= min(len(undivided) * ENTRIES_OF_A_NODE, limits.entries):
            distinct = _distinct_entries_ahead(reader, places, ahead_of_all)
            break
        if nodes_read > limits.nodes:
            raise TooFarError("method: too many different scores stand ahead, far apart: ask for another method")
        counters |= (yield undivided) or {}
    else:
        distinct = tiers.distinct_ahead(places, counters, components)
        _check_scores(reader, max(distinct.values()))
    ahead = {values: tiers.ahead(values, counters) for values in places}
    # Entries may be of another moment than the tiers: as many scores are ahead as members at most, and one at least.
    first = min(places)
    more = distinct[first] == 0 < ahead[first]
    return {values: min(ahead[values], count + more) for values, count in distinct.items()}


def _distinct_entries_ahead(reader: RankingReader, places: set[SortValues], ahead: int) -> dict[SortValues, int]:
    """The same by the entries of the sorted index, of which about `ahead` are to be read."""
    furthest = max(places)
    found: set[SortValues] = set()
    last_keys: list[tuple[Partition, str | None]] = [(partition, None) for partition in reader.partitions]
    while last_keys:
        share = min(_PAGE_SIZE, max(ahead, 0) // len(last_keys) + 1 + BEYOND)
        parts, _ = reader.spans([Span(partition, key, share) for partition, key in last_keys], [])
        ahead -= sum(map(len, parts))
        found.update(values for part in parts for entry in part if (values := entry.place.values) < furthest)
        _check_scores(reader, len(found))
        last_keys = [
            (partition, part[-1].key)
            for (partition, _), part in zip(last_keys, parts, strict=True)
            if len(part) == share and part[-1].place.values < furthest
        ]
    # A member may have left its score since; it is ranked there.
    ordered = sorted(found | (places - {furthest}))
    return {values: bisect_left(ordered, values) for values in places}


def _check_scores(reader: RankingReader, count: int) -> None:
    if count > (most := reader.limits.scores):
        raise TooFarError(f"method: more than {most:,} different scores stand ahead: ask for another method")


def select(reader: RankingReader, position_of: Callable[[int], int], nodes: dict[Path, Node]) -> tiers.Selected | None:
    """The score at the position (from 0) of a total; None beyond the ends. The nodes on its path go to `nodes`."""

    def counters_at(path: Path) -> tiers.Counters:
        if path not in nodes:
            nodes.update(reader.nodes([path]))
        return nodes[path].counters if path in nodes else {}

    selected = None
    for _ in range(MAX_TRIES):
        total = sum(counters_at(ROOT).values())
        position = position_of(total)
        if not 0 <= position < total:
            return None
        selected = tiers.select(position, counters_at, reader.ranking.metric.components)
        if selected is not None:
            break
        # A member moved between two reads. Start again from the root.
        nodes.clear()
    return selected
