"""Pages of a list: the first, and those that cursors lead to, in both directions.

The entries of a page come from the index, their ranks from the tiers at each read: so a rank is right even where the
page before was read a while ago.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from standings.domain import tiers
from standings.domain.boards import Ranking
from standings.domain.places import Path, place, split_place
from standings.services import answers
from standings.services.answers import ENDS, Cursor, bad_argument
from standings.services.reader import Reader
from standings.services.store import Entry, Node

MOST_ENTRIES: Final = 1_000
MOST_PERIODS_AGO: Final = 100_000
"""More than any period that is kept lies back, and less than takes a calendar to its end."""
ROOT: Final[Path] = ()


class Page(NamedTuple):
    """Entries with their ranks, the nodes that told them, and the places to read on from (None at the ends).

    A page that others have left empty leads to the list's end that it is at: whoever stands at its place is not passed.
    """

    ranking: Ranking
    entries: Sequence[Entry]
    ranks: Iterable[int]
    nodes: dict[Path, Node]
    previous: str | None
    following: str | None


def read_page(reader: Reader, ranking: Ranking, limit: int, cursor: str | None, *, named: bool) -> Page:
    """The page that a cursor leads to, or the first. `named` says that the reader asked for this very period."""
    if not 1 <= limit <= MOST_ENTRIES:
        raise bad_argument("limit", f"must be from 1 to {MOST_ENTRIES}, is {limit}")
    if cursor is None:
        return _first(reader, ranking, limit)
    at = _cursor(reader, cursor, ranking, named=named)
    ranking = ranking._replace(period=at.period)
    if at.forward:
        return _first(reader, ranking, limit) if at.place == ENDS else _after(reader, ranking, at.place, limit)
    return _before(reader, ranking, None if at.place == ENDS else at.place, limit)


def cursor_at(ranking: Ranking, end: str | None, *, forward: bool) -> str | None:
    """The cursor that reads on from a place; None where the list ends."""
    return None if end is None else answers.encode_cursor(ranking, end, forward=forward)


def counters_of(nodes: dict[Path, Node]) -> dict[Path, tiers.Counters]:
    """The counters of nodes; there is always a root."""
    counters: dict[Path, tiers.Counters] = {path: node.counters for path, node in nodes.items()}
    counters.setdefault(ROOT, {})
    return counters


def _first(reader: Reader, ranking: Ranking, limit: int) -> Page:
    entries, nodes = _entries(reader, ranking, None, limit, [ROOT], forward=True)
    shown = entries[:limit]
    following = _place(shown[-1]) if len(entries) > limit else None
    return Page(ranking, shown, _ranks(shown, 0, None), nodes, None, following)


def _after(reader: Reader, ranking: Ranking, after: str, limit: int) -> Page:
    number, _ = split_place(after)
    entries, nodes = _entries(reader, ranking, after, limit, tiers.nodes_for(number), forward=True)
    shown = entries[:limit]
    counters = counters_of(nodes)
    ahead, equals = tiers.ahead(number, counters), tiers.equals(number, counters)
    within = bool(shown) and shown[0].ordinal == number
    ranks = _ranks(shown, ahead, equals) if within else _ranks(shown, ahead + equals, None)
    previous = _place(shown[0]) if shown else ENDS
    return Page(ranking, shown, ranks, nodes, previous, _place(shown[-1]) if len(entries) > limit else None)


def _before(reader: Reader, ranking: Ranking, before: str | None, limit: int) -> Page:
    entries, nodes = _entries(reader, ranking, before, limit, [ROOT], forward=False)
    shown = entries[:limit][::-1]
    ranks: Iterable[int] = ()
    if shown:
        first = shown[0].ordinal
        nodes = reader.nodes(ranking, tiers.nodes_for(first))
        counters = counters_of(nodes)
        ranks = _ranks(shown, tiers.ahead(first, counters), tiers.equals(first, counters))
    following: str | None = _place(shown[-1]) if shown else ENDS
    if before is None:
        following = None
    return Page(ranking, shown, ranks, nodes, _place(shown[0]) if len(entries) > limit else None, following)


def _entries(
    reader: Reader, ranking: Ranking, after: str | None, limit: int, paths: Sequence[Path], *, forward: bool
) -> tuple[list[Entry], dict[Path, Node]]:
    """One entry more than asked for, which tells whether the list goes on, and nodes beside them."""
    return reader.read(lambda: reader.standing.page(ranking, after, limit + 1, paths, forward=forward))


def _cursor(reader: Reader, text: str, ranking: Ranking, *, named: bool) -> Cursor:
    try:
        cursor = answers.decode_cursor(text, ranking)
    except ValueError as error:
        raise bad_argument("cursor", "is altered, or of another list") from error
    at = ranking._replace(period=cursor.period)
    if named and at.period != ranking.period:
        raise bad_argument("cursor", "is of another period than the one named")
    if at.period > ranking.period or ranking.period - at.period > MOST_PERIODS_AGO:
        raise bad_argument("cursor", "is of no period that can be read")
    until = at.readable_until
    if until is not None and reader.pacing.now() >= until:
        raise bad_argument("cursor", "its period is no longer kept")
    return cursor


def _ranks(entries: Sequence[Entry], ahead: int, equals: int | None) -> Iterable[int]:
    """The rank of each entry: 1 + the members ahead of the first, then on by groups of equals.

    `equals` is the size of the first group where the page may begin within it; None where it begins with it.
    """
    rank = ahead + 1
    start = 0
    for index, entry in enumerate(entries):
        if index and entry.ordinal != entries[index - 1].ordinal:
            rank += equals if start == 0 and equals is not None else index - start
            start = index
        yield rank


def _place(entry: Entry) -> str:
    return place(entry.ordinal, entry.member)
