"""Pages of a ranking's list: the first, after or before a cursor, from a position or a score, and around a member.

Entries come from the sorted index. Ranks come from the tiers at each read, so they are current on every page. Each
page may also have the rank of one member, `me`, wherever it is in the list.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from standings.domain import tiers
from standings.domain.boards import check_member
from standings.domain.errors import TooFarError, bad_argument
from standings.domain.scoring import SortValues, behind, decode_sort_key, encode_values
from standings.domain.tiers import ROOT, Path
from standings.read.cursors import ENDS, Cursor, encode_cursor, read_cursor
from standings.read.member_ranks import counters_of, distinct_ahead, entry_ranks, equals_ahead, not_ranked, select
from standings.read.score_statistics import parse_values
from standings.read.session import BEYOND, Method, RankingReader, decimal_of, scored
from standings.stores import Entry, Node, Partition, Span


def page(reader: RankingReader, *, limit: int, cursor: str | None, me: str | None = None) -> dict[str, Any]:
    """The first page, or the page that a cursor leads to. Raises InvalidArgumentError for a cursor that does not fit.

    A page is `{"board": "b", …, "total": 40, "entries": [{"rank": 1, "member": "u7", "score": 50}, …], …}`. All kinds
    of pages may raise TooFarError.
    """
    at = Cursor(reader.ranking.period, forward=True, key=ENDS, method=reader.method)
    if cursor is not None:
        at = read_cursor(reader, cursor)
        reader = RankingReader(reader.session, reader.ranking._replace(period=at.period), at.method)
    shown = _Page(reader, me)
    if not at.forward:
        entries = shown.stretch(at.key or None, limit + 1, [ROOT], forward=False)
        return shown.backward(entries, limit, is_last=at.key == ENDS)
    if at.key == ENDS:
        entries = shown.stretch(None, limit + 1, [ROOT], forward=True)
        return shown.forward(entries, limit, _START, is_first=True)
    values = decode_sort_key(at.key, reader.ranking.metric)[0].values
    entries = shown.stretch(at.key, limit + 1, tiers.nodes_for(values), forward=True)
    ahead, equals = shown.counted(values)
    is_equal = bool(entries) and entries[0].place.values == values
    base = _Base(ahead, equals, None) if is_equal else _Base(ahead + equals, 0, 0)
    return shown.forward(entries, limit, base, is_first=False)


def page_at(reader: RankingReader, *, rank: int, limit: int, me: str | None = None) -> dict[str, Any]:
    """The page that starts at a position of the list, counted from 1: down the tiers, then past members of equal score.

    Positions before the end are negative: -1 is the last. The page ends at such a position. InvalidArgumentError for 0.
    """
    if rank == 0:
        raise bad_argument("rank", "expected a position from 1 on, or from -1 back, got 0")
    shown = _Page(reader, me)
    forward, skip = rank > 0, abs(rank) - 1
    selected = select(reader, lambda total: skip if forward else total - 1 - skip, shown.nodes)
    total = shown.total()
    if selected is None:
        shown.read([], [])
        beyond = ENDS if shown.total() else None
        return shown.answer([], _START, beyond if forward else None, None if forward else beyond)
    passed = skip - selected.ahead if forward else selected.ahead + selected.equals - (total - skip)
    if passed > (most := reader.limits.equals):
        side = "ahead of" if forward else "behind"
        raise TooFarError(f"rank: more than {most:,} members of equal score stand {side} it: page on from them")
    start = encode_values(selected.values) if forward else behind(selected.values)
    entries = shown.stretch(start, passed + limit + 1, [], forward=forward)[passed:]
    if not forward:
        return shown.backward(entries, limit, is_last=skip == 0)
    base = _Base(selected.ahead, selected.equals, passed)
    if entries and entries[0].place.values != selected.values:
        # Members of that score left after the tiers were read: rank the entries that are there.
        base = shown.base(entries[0])
    return shown.forward(entries, limit, base, is_first=skip == 0)


def page_from(
    reader: RankingReader, *, score: str, tie_breaks: str | None = None, limit: int, me: str | None = None
) -> dict[str, Any]:
    """The page from the first entry with a score (and tie-breaks) on, or behind it. May raise InvalidArgumentError."""
    values = parse_values(score, tie_breaks, reader.ranking.metric)
    shown = _Page(reader, me)
    entries = shown.stretch(encode_values(values), limit + 1, tiers.nodes_for(values), forward=True)
    ahead, equals = shown.counted(values)
    is_there = bool(entries) and entries[0].place.values[: len(values)] == values
    base = _Base(ahead if is_there else ahead + equals, equals, 0)
    return shown.forward(entries, limit, base, is_first=base.ahead == 0)


def page_around(
    reader: RankingReader, *, member: str, radius: int | None = None, limit: int = 0, me: str | None = None
) -> dict[str, Any]:
    """A member with up to `radius` neighbours on each side, or, without a radius, with `limit` entries in all.

    Where one side has too few for the limit, the page has more of the other. NotFoundError for a member without a rank,
    InvalidArgumentError for a text that is no member.
    """
    check_member("around", member)
    shown = _Page(reader, me, around=member)
    if (entry := shown.middle) is None:
        raise not_ranked(reader, member)
    most = limit - 1 if radius is None else radius  # on one side
    before, after = (Stretch(entry.key, most + 1, forward=forward) for forward in (False, True))
    if me == member:
        shown.before_me = [before]  # It has the one just before
    shown.read([before, after], tiers.nodes_for(entry.place.values))
    # A member that moves meanwhile may be found twice: keep the first.
    ahead = [each for each in before.entries if each.member != member]
    known = {member, *(each.member for each in ahead)}
    behind = [each for each in after.entries if each.member not in known]
    above = below = most
    if radius is None:
        above = max(limit // 2, most - len(behind))
        below = most - min(above, len(ahead))
    entries = [*ahead[:above][::-1], entry, *behind[:below]]
    values, first = entry.place.values, entries[0].place.values
    if first == values or [first] == [each.place.values for each in ahead[above : above + 1]]:
        base = shown.base(entries[0])
    else:
        # All with a score from the first entry's to the member's are on the page, so no further node is needed.
        between = [each.place.values for each in ahead if first <= each.place.values < values]
        base = _Base(max(0, shown.counted(values)[0] - len(between)), between.count(first), 0)
    previous = entries[0].key if len(ahead) > above else None
    return shown.answer(entries, base, previous, entries[-1].key if len(behind) > below else None)


class _Base(NamedTuple):
    """The counts from which a page's ranks follow, for its first entry."""

    ahead: int  # Members with a better score
    equals: int  # Members with the same score, the entry included
    equals_ahead: int | None  # Those of them that come before it; None: not counted yet


_START: Final = _Base(0, 0, 0)


class _Page:
    """One page: reads it, then answers with it. The reads for the rank of `me` go together with those of the page.

    The entry of `me` is read before the page, and the one just before it apart from the page. Members that move
    meanwhile must not let the answer contradict itself: so all that was found of the list is ranked together.
    """

    def __init__(self, reader: RankingReader, me: str | None, around: str | None = None) -> None:
        self.reader = reader
        self.me = me
        self.nodes: dict[Path, Node] = {}  # All nodes that were read
        names = [name for name in (me, around) if name is not None]
        entries = reader.entries(names) if names else {}
        self.middle = None if around is None else entries.get(around)
        self.mine = None if me is None else entries.get(me)
        self.before_me = [] if self.mine is None else [Stretch(self.mine.key, 1, forward=False)]

    def stretch(self, beyond: str | None, limit: int, paths: Sequence[Path], *, forward: bool) -> list[Entry]:
        stretch = Stretch(beyond, limit, forward=forward)
        self.read([stretch], paths)
        return stretch.entries

    def read(self, stretches: Sequence["Stretch"], paths: Sequence[Path]) -> None:
        """Read stretches, until each is complete, and nodes for the page. May raise TooFarError.

        Each round reads its spans in parallel, with the nodes known to be needed by then. Call it once, so that nothing
        for `me` is read twice. Name the root, unless it was just read: it may name more shards.
        """
        stretches = list(dict.fromkeys([*stretches, *self.before_me]))
        asked = set(self.nodes)
        while True:
            # After the number of shards was raised, the root may name more than were read.
            partitions = self.reader.partitions
            by_stretch = [stretch.next_spans(partitions) for stretch in stretches]
            spans = list(dict.fromkeys(chain.from_iterable(by_stretch)))
            wanted = [path for path in dict.fromkeys(chain(paths, self._paths_of_me())) if path not in asked]
            if not spans and not wanted:
                return
            parts, nodes = self.reader.spans(spans, wanted)
            self.nodes.update(nodes)
            asked.update(wanted)
            found = dict(zip(spans, parts, strict=True))
            for stretch, mine in zip(stretches, by_stretch, strict=True):
                stretch.add({span: found[span] for span in mine})

    def _paths_of_me(self) -> Iterator[Path]:
        """The nodes that give the rank of `me`, and of the entry before it as soon as that is read."""
        if self.mine is not None:
            yield from tiers.nodes_for(self.mine.place.values)
        if self.reader.method == "competition":
            for before in self._just_before_me():
                yield tiers.nodes_for(before.place.values)[-1]

    def _just_before_me(self) -> list[Entry]:
        return [entry for stretch in self.before_me for entry in stretch.entries[:1]]

    def total(self) -> int:
        """The number of members in the ranking, by the root that was read."""
        return sum(counters_of(self.nodes)[ROOT].values())

    def counted(self, values: SortValues) -> tuple[int, int]:
        """How many members are ahead of sort values, and how many have them, by the nodes that were read."""
        counters = counters_of(self.nodes)
        return tiers.ahead(values, counters), tiers.equals(values, counters)

    def base(self, entry: Entry) -> _Base:
        """The base of a page that starts with an entry. Reads the nodes that are missing."""
        missing = [path for path in tiers.nodes_for(entry.place.values) if path not in self.nodes]
        if missing:
            self.nodes.update(self.reader.nodes(missing))
        return _Base(*self.counted(entry.place.values), None)

    def forward(self, entries: Sequence[Entry], limit: int, base: _Base, *, is_first: bool) -> dict[str, Any]:
        """The answer with entries that were read forward: one more than the page holds, if there are more."""
        previous = None if is_first else entries[0].key if entries else ENDS
        return self.answer(entries[:limit], base, previous, _last_key(entries, limit))

    def backward(self, entries: Sequence[Entry], limit: int, *, is_last: bool) -> dict[str, Any]:
        """The same with entries that were read backward."""
        page = entries[:limit][::-1]
        following = None if is_last else entries[0].key if entries else ENDS
        return self.answer(page, self.base(page[0]) if page else _START, _last_key(entries, limit), following)

    def answer(self, page: Sequence[Entry], base: _Base, previous: str | None, following: str | None) -> dict[str, Any]:
        """The answer with the entries of a page, and the keys to read on from (None: the list ends there).

        If a page is empty, its keys lead back to the end of the list, so that no member is skipped.
        """
        reader, counters = self.reader, counters_of(self.nodes)
        known = self._known(page, starts=previous is None, ends=following is None)
        # Entries and tiers may be of different moments. A page that has an end of the list is counted from there.
        base = _START if previous is None or known.leads else base
        ranks = _ranks(reader, known, base, counters)
        total, until = sum(counters[ROOT].values()), ranks.ahead + len(known.entries)
        if following is None and (page or previous is None):
            total = until
        elif page:
            more = ranks.is_counted and not known.behind
            total = max(total, until + more, base.ahead + len(page) + 1)
        mine = None
        if known.me is not None:
            rank, ahead, before = self._rank_me(known.me, known, ranks)
            total = max(total, rank, ahead + 1)
            shown = {
                "percentile": decimal_of(tiers.percentile(ahead, total), 2),
                "ahead": before and self._line(*before),
            }
            mine = {**self._line(known.me, rank), **shown}
        members = {entry.member for entry in page}
        lines = zip(known.entries, ranks.numbers, strict=True)
        return {
            **reader.head(total, self.nodes, page),
            "entries": [self._line(entry, rank) for entry, rank in lines if entry.member in members],
            "next": self._cursor(following, forward=True),
            "previous": self._cursor(previous, forward=False),
            **({} if self.me is None else {"me": mine}),
        }

    def _line(self, entry: Entry, rank: int) -> dict[str, Any]:
        return {"rank": rank, "member": entry.member, **scored(entry.place.values, self.reader.ranking.metric)}

    def _cursor(self, key: str | None, *, forward: bool) -> str | None:
        ranking, method = self.reader.ranking, self.reader.method
        return None if key is None else encode_cursor(Cursor(ranking.period, forward, key, method), ranking)

    def _known(self, entries: Sequence[Entry], *, starts: bool, ends: bool) -> "_Known":
        """What was found of the list, of which a page has the start, the end, both or none."""
        page = list(entries)
        if self.mine is None:
            return _Known(page)
        on_page = {entry.member: entry for entry in page}
        me = on_page.get(self.mine.member, self.mine)
        # A member that moves meanwhile may be found again.
        found = self._just_before_me()
        before = next((entry for entry in found if entry.member != me.member and entry.key < me.key), None)
        nearest = [] if before is None else [before]
        place = bisect_left([entry.key for entry in page], me.key)
        if me.member not in on_page and (place > 0 or starts) and (place < len(page) or ends):
            page.insert(place, me)
        elif page and place == len(page):
            is_between = before is not None and before.member not in on_page and before.key > page[-1].key
            behind = [*(nearest if is_between else []), me]
            return _Known([*page, *behind], me, before, behind=behind)
        elif page and me.member not in on_page:
            return _Known(page, me, before, ahead=[*nearest, me])
        if page and page[0] is me:
            return _Known(page, me, None if starts else before, ahead=[] if starts else nearest, leads=not nearest)
        return _Known(page, me, before)

    def _rank_me(self, me: Entry, known: "_Known", ranks: "_Ranks") -> tuple[int, int, tuple[Entry, int] | None]:
        """The rank of `me`, how many are ahead by score, and the entry before it with its rank, as the list has it."""
        method = self.reader.method
        place = next((place for place, entry in enumerate(known.entries) if entry is me), 0)
        if known.behind or not known.entries or known.entries[place] is not me:
            values = me.place.values
            mine = {path: self.nodes[path] for path in tiers.nodes_for(values) if path in self.nodes}
            counters = counters_of(mine, [values])
            ahead = _bounded(tiers.ahead(values, counters) + 1, me, known, ranks.by_competition, "competition") - 1
            rank = ahead + 1
            if method != "competition":
                rank = _bounded(entry_ranks(self.reader, [me], counters)[me.member], me, known, ranks.numbers, method)
        else:
            rank, ahead = ranks.numbers[place], ranks.by_competition[place] - 1
        if place and len(known.behind) < 2:  # noqa: PLR2004 - the one before and `me`
            return rank, ahead, (known.entries[place - 1], ranks.numbers[place - 1])
        before = known.before
        if before is None:
            return rank, ahead, None
        step = 1
        if method == "competition":
            # Nobody stands between the two, so all who are ahead of one but not of the other have this score.
            step = max(1, min(self.counted(before.place.values)[1], ahead))
        best = rank - step if _apart(before, me, method) else rank
        if known.behind:
            best = _bounded(best, before, known, ranks.numbers[:-1], method)
        return rank, ahead, (before, best)


def _last_key(entries: Sequence[Entry], limit: int) -> str | None:
    """The key of a page's last entry, if more entries were found than the page holds."""
    return entries[limit - 1].key if len(entries) > limit else None


class _Known(NamedTuple):
    """What was found of the list: the entries of the page with those `behind` it, and those `ahead` of it.

    If the entry of `me` belongs on the page and was not read with it, it is among the entries all the same. `before` is
    the entry just before `me`, and `leads` says that there is none, although the page begins with `me`.
    """

    entries: Sequence[Entry]
    me: Entry | None = None
    before: Entry | None = None
    ahead: Sequence[Entry] = ()
    behind: Sequence[Entry] = ()
    leads: bool = False


class _Ranks(NamedTuple):
    """The ranks of consecutive entries, by the reader's method and by competition.

    `ahead` is how many members come before the first. Unless it `is_counted`, all entries have one score, and some of
    these members may come behind the last instead.
    """

    numbers: Sequence[int]
    by_competition: Sequence[int]
    ahead: int
    is_counted: bool = True


def _ranks(reader: RankingReader, known: _Known, base: _Base, counters: tiers.Nodes) -> _Ranks:
    """The ranks of consecutive entries. Those found `ahead` of them are counted, whatever `base` says."""
    entries, ahead = known.entries, known.ahead
    if not entries:
        return _Ranks([], [], 0)
    places = [entry.place.values for entry in entries]
    positions = [bisect_left(places, values) for values in places]
    better = [values for entry in ahead if (values := entry.place.values) < places[0]]
    unseen, is_counted = base.equals_ahead, base.equals_ahead is not None or positions[-1] > 0
    if unseen is None:
        # Some members of the first score may be ahead of the page; if it has no other score, also behind it.
        unseen = max(0, base.equals - places.count(places[0]))
        if reader.method == "ordinal":
            unseen = min(unseen, equals_ahead(reader, entries[:1], counters)[entries[0].key])
            is_counted = True
    first, unseen = max(base.ahead, len(better)), max(unseen, len(ahead) - len(better))
    by_competition = [first + 1 + position + (unseen if position else 0) for position in positions]
    ranks: Sequence[int] = by_competition
    if reader.method == "ordinal":
        ranks = range(first + unseen + 1, first + unseen + 1 + len(entries))
    elif reader.method == "dense":
        distinct = distinct_ahead(reader, places[:1], counters)[places[0]] if base.ahead else 0
        distinct = min(first, max(distinct, len(set(better)), first > 0))
        different = sorted(set(places))
        ranks = [1 + distinct + bisect_left(different, values) for values in places]
    return _Ranks(ranks, by_competition, first + unseen, is_counted)


def _bounded(rank: int, entry: Entry, known: _Known, numbers: Sequence[int], method: Method) -> int:
    """The rank of an entry off the page, within the known ranks. Of one behind it, `numbers` ends with its own."""
    if known.behind:
        last = known.entries[-1 - len(known.behind)]
        return max(rank, numbers[-1]) if _apart(last, entry, method) else numbers[-1]
    if known.before is None:
        return 1
    most = numbers[0] - _apart(entry, known.entries[0], method) if known.entries else rank
    return max(1 + _apart(known.before, entry, method), min(rank, most))


def _apart(one: Entry, other: Entry, method: Method) -> bool:
    return method == "ordinal" or one.place.values != other.place.values


class Stretch:
    """The `limit` entries behind a key or, with `forward` false, ahead of it; without a key, those at that end."""

    def __init__(self, beyond: str | None, limit: int, *, forward: bool) -> None:
        self._beyond = beyond
        self._limit = limit
        self._forward = forward
        self._read: defaultdict[Partition, list[Entry]] = defaultdict(list)
        self._ended: set[Partition] = set()
        self._found: list[Entry] = []

    @property
    def entries(self) -> list[Entry]:
        """The entries that were found, those nearest to the key first."""
        return self._found[: self._limit]

    def next_spans(self, partitions: Sequence[Partition]) -> list[Span]:
        """What to read next; nothing once no partition can have more of the entries wanted."""
        share = min(self._limit, -(-self._limit // len(partitions)) + BEYOND)
        spans: list[Span] = []
        for partition in partitions:
            wanted, key = share, self._beyond
            if read := self._read[partition]:
                # It may hold at most the entries still missing after that key.
                key = read[-1].key
                before = (entry.key <= key if self._forward else entry.key >= key for entry in self._found)
                wanted = self._limit - sum(before)
            if partition not in self._ended and wanted > 0:
                spans.append(Span(partition, key, wanted, self._forward))
        return spans

    def add(self, parts: Mapping[Span, Sequence[Entry]]) -> None:
        """Add the entries that were read of each span."""
        for span, entries in parts.items():
            self._read[span.partition] += entries
            if len(entries) < span.limit:
                self._ended.add(span.partition)
        entries = sorted(chain(*self._read.values()), key=lambda entry: entry.key, reverse=not self._forward)
        # A member that moves between two reads may be found twice: keep the first.
        first_by_member: dict[str, Entry] = {}
        for entry in entries:
            first_by_member.setdefault(entry.member, entry)
        self._found = list(first_by_member.values())
