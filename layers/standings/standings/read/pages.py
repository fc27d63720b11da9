"""Pages of a ranking: cursors, the merge of partitions, and pages from the top, a position, a score or a member."""

from base64 import b64decode, urlsafe_b64encode
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

import orjson

from standings.domain import tiers
from standings.domain.boards import BOARD_NAME, MAX_MEMBER_BYTES, MAX_UNITS, Ranking, check_member
from standings.domain.errors import TooFarError, bad_argument
from standings.domain.scoring import decode_sort_key, encode_sortable, sort_key
from standings.domain.tiers import ROOT, Path
from standings.read.member_ranks import Base, PageRanks, counters_of, entry_ranks, not_ranked, page_ranks, select
from standings.read.reader import BEYOND, METHODS, Method, Question, answer_head, percentile_of, score_at
from standings.read.score_statistics import sort_value_of
from standings.stores import Entry, Node, Partition, Span

# Cursors: text from which a client reads on in a list.

ENDS: Final = ""
_CHECKSUM_BYTES: Final = 8
T = TypeVar("T")


class Cursor(NamedTuple):
    """Read on from a key in a period's list, forward or backward. The key `ENDS` is before and after all entries."""

    period: int
    forward: bool
    key: str
    method: Method


def encode_cursor(cursor: Cursor, ranking: Ranking) -> str:
    """A cursor as text, such as `AbC…`: base64 of a checksum and the cursor in JSON."""
    return _with_checksum(orjson.dumps(list(cursor)), _list_of(ranking))


def read_cursor(question: Question, text: str) -> Cursor:
    """The cursor in a text; InvalidArgumentError if it does not fit the question or can no longer be read."""
    ranking = question.ranking
    cursor = _decode(text, _list_of(ranking), lambda content: _parse_cursor(content, ranking))
    if question.names_method and question.method != cursor.method:
        raise bad_argument("cursor", f"is of a list numbered by {cursor.method}, not by {question.method}")
    if question.names_period and cursor.period != ranking.period:
        raise bad_argument("cursor", "is of another period than the one named")
    unit = ranking.window.unit
    is_known = cursor.period == 0 if unit is None else ranking.metric.timetable.has(unit, cursor.period)
    if not is_known or cursor.period > ranking.period:
        raise bad_argument("cursor", "is of a period that cannot be read")
    until = ranking._replace(period=cursor.period).readable_until
    if until is not None and question.request.now >= until:
        raise bad_argument("cursor", "its period is no longer kept")
    return cursor


def encode_name(name: str, prefix: str) -> str:
    """The cursor that reads on after a name, in the list of names with a prefix."""
    return _with_checksum(name.encode(), f"names/{prefix}")


def read_name(text: str, prefix: str) -> str:
    """The name in a cursor; InvalidArgumentError if the text was altered or belongs to another list."""
    return _decode(text, f"names/{prefix}", _parse_name)


def _with_checksum(content: bytes, list_name: str) -> str:
    """The content after a checksum of it and of the list. It is no secret, so decoding checks the content too."""
    checksum = blake2b(list_name.encode() + b"/" + content, digest_size=_CHECKSUM_BYTES).digest()
    return urlsafe_b64encode(checksum + content).decode().rstrip("=")


def _decode(text: str, list_name: str, parse: Callable[[bytes], T]) -> T:
    try:
        content = b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)[_CHECKSUM_BYTES:]
        # Compare the text: the last letter has spare bits, which decoding ignores.
        if _with_checksum(content, list_name) != text:
            raise ValueError(text)
        return parse(content)
    except (ValueError, TypeError, LookupError) as error:
        raise bad_argument("cursor", "is altered, or of another list") from error


def _parse_cursor(content: bytes, ranking: Ranking) -> Cursor:
    period, forward, key, method = orjson.loads(content)
    if type(period) is not int or type(forward) is not bool or method not in METHODS:
        raise ValueError(content)
    if key != ENDS:
        place, member = decode_sort_key(key, ties_by_instant=ranking.metric.ties_by_instant)
        too_large = max(abs(place.sort_value), abs(place.since or 0)) > MAX_UNITS
        if sort_key(place, member) != key or too_large or not 1 <= len(member.encode()) <= MAX_MEMBER_BYTES:
            raise ValueError(content)
    return Cursor(period, forward, key, method)


def _parse_name(content: bytes) -> str:
    name = content.decode()
    if not BOARD_NAME.fullmatch(name):
        raise ValueError(name)
    return name


def _list_of(ranking: Ranking) -> str:
    metric, window = ranking.metric, ranking.window
    return f"{ranking.board}#{metric.ranking_codes[window.name]}{window.code}"


# Reads the top N, or any other part, of a ranking whose entries are in several partitions of the sorted index.
#
# A ranking has a partition for each list and shard. All are read in parallel, each a little beyond its share, and
# merged. A partition that may have more of the N entries is read once more, for as many as it can still have. So a
# stretch of N entries takes two rounds at most, and reads at most N entries of each partition.


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
            if not self._read[partition]:
                wanted, key = share, self._beyond
            else:
                # Behind its last key it can have as many as are missing there.
                key = self._read[partition][-1].key
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


def read_stretches(
    question: Question, stretches: Sequence[Stretch], paths: Callable[[], Iterable[Path]], nodes: dict[Path, Node]
) -> None:
    """Read stretches until each is complete, and add nodes to `nodes`.

    Each round reads all its spans in parallel, and the nodes that `paths` names by then and that were not read yet.
    Name the root, unless it was just read: it may name more shards than `boards.toml`.
    """
    asked = set(nodes)
    while True:
        # After the number of shards was raised, the root may name more than were read.
        partitions = question.partitions(nodes)
        by_stretch = [stretch.next_spans(partitions) for stretch in stretches]
        spans = list(dict.fromkeys(chain.from_iterable(by_stretch)))
        wanted = [path for path in dict.fromkeys(paths()) if path not in asked]
        if not spans and not wanted:
            return
        parts, read_nodes = question.spans(spans, wanted)
        nodes.update(read_nodes)
        asked.update(wanted)
        found = dict(zip(spans, parts, strict=True))
        for stretch, mine in zip(stretches, by_stretch, strict=True):
            stretch.add({span: found[span] for span in mine})


# Pages of a ranking's list: the first, after or before a cursor, from a position or a score, and around a member.
#
# Entries come from the sorted index. Ranks come from the tiers at each read, so they are current on every page. Each
# page may also have the rank of one member, `me`, wherever it is in the list.

_START: Final = Base(0, 0, 0)


class _Page(NamedTuple):
    """Entries, the base of their ranks, and the keys to read on from (None: the list ends there).

    If a page is empty, its keys lead back to the end of the list, so that no member is skipped.
    """

    entries: Sequence[Entry]
    base: Base
    previous: str | None
    following: str | None


def page(question: Question, *, limit: int, cursor: str | None, me: str | None = None) -> dict[str, Any]:
    """The first page, or the page that a cursor leads to."""
    at = Cursor(question.ranking.period, forward=True, key=ENDS, method=question.method)
    if cursor is not None:
        at = read_cursor(question, cursor)
        question = question.request.about(question.ranking._replace(period=at.period), at.method)
    reader = _PageReader(question, me)
    return _answer(reader, (_after if at.forward else _before)(reader, at.key, limit))


def page_at(question: Question, *, rank: int, limit: int, me: str | None = None) -> dict[str, Any]:
    """The page that starts at a position of the list, counted from 1.

    Positions before the end are negative: -1 is the last. The page ends at such a position.
    """
    if rank == 0:
        raise bad_argument("rank", "expected a position from 1 on, or from -1 back, got 0")
    reader = _PageReader(question, me)
    return _answer(reader, _at(reader, rank - 1, limit) if rank > 0 else _ending(reader, -1 - rank, limit))


def page_from(question: Question, *, score: str, limit: int, me: str | None = None) -> dict[str, Any]:
    """The page that starts at the first entry with a score, or behind that score."""
    number = sort_value_of(question, score)
    reader = _PageReader(question, me)
    return _answer(reader, _from(reader, number, limit))


def page_around(
    question: Question, *, member: str, radius: int | None = None, limit: int = 0, me: str | None = None
) -> dict[str, Any]:
    """A member with up to `radius` neighbours on each side, or, without a radius, with `limit` entries in all.

    Where one side has too few for the limit, the page has more of the other.
    """
    check_member("around", member)
    reader = _PageReader(question, me, around=member)
    if reader.middle is None:
        raise not_ranked(question, member)
    return _answer(reader, _around(reader, reader.middle, radius, limit))


class _PageReader:
    """Reads one page. If the request names `me`, the reads for its rank go together with those of the page."""

    def __init__(self, question: Question, me: str | None, around: str | None = None) -> None:
        self.question = question
        self.me = me
        self.nodes: dict[Path, Node] = {}
        """All nodes that were read."""
        names = [name for name in (me, around) if name is not None]
        entries = self.question.entries(names) if names else {}
        self.middle = None if around is None else entries.get(around)
        self.mine = None if me is None else entries.get(me)
        self.before_me = [] if self.mine is None else [Stretch(self.mine.key, 1, forward=False)]

    def read(self, stretches: Sequence[Stretch], paths: Sequence[Path]) -> None:
        """Read stretches and nodes for the page. Call it once, so that nothing for `me` is read twice."""
        stretches = list(dict.fromkeys([*stretches, *self.before_me]))
        read_stretches(self.question, stretches, lambda: chain(paths, self._paths_of_me()), self.nodes)

    def stretch(self, beyond: str | None, limit: int, paths: Sequence[Path], *, forward: bool) -> list[Entry]:
        """Read one stretch, and nodes."""
        stretch = Stretch(beyond, limit, forward=forward)
        self.read([stretch], paths)
        return stretch.entries

    def _paths_of_me(self) -> Iterator[Path]:
        """The nodes that give the rank of `me`, and of the entry before it as soon as that is read."""
        if self.mine is not None:
            yield from tiers.nodes_for(self.mine.place.sort_value)
        if self.question.method == "competition":
            for before in chain.from_iterable(stretch.entries[:1] for stretch in self.before_me):
                yield tiers.nodes_for(before.place.sort_value)[-1]

    def base(self, entry: Entry) -> Base:
        """The base of a page that starts with an entry. Reads the nodes that are missing."""
        number = entry.place.sort_value
        missing = [path for path in tiers.nodes_for(number) if path not in self.nodes]
        if missing:
            self.nodes.update(self.question.nodes(missing))
        counters = counters_of(self.nodes)
        return Base(tiers.ahead(number, counters), tiers.equals(number, counters), None)


def _answer(reader: _PageReader, contents: _Page) -> dict[str, Any]:
    question = reader.question
    ranking, method = question.ranking, question.method
    counters = counters_of(reader.nodes)
    known = _known(reader, contents)
    # Entries and tiers may be of different moments. A page that has an end of the list is counted from there.
    base = _START if contents.previous is None or known.leads else contents.base
    ranks = page_ranks(question, known.entries, base, counters, known.ahead)
    total, until = tiers.total(counters[ROOT]), ranks.ahead + len(known.entries)
    if contents.following is None and (contents.entries or contents.previous is None):
        total = until
    elif contents.entries:
        more = ranks.is_counted and not known.behind
        total = max(total, until + more, base.ahead + len(contents.entries) + 1)
    me = _me(reader, known, ranks)
    if me is not None:
        total = max(total, me.rank, me.ahead + 1)
    shown = {entry.member for entry in contents.entries}
    lines = [line for line in zip(known.entries, ranks.numbers, strict=True) if line[0].member in shown]

    def cursor(key: str | None, *, forward: bool) -> str | None:
        return None if key is None else encode_cursor(Cursor(ranking.period, forward, key, method), ranking)

    return {
        **answer_head(question, reader.nodes.values(), contents.entries),
        "total": total,
        "entries": [_line(question, *line) for line in lines],
        "next": cursor(contents.following, forward=True),
        "previous": cursor(contents.previous, forward=False),
        **({} if reader.me is None else {"me": me and _my_line(question, me, total)}),
    }


def _line(question: Question, entry: Entry, rank: int) -> dict[str, Any]:
    score = score_at(entry.place.sort_value, question.ranking.metric)
    return {"rank": rank, "member": entry.member, "score": score}


# `me` beside a page. Its entry is read before the page, and the one just before it apart from the page. Members that
# move meanwhile must not let the answer contradict itself: so what was found of the list is ranked together.


class _Known(NamedTuple):
    """What was found of the list: the entries of the page with those `behind` it, and those `ahead` of it.

    If `me` is not on the page where its entry was, it is among the entries all the same. `before` is the entry just
    before `me`, and `leads` says that there is none, although the page begins with `me`.
    """

    entries: Sequence[Entry]
    me: Entry | None = None
    before: Entry | None = None
    ahead: Sequence[Entry] = ()
    behind: Sequence[Entry] = ()
    leads: bool = False


def _known(reader: _PageReader, contents: _Page) -> _Known:
    page = list(contents.entries)
    if reader.mine is None:
        return _Known(page)
    on_page = {entry.member: entry for entry in page}
    me = on_page.get(reader.mine.member, reader.mine)
    # A member that moves meanwhile may be found again.
    found = [entry for stretch in reader.before_me for entry in stretch.entries[:1]]
    before = next((entry for entry in found if entry.member != me.member and entry.key < me.key), None)
    nearest = [] if before is None else [before]
    place = bisect_left([entry.key for entry in page], me.key)
    starts, ends = contents.previous is None, contents.following is None
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


class _Me(NamedTuple):
    """The entry of `me`, its rank, how many members have a better score, and the entry just before it with its rank."""

    entry: Entry
    rank: int
    ahead: int
    before: tuple[Entry, int] | None


def _me(reader: _PageReader, known: _Known, ranks: PageRanks) -> _Me | None:
    """The rank of `me`, as what was found of the list has it or allows it."""
    question, me = reader.question, known.me
    if me is None:
        return None
    place = next((place for place, entry in enumerate(known.entries) if entry is me), 0)
    if known.behind or not known.entries or known.entries[place] is not me:
        number = me.place.sort_value
        mine = {path: reader.nodes[path] for path in tiers.nodes_for(number) if path in reader.nodes}
        counters = counters_of(mine, [number])
        ahead = _bounded(tiers.ahead(number, counters) + 1, me, known, ranks.by_competition, "competition") - 1
        rank = ahead + 1
        if question.method != "competition":
            own = entry_ranks(question, [me], counters)[me.member]
            rank = _bounded(own, me, known, ranks.numbers, question.method)
    else:
        rank, ahead = ranks.numbers[place], ranks.by_competition[place] - 1
    if place and len(known.behind) < 2:  # noqa: PLR2004 - the one before and `me`
        return _Me(me, rank, ahead, (known.entries[place - 1], ranks.numbers[place - 1]))
    before = known.before
    if before is None:
        return _Me(me, rank, ahead, None)
    number = before.place.sort_value
    step = 1
    if question.method == "competition":
        # Nobody stands between the two, so all who are ahead of one but not of the other have this score.
        step = max(1, min(tiers.equals(number, counters_of(reader.nodes)), ahead))
    best = rank - step if _apart(before, me, question.method) else rank
    if known.behind:
        best = _bounded(best, before, known, ranks.numbers[:-1], question.method)
    return _Me(me, rank, ahead, (before, best))


def _bounded(rank: int, entry: Entry, known: _Known, numbers: Sequence[int], method: Method) -> int:
    """The rank of an entry that is not on the page. One behind it is the last that has a number."""
    if known.behind:
        last = known.entries[-1 - len(known.behind)]
        return max(rank, numbers[-1]) if _apart(last, entry, method) else numbers[-1]
    if known.before is None:
        return 1
    most = numbers[0] - _apart(entry, known.entries[0], method) if known.entries else rank
    return max(1 + _apart(known.before, entry, method), min(rank, most))


def _apart(one: Entry, other: Entry, method: Method) -> bool:
    """Whether two entries have different ranks."""
    return method == "ordinal" or one.place.sort_value != other.place.sort_value


def _my_line(question: Question, me: _Me, total: int) -> dict[str, Any]:
    before = None if me.before is None else _line(question, *me.before)
    return {**_line(question, me.entry, me.rank), "percentile": percentile_of(me.ahead, total), "ahead": before}


def _after(reader: _PageReader, key: str, limit: int) -> _Page:
    if key == ENDS:
        entries = reader.stretch(None, limit + 1, [ROOT], forward=True)
        return _Page(entries[:limit], _START, None, _last_key(entries, limit))
    number = decode_sort_key(key, ties_by_instant=reader.question.ranking.metric.ties_by_instant)[0].sort_value
    entries = reader.stretch(key, limit + 1, tiers.nodes_for(number), forward=True)
    counters = counters_of(reader.nodes)
    ahead, equals = tiers.ahead(number, counters), tiers.equals(number, counters)
    is_same_score = bool(entries) and entries[0].place.sort_value == number
    base = Base(ahead, equals, None) if is_same_score else Base(ahead + equals, 0, 0)
    return _Page(entries[:limit], base, entries[0].key if entries else ENDS, _last_key(entries, limit))


def _before(reader: _PageReader, key: str, limit: int) -> _Page:
    entries = reader.stretch(key or None, limit + 1, [ROOT], forward=False)
    page_entries = entries[:limit][::-1]
    base = reader.base(page_entries[0]) if page_entries else _START
    following = None if key == ENDS else entries[0].key if entries else ENDS
    return _Page(page_entries, base, _last_key(entries, limit), following)


def _at(reader: _PageReader, skip: int, limit: int) -> _Page:
    """The page after the first `skip` entries: down the tiers, then past members of equal score."""
    selected = select(reader.question, lambda _: skip, reader.nodes)
    if selected is None:
        reader.read([], [])
        total = tiers.total(counters_of(reader.nodes)[ROOT])
        return _Page([], _START, ENDS if total else None, None)
    equals_ahead = skip - selected.ahead
    if equals_ahead > (most := reader.question.limits.equals):
        raise TooFarError(f"rank: more than {most:,} members of equal score stand ahead of it: page on from them")
    start = encode_sortable(selected.sort_value)
    entries = reader.stretch(start, equals_ahead + limit + 1, [], forward=True)
    entries = entries[equals_ahead:]
    base = Base(selected.ahead, selected.equals, equals_ahead)
    if entries and entries[0].place.sort_value != selected.sort_value:
        # Members of that score left after the tiers were read: rank the entries that are there.
        base = reader.base(entries[0])
    previous = None if skip == 0 else entries[0].key if entries else ENDS
    return _Page(entries[:limit], base, previous, _last_key(entries, limit))


def _ending(reader: _PageReader, behind: int, limit: int) -> _Page:
    """The page before the last `behind` entries: down the tiers, then back past members of equal score."""
    selected = select(reader.question, lambda total: total - 1 - behind, reader.nodes)
    total = tiers.total(counters_of(reader.nodes)[ROOT])
    if selected is None:
        reader.read([], [])
        return _Page([], _START, None, ENDS if total else None)
    equals_behind = selected.ahead + selected.equals - (total - behind)
    if equals_behind > (most := reader.question.limits.equals):
        raise TooFarError(f"rank: more than {most:,} members of equal score stand behind it: page on from them")
    end = encode_sortable(selected.sort_value + 1)
    entries = reader.stretch(end, equals_behind + limit + 1, [], forward=False)[equals_behind:]
    page_entries = entries[:limit][::-1]
    base = reader.base(page_entries[0]) if page_entries else _START
    following = None if behind == 0 else entries[0].key if entries else ENDS
    return _Page(page_entries, base, _last_key(entries, limit), following)


def _from(reader: _PageReader, number: int, limit: int) -> _Page:
    """The page from the first entry on that has a sort value or is behind it."""
    entries = reader.stretch(encode_sortable(number), limit + 1, tiers.nodes_for(number), forward=True)
    counters = counters_of(reader.nodes)
    ahead, equals = tiers.ahead(number, counters), tiers.equals(number, counters)
    is_there = bool(entries) and entries[0].place.sort_value == number
    base = Base(ahead if is_there else ahead + equals, equals, 0)
    previous = None if base.ahead == 0 else entries[0].key if entries else ENDS
    return _Page(entries[:limit], base, previous, _last_key(entries, limit))


def _around(reader: _PageReader, entry: Entry, radius: int | None, limit: int) -> _Page:
    """Entries around one: `radius` on each side, or `limit` in all."""
    most = limit - 1 if radius is None else radius  # on one side
    before, after = Stretch(entry.key, most + 1, forward=False), Stretch(entry.key, most + 1, forward=True)
    if reader.me == entry.member:
        reader.before_me = [before]  # It has the one just before
    reader.read([before, after], tiers.nodes_for(entry.place.sort_value))
    # A member that moves meanwhile may be found twice: keep the first.
    ahead = [each for each in before.entries if each.member != entry.member]
    shown = {entry.member, *(each.member for each in ahead)}
    behind = [each for each in after.entries if each.member not in shown]
    above = below = most
    if radius is None:
        above = max(limit // 2, most - len(behind))
        below = most - min(above, len(ahead))
    entries = [*ahead[:above][::-1], entry, *behind[:below]]
    number, first = entry.place.sort_value, entries[0].place.sort_value
    if first == number or [first] == [each.place.sort_value for each in ahead[above : above + 1]]:
        base = reader.base(entries[0])
    else:
        # All with a score from the first entry's to the member's are on the page, so no further node is needed.
        between = [each.place.sort_value for each in ahead if first <= each.place.sort_value < number]
        base = Base(max(0, tiers.ahead(number, counters_of(reader.nodes)) - len(between)), between.count(first), 0)
    previous = entries[0].key if len(ahead) > above else None
    following = entries[-1].key if len(behind) > below else None
    return _Page(entries, base, previous, following)


def _last_key(entries: Sequence[Entry], limit: int) -> str | None:
    """The key of a page's last entry, if more entries were found than the page holds."""
    return entries[limit - 1].key if len(entries) > limit else None
