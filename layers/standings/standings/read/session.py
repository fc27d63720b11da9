"""How one request reads the tables: `ReadSession` for the request, `RankingReader` for each ranking in it.

`session.reader("berlin-2026", "points", "day").nodes([ROOT])` takes one round trip. Every read is retried until the
request's deadline, and may raise StoreUnavailableError.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, ParamSpec, TypeVar, cast

import orjson

from standings.domain import windows
from standings.domain.boards import Boards, Metric, Ranking, family_of
from standings.domain.coverage import BoardRecord
from standings.domain.errors import NotFoundError, TooFarError, bad_argument, being_deleted, ended, no_such_member
from standings.domain.events import MAX_SHOWN_LENGTH
from standings.domain.members import Image
from standings.domain.scoring import MISSING, Aggregate, SortValues, decimal_text
from standings.domain.tiers import ROOT, Path
from standings.domain.windows import NO_SEASON, Window, instant
from standings.runtime.clock import RETRIED_FOR_S, Backoff
from standings.stores import Entry, Node, Part, Partition, Span, StoreUnavailableError

if TYPE_CHECKING:  # Functions that only show values as answers do (`score_at`, `period_of`) import no tables from here
    from standings.read.dispatch import Tables

Method = Literal["competition", "ordinal", "dense"]
METHODS: Final = ("competition", "ordinal", "dense")
P = ParamSpec("P")
T = TypeVar("T")
BEYOND: Final = 12  # Entries read of a partition beyond its share: few of ten shards have more of a hundred entries
_UNREAD: Final[Any] = object()
LAST_READ_S: Final = 12.0  # Seconds after which no read starts: the last one must end before the function times out


class ReadSession:
    """One request: all of its answer is of the moment `now`, in milliseconds.

    From its begin, reads are tried again for `RETRIED_FOR_S` seconds, and none begins after `LAST_READ_S`.
    """

    def __init__(self, boards: Boards, tables: "Tables", limits: "Limits") -> None:
        self.tables = tables
        self.limits = limits
        self.rankings = tables.rankings.for_request()
        self.queries = 0  # Queries of the sorted index that the request has sent
        self.boards = boards
        self._begun = tables.clock.monotonic()
        self.now = tables.clock.now()

    def reader(
        self, board: str, metric: str, window: str, period: str | None = None, method: str | None = None
    ) -> "RankingReader":
        """The reader of a ranking by the client's names, such as `("b", "points", "day", "2026-11-21", "dense")`.

        None: the current period, competition ranks. Raises NotFoundError for a ranking that does not exist or cannot be
        read, and InvalidArgumentError for a period or method that does not exist.
        """
        numbering = method_of(method)
        family = family_of(self.boards, board)
        if (ranked := family.metrics.get(metric)) is None:
            names = ", ".join(sorted(family.metrics))
            detail = f"board {board!r} has no metric {metric!r}; there are: {names}"
            raise NotFoundError("no-such-metric", "No such metric", detail)
        if (within := ranked.window(window)) is None:
            names = ", ".join(one.name for one in ranked.windows) or "none"
            detail = f"metric {metric!r} of board {board!r} is not ranked in {window!r}; windows: {names}"
            raise NotFoundError("no-such-window", "No such window", detail)
        ranking = self.current(board, ranked, within)
        if period is not None:
            try:
                index = ranked.timetable.parse_period(within, period)
            except ValueError as error:
                raise bad_argument("period", str(error)) from error
            if index > ranking.period:
                raise bad_argument("period", f"{period} has not begun")
            ranking = ranking._replace(period=index)
        reader = RankingReader(self, self._in_generation(ranking), numbering)
        reader.names_period, reader.names_method = period is not None, method is not None
        return reader

    def retry(self, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Send a read: `session.retry(session.rankings.entries, keys)`. StoreUnavailableError also if it is late."""
        clock = self.tables.clock
        if clock.monotonic() >= self._begun + LAST_READ_S:
            raise StoreUnavailableError(f"the request took longer than {LAST_READ_S:.0f} seconds: try again later")
        return Backoff(clock, self._begun + RETRIED_FOR_S).retry(read, *args, **kwargs)

    def record(self, board: str) -> BoardRecord | None:
        """A board's record, up to a minute old; None for a board without events.

        Raises NotFoundError if the board has ended. Then its record is read each time, and so it is where boards end
        and this one has none: one that begins under the name has a new generation.
        """
        record = self.tables.known_records.get(board, _UNREAD)
        is_in_doubt = family_of(self.boards, board).expires is not None if record is None else False
        if record is _UNREAD or is_in_doubt or (record is not None and record.has_ended(self.now)):
            record = self._read_records([board])[board]
        if record is None or record.is_gone(self.now):
            return None
        if record.has_ended(self.now):
            raise ended(board, instant(record.ends))
        return record

    def check_open(self, board: str, images: Iterable[Image | None] = ()) -> None:
        """NotFoundError if a board has ended. It reads its record only where its family or an item expires."""
        if family_of(self.boards, board).expires is not None or any(one and one.expiry is not None for one in images):
            self.record(board)

    def records(self, boards: Iterable[str]) -> dict[str, BoardRecord | None]:
        """The records of several boards, by name, as `record` has them. Those that are not cached are read together."""
        records = {board: self.tables.known_records.get(board) for board in boards}
        missing = [board for board, record in records.items() if record is None]
        return records | self._read_records(missing) if missing else records

    def _read_records(self, boards: list[str]) -> dict[str, BoardRecord | None]:
        known, read_at = self.tables.known_records, self.tables.known_records.instant()
        found = self.retry(self.tables.records.records, boards)
        for board in boards:
            known.put(board, found.get(board), read_at)
        return {board: found.get(board) for board in boards}

    def image(self, board: str, member: str) -> Image:
        """A member's item, strongly consistently. NotFoundError if the board has ended, or has no such member."""
        image = self.retry(self.tables.scores.image, (board, member))
        self.check_open(board, [image])
        if image is None or image.removed:
            raise no_such_member(board, member)
        return image

    def current(self, board: str, metric: Metric, window: Window) -> Ranking:
        """The ranking of a window's current period, in generation 0. `readable` refuses one before the first season."""
        return Ranking(board, metric, window, metric.timetable.current(window, self.now))

    def readable(self, ranking: Ranking) -> Ranking | None:
        """The ranking in the generation to read; None if it is incomplete or no longer kept."""
        try:
            return self._in_generation(ranking)
        except NotFoundError:
            return None

    def beside(self, ranking: Ranking, step: Literal[-1, 1]) -> Ranking | None:
        """The ranking of the period before (-1) or after (1); None if there is none that has begun and is readable."""
        metric, window = ranking.metric, ranking.window
        period = metric.timetable.beside(window, ranking.period, step)
        if period is None or period > metric.timetable.current(window, self.now):
            return None
        return self.readable(ranking._replace(period=period))

    def period(self, ranking: Ranking) -> dict[str, str | None]:
        """A ranking's period, with the readable ones beside it: `{"name": "2026-11-21", …, "next": None}`."""
        before, after = (self.beside(ranking, step) for step in (-1, 1))
        named = {"previous": before, "next": after}
        return period_of(ranking) | {side: one and period_of(one)["name"] for side, one in named.items()}

    def _in_generation(self, ranking: Ranking) -> Ranking:
        """The ranking in the generation to read; NotFoundError if it is incomplete or no longer kept."""
        board, window = ranking.board, ranking.window.name
        if ranking.window.unit == "s" and ranking.period == NO_SEASON:
            first = ranking.metric.timetable.seasons.all[0]
            detail = f"the first season of board {board!r}, {first.name!r}, has not begun"
            raise NotFoundError("no-season-yet", "No season has begun", detail)
        # Use one record throughout: the next may name another generation.
        record = self.record(board)
        until = ranking.readable_until
        if record is not None and record.is_being_deleted:
            raise being_deleted(board)
        if record is not None:
            ranking = ranking._replace(generation=record.generation)
            until = record.coverage.readable_until(ranking)
        if until is not None and self.now >= until:
            detail = f"this period of {window!r} could be read until {instant(until)}"
            raise NotFoundError("period-gone", "Period no longer kept", detail)
        if record is None or record.coverage.holds(ranking):
            return ranking
        deciding = ranking.metric, *ranking.metric.separate_tie_breaks
        if record.coverage.ranks(ranking):
            detail = (
                f"board {board!r} does not have all scores for this period of {window!r}: "
                "not all were kept, and no rebuild brings it back. Later periods can be read"
            )
        elif window == "all" and (lost := [each for each in deciding if each.total() in record.coverage.lost]):
            detail = (
                f"{lost[0].name!r} of board {board!r} was counted in another way for a while, and 'all' lacks "
                "those events: give the metric another name, or delete the board"
            )
        else:
            detail = (
                f"board {board!r} had events before boards.toml ranked {ranking.metric.name!r} in "
                f"{window!r} like this: a rebuild brings back 'all' and the periods whose numbers were kept; "
                "where none were, a window begins with its next period"
            )
        raise NotFoundError("not-built", "Ranking not built yet", detail)


def method_of(name: str | None) -> Method:
    """The method with this name; competition by default. InvalidArgumentError if there is none such."""
    if name is None:
        return "competition"
    if name not in METHODS:
        raise bad_argument("method", f"expected one of {', '.join(METHODS)}, got {name[:MAX_SHOWN_LENGTH]!r}")
    return cast("Method", name)


class RankingReader:
    """Reads one ranking in a session: its entries, its tier nodes, and spans of its list in the sorted index.

    `names_period` and `names_method` say whether the client named them. The limits are by default the session's.
    """

    names_period = names_method = False

    def __init__(self, session: ReadSession, ranking: Ranking, method: Method, limits: "Limits | None" = None) -> None:
        self.session = session
        self.ranking = ranking
        self.method = method
        self.limits = limits or session.limits
        self._shards = max(session.tables.known_shards.get(ranking.key) or 1, ranking.metric.shards)

    def entries(self, members: Iterable[str]) -> dict[str, Entry]:
        """The entries of members; a member that is not ranked is left out."""
        wanted = [(self.ranking, member) for member in dict.fromkeys(members)]
        found = self.session.retry(self.session.rankings.entries, wanted)
        return {member: entry for (_, member), entry in found.items()}

    def nodes(self, paths: Iterable[Path]) -> dict[Path, Node]:
        """Nodes of the tier tree. Empty nodes are left out."""
        wanted = [(self.ranking, path) for path in paths]
        found = self.session.retry(self.session.rankings.nodes, wanted)
        nodes = {path: node for (_, path), node in found.items()}
        self.learn_shards(nodes)
        return nodes

    def spans(self, spans: Sequence[Span], paths: Sequence[Path]) -> tuple[list[list[Entry]], dict[Path, Node]]:
        """Spans of the list and nodes of the tier tree, read in parallel. TooFarError beyond the limit of queries."""
        self._count_queries(len(spans))
        entries, nodes = self.session.retry(self.session.rankings.spans, self.ranking, spans, paths)
        self.learn_shards(nodes)
        return entries, nodes

    def counts(self, ranges: Sequence[tuple[str, str]], most: int) -> list[int] | None:
        """The number of entries in each range of keys, ends included; None if together they are more than `most`.

        It reads a share of what is left in each range and partition, until all are counted: some `most` entries, with
        at most `most` queries at a time. TooFarError if that takes more queries.
        """
        found = [0] * len(ranges)
        left = [(number, Part(each, *part)) for number, part in enumerate(ranges) for each in self.partitions]
        while left:
            share = -(-(most + 1 - sum(found)) // len(left))
            self._count_queries(len(left), most)
            counted = self.session.retry(self.session.rankings.counts, [part for _, part in left], share)
            rest: list[tuple[int, Part]] = []
            for (number, part), (count, beyond) in zip(left, counted, strict=True):
                found[number] += count
                if beyond is not None:
                    rest.append((number, part._replace(first=beyond)))
            if sum(found) > most:
                return None
            left = rest
        return found

    @property
    def partitions(self) -> list[Partition]:
        """The partitions of the ranking's list: each of its parts in each shard."""
        return self.session.rankings.partitions(self.ranking, self._shards)

    def learn_shards(self, nodes: Mapping[Path, Node]) -> None:
        """Take the number of shards from the root, if it is there: the most that the ranking ever had."""
        if ROOT in nodes and nodes[ROOT].shards > self._shards:
            self._shards = nodes[ROOT].shards
            self.session.tables.known_shards.put(self.ranking.key, self._shards)

    def head(self, total: int, nodes: Mapping[Path, Node], entries: Iterable[Entry] = ()) -> dict[str, Any]:
        """The head of every answer. `as_of` is when the latest of what was read was written: `2026-11-21T10:15:…Z`."""
        ranking, timetable = self.ranking, self.ranking.metric.timetable
        stamps = [node.written_at_ms for node in nodes.values() if node.written_at_ms is not None]
        stamps += [entry.written_at_ms for entry in entries]
        return {
            "board": ranking.board,
            "metric": ranking.metric.name,
            "window": ranking.window.name,
            "period": self.session.period(ranking),
            "state": windows.state_of(timetable, ranking.window, ranking.period, self.session.now),
            "final_at": instant(windows.final_at(timetable, ranking.window, ranking.period)),
            "order": ranking.metric.order,
            "method": self.method,
            "as_of": instant(max(stamps, default=None)),
            "total": total,
        }

    def _count_queries(self, more: int, most: int | None = None) -> None:
        """Count queries of the sorted index towards the limit of the request. TooFarError beyond it, or `most`."""
        sent = self.session.queries + more
        for wanted, limit in ((more, most), (sent, self.limits.queries)):
            if limit is not None and wanted > limit:
                parts = f"{len(self.partitions) // self._shards} parts in each of {self._shards} shards"
                less = "ask without me or around, for fewer members or periods, or for competition ranks"
                raise TooFarError(
                    f"shards: the list has {parts}, so this takes {wanted:,} queries, and a request may send "
                    f"{limit:,}: {less}; or give the board fewer shards, and rebuild it"
                )
        self.session.queries = sent


def scored(values: SortValues | None, metric: Metric) -> dict[str, Any]:
    """A score as answers show it, with its tie-breaks where the metric has some; None where there is none.

    `{"score": 8, "tie_breaks": {"penalty": 312, "level": None}}` of `(-8, 312, 2**53)`.
    """
    score, *others = values or (None,) * metric.components
    shown: dict[str, Any] = {"score": score_at(score, metric)}
    if metric.tie_breaks:
        numbers = {each.name: score_at(value, each) for each, value in zip(metric.tie_breaks, others, strict=True)}
        shown["tie_breaks"] = None if values is None else numbers
    return shown


def score_at(number: int | None, metric: Metric) -> Any:
    """The score with this sort value as JSON: -1250 is `12.5` where the highest leads, precision 2. None: MISSING."""
    if number is None or number == MISSING:
        return None
    return decimal_of(-number if metric.descending else number, metric.precision)


def decimal_of(units: int, precision: int) -> Any:
    """A whole number of units as a JSON number with at most `precision` decimals. It is exact: 1250 is `12.5`."""
    return orjson.Fragment(decimal_text(units, precision)) if precision else units


def note_of(aggregate: Aggregate | None) -> Any:
    """The note of an aggregate, as it was sent; None if it has none."""
    return orjson.Fragment(aggregate.note) if aggregate is not None and aggregate.note else None


def period_of(ranking: Ranking) -> dict[str, str | None]:
    """A ranking's period: its name in `?period=`, when it starts and ends; None for `all` and before all seasons.

    `{"name": "2026-11-21", "starts": "2026-11-21T00:00:00Z", …}`; `start` and `end` are the same, as 0.3 named them.
    """
    name, starts, ends = ranking.metric.timetable.span(ranking.window, ranking.period)
    return {"name": name, "starts": starts, "ends": ends, "start": starts, "end": ends}


class Limits(NamedTuple):
    """How far a request reads where tiers do not help. Beyond, the answer is TooFarError.

    - `equals`: members of equal score, for ordinal ranks or to reach a position among them: of all scores and shards.
    - `scores`: different scores ahead that a dense rank counts.
    - `entries`: entries that are read instead of nodes. More would take seconds, while nodes are read in parallel.
    - `nodes`: nodes of the tiers that a dense rank reads, in addition to those on the path of a score.
    - `queries`: queries of the sorted index. A stretch of the list takes one for each list and shard. It is a limit of
      a request, whatever it reads; the default is more than any request sends.
    """

    equals: int = 10_000
    scores: int = 100_000
    entries: int = 200_000
    nodes: int = 100_000
    queries: int = 100_000

    def shared(self, rankings: int) -> "Limits":
        """The limits of each of so many rankings of a request: equal shares of the request's, but all its queries."""
        return Limits(*(limit // rankings for limit in self))._replace(queries=self.queries)


PRIVATE_LIMITS: Final = Limits()
PUBLIC_LIMITS: Final = Limits(1_000, 5_000, 5_000, 400, 1_300)
"""Where anyone may read: a request costs some hundred read units at most, so a few cannot use up the capacity.

A query of the index costs half a unit. So many queries are two stretches of 64 shards in 9 lists, in two rounds: a page
with `me`, or around a member.
"""
