"""What answers are read through: a `Reader` for each process, a `Request` for each HTTP request, a `Question` in it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple, ParamSpec, TypeVar, cast

import orjson

from standings.domain import tiers, windows
from standings.domain.board_record import BOARD_TTL_S, BoardRecord
from standings.domain.boards import Boards, Family, Metric, Ranking, family_of
from standings.domain.errors import NotFoundError, TooFarError, bad_argument, being_deleted
from standings.domain.events import MAX_SHOWN_LENGTH
from standings.domain.scoring import Aggregate, decimal_text, sort_value
from standings.domain.tiers import ROOT, Path
from standings.domain.windows import NO_SEASON, Window, instant
from standings.read.tables import QueryReads
from standings.runtime.clock import RANKING_TTL_S, RETRIED_FOR_S, Backoff, Clock, TtlCache
from standings.stores import Entry, Node, Part, Partition, Span, StoreUnavailableError

Method = Literal["competition", "ordinal", "dense"]
P = ParamSpec("P")
T = TypeVar("T")
METHODS: Final = ("competition", "ordinal", "dense")

BEYOND: Final = 12
"""Entries that are read of a partition beyond its share. Of ten shards, few have more of a hundred entries."""
LAST_READ_S: Final = 12.0
"""Seconds after which a request starts no more reads. The last read must end before the function times out."""


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
        """The limits of each ranking if one request numbers so many. The queries are those of the request."""
        return Limits(*(limit // rankings for limit in self))._replace(queries=self.queries)


PRIVATE_LIMITS: Final = Limits()
PUBLIC_LIMITS: Final = Limits(1_000, 5_000, 5_000, 400, 1_300)
"""Where anyone may read: a request costs some hundred read units at most, so a few cannot use up the capacity.

A query of the index costs half a unit. So many queries are two stretches of 64 shards in 9 lists, in two rounds: a page
with `me`, or around a member.
"""


class Reader:
    """The boards, the store, and caches of board records and shard counts. Requests share them."""

    def __init__(self, boards: Boards, store: QueryReads, clock: Clock, limits: Limits = PRIVATE_LIMITS) -> None:
        self.limits = limits
        self.boards = boards
        self.store = store
        self.clock = clock
        self.records: TtlCache[str, BoardRecord | None] = TtlCache(clock, BOARD_TTL_S)
        self.shards: TtlCache[str, int] = TtlCache(clock, RANKING_TTL_S)


class Request:
    """One request. `now` is when it began."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._clock = reader.clock
        self._begun = reader.clock.monotonic()
        self.now = reader.clock.now()
        self.queries, self.most_queries = 0, reader.limits.queries
        self.store = reader.store.for_request()

    def backoff(self) -> Backoff:
        """The backoff of one read; StoreUnavailableError if the request has taken too long for another."""
        if self._clock.monotonic() >= self._begun + LAST_READ_S:
            raise StoreUnavailableError(f"the request took longer than {LAST_READ_S:.0f} seconds: try again later")
        return self._clock.backoff(self._begun + RETRIED_FOR_S)

    def read(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Read from a store, retrying until the request's deadline."""
        return self.backoff().retry(do, *args, **kwargs)

    def record(self, board: str) -> BoardRecord | None:
        """A board's record, up to a minute old; None for a board without events."""
        return self._reader.records.get_or_read(board, partial(self.read, self.store.record, board))

    def family(self, board: str) -> Family:
        """The family of a board."""
        return family_of(self._reader.boards, board)

    def current(self, board: str, metric: Metric, window: Window) -> Ranking:
        """The ranking of a window's current period, in generation 0. `readable` refuses one before the first season."""
        return Ranking(board, metric, window, metric.timetable.current(window, self.now))

    def question(
        self, board: str, metric_name: str, window_name: str, period: str | None = None, method: str | None = None
    ) -> "Question":
        """A question by the client's names (None: current period, competition); NotFoundError if it is not readable."""
        numbering = method_of(method)
        family = self.family(board)
        metric = family.metrics.get(metric_name)
        if metric is None:
            names = ", ".join(sorted(family.metrics))
            detail = f"board {board!r} has no metric {metric_name!r}; there are: {names}"
            raise NotFoundError("no-such-metric", "No such metric", detail)
        window = metric.window(window_name)
        if window is None:
            names = ", ".join(window.name for window in metric.windows) or "none"
            detail = f"metric {metric_name!r} of board {board!r} is not ranked in {window_name!r}; windows: {names}"
            raise NotFoundError("no-such-window", "No such window", detail)
        ranking = self.current(board, metric, window)
        if period is not None:
            try:
                index = metric.timetable.parse_period(window, period)
            except ValueError as error:
                raise bad_argument("period", str(error)) from error
            if index > ranking.period:
                raise bad_argument("period", f"{period} has not begun")
            ranking = ranking._replace(period=index)
        question = self.about(self._in_generation(ranking), numbering)
        question.names_period, question.names_method = period is not None, method is not None
        return question

    def about(self, ranking: Ranking, method: Method, shared: int = 1) -> "Question":
        """A question about a ranking, in its generation. `shared` questions split the request's limits evenly."""
        return Question(self, ranking, method, self._reader.shards, self._reader.limits.shared(shared))

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
        """A ranking's period, with the names of the periods before and after it that a client can read now."""
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
        if record is not None and record.is_being_deleted:
            raise being_deleted(board)
        if record is None:
            until = ranking.readable_until
        else:
            ranking = ranking._replace(generation=record.generation)
            until = record.coverage.readable_until(ranking)
        if until is not None and self.now >= until:
            detail = f"this period of {window!r} could be read until {instant(until)}"
            raise NotFoundError("period-gone", "Period no longer kept", detail)
        if record is None or record.coverage.holds(ranking):
            return ranking
        if record.coverage.ranks(ranking):
            detail = (
                f"board {board!r} does not have all scores for this period of {window!r}: "
                "periods that began after the last change of boards.toml can be read"
            )
        elif window == "all" and ranking.metric.total() in record.coverage.lost:
            detail = (
                f"{ranking.metric.name!r} of board {board!r} was counted in another way for a while, and 'all' lacks "
                "those events: give the metric another name, or delete the board"
            )
        else:
            detail = (
                f"board {board!r} had events before boards.toml ranked {ranking.metric.name!r} in "
                f"{window!r} like this: it can be read once the board has been rebuilt"
            )
        raise NotFoundError("not-built", "Ranking not built yet", detail)


class Question:
    """A question about one ranking: it reads the ranking's entries, tier nodes, and parts of the sorted index.

    `names_period` and `names_method` say whether the client named them. The index may have more shards than
    `boards.toml` says, because the number was larger before. The root node stores the largest number; it is remembered
    when the root is read.
    """

    names_period = names_method = False

    def __init__(
        self, request: Request, ranking: Ranking, method: Method, known_shards: TtlCache[str, int], limits: Limits
    ) -> None:
        self.request = request
        self.ranking = ranking
        self.method = method
        self.limits = limits
        self._read, self._store = request.read, request.store
        self._known_shards = known_shards
        self._shards = max(known_shards.get(ranking.key) or 1, ranking.metric.shards)

    def entries(self, members: Iterable[str]) -> dict[str, Entry]:
        """The entries of members; a member that is not ranked is left out."""
        found = self._read(self._store.entries, [(self.ranking, member) for member in dict.fromkeys(members)])
        return {member: entry for (_, member), entry in found.items()}

    def nodes(self, paths: Sequence[Path]) -> dict[Path, Node]:
        """Nodes of the tier tree. Empty nodes are left out."""
        by_ranking = self._read(self._store.nodes, [(self.ranking, path) for path in paths])
        nodes = {path: node for (_, path), node in by_ranking.items()}
        self.partitions(nodes)
        return nodes

    def spans(self, spans: Sequence[Span], paths: Sequence[Path]) -> tuple[list[list[Entry]], dict[Path, Node]]:
        """Spans of the sorted index and nodes of the tier tree, read in parallel."""
        self._check_queries(len(spans))
        return self._read(self._store.spans, self.ranking, spans, paths)

    def counts(self, ranges: Sequence[tuple[str, str]], most: int) -> list[int] | None:
        """The number of entries in each range of keys, ends included; None if together they are more than `most`.

        It reads a share of what is left in each range and partition, until all are counted: some `most` entries, with
        at most `most` queries at a time.
        """
        found = [0] * len(ranges)
        left = [(number, Part(each, *part)) for number, part in enumerate(ranges) for each in self.partitions({})]
        while left:
            share = -(-(most + 1 - sum(found)) // len(left))
            self._check_queries(len(left), most)
            counted = self._read(self._store.counts, [part for _, part in left], share)
            rest: list[tuple[int, Part]] = []
            for (number, part), (count, beyond) in zip(left, counted, strict=True):
                found[number] += count
                if beyond is not None:
                    rest.append((number, part._replace(first=beyond)))
            if sum(found) > most:
                return None
            left = rest
        return found

    def _check_queries(self, more: int, most: int | None = None) -> None:
        """Count queries of the sorted index towards the limit of the request. TooFarError beyond it, or `most`."""
        sent = self.request.queries + more
        for wanted, limit in ((more, most), (sent, self.request.most_queries)):
            if limit is not None and wanted > limit:
                parts = f"{len(self.partitions({})) // self._shards} parts in each of {self._shards} shards"
                less = "ask without me or around, for fewer members or periods, or for competition ranks"
                raise TooFarError(
                    f"shards: the list has {parts}, so this takes {wanted:,} queries, and a request may send "
                    f"{limit:,}: {less}; or give the board fewer shards, and rebuild it"
                )
        self.request.queries = sent

    def partitions(self, nodes: Mapping[Path, Node]) -> list[Partition]:
        """The partitions to read: each list has the largest number of shards that `boards.toml` or a root has named."""
        named = nodes[ROOT].shards if ROOT in nodes else 1
        if named > self._shards:
            self._shards = named
            self._known_shards.put(self.ranking.key, named)
        return self._store.partitions(self.ranking, self._shards)


def method_of(name: str | None) -> Method:
    """The method with this name; competition by default."""
    if name is None:
        return "competition"
    if name not in METHODS:
        raise bad_argument("method", f"expected one of {', '.join(METHODS)}, got {name[:MAX_SHOWN_LENGTH]!r}")
    return cast("Method", name)


# Fields that several answers have: scores, percentiles and periods as JSON, and the head of every answer.


def answer_head(question: Question, nodes: Iterable[Node], entries: Iterable[Entry] = ()) -> dict[str, Any]:
    """The ranking, the method, and `as_of`: when the latest of the nodes and entries was written.

    `state` and `final_at` say whether events can still change its scores.
    """
    ranking = question.ranking
    timetable = ranking.metric.timetable
    stamps = [node.written_at_ms for node in nodes if node.written_at_ms is not None]
    stamps += [entry.written_at_ms for entry in entries]
    return {
        "board": ranking.board,
        "metric": ranking.metric.name,
        "window": ranking.window.name,
        "period": question.request.period(ranking),
        "state": windows.state_of(timetable, ranking.window, ranking.period, question.request.now),
        "final_at": instant(windows.final_at(timetable, ranking.window, ranking.period)),
        "order": ranking.metric.order,
        "method": question.method,
        "as_of": instant(max(stamps, default=None)),
    }


def naming(answer: Any, *keys: str) -> Iterator[dict[str, Any]]:
    """The objects in an answer that have all these keys, at any depth."""
    if isinstance(answer, dict):
        if all(key in answer for key in keys):
            yield answer
        answer = list(answer.values())
    if isinstance(answer, list):
        for value in answer:
            yield from naming(value, *keys)


def decimal_of(units: int, precision: int) -> Any:
    """A whole number of units as a JSON number with at most `precision` decimals. It is exact."""
    return orjson.Fragment(decimal_text(units, precision)) if precision else units


def note_of(aggregate: Aggregate | None) -> Any:
    """The note of an aggregate, as it was sent; None if it has none."""
    return orjson.Fragment(aggregate.note) if aggregate is not None and aggregate.note else None


def score_at(number: int, metric: Metric) -> Any:
    """The score that has this sort value, as a JSON number."""
    return decimal_of(sort_value(number, descending=metric.descending), metric.precision)


def percentile_of(ahead: int, total: int) -> Any:
    """A member's percentile as a JSON number with at most two decimals."""
    return decimal_of(tiers.percentile(ahead, total), 2)


def period_of(ranking: Ranking) -> dict[str, str | None]:
    """A ranking's period: its name in `?period=`, when it starts and ends; None for `all` and before all seasons.

    `start` and `end` are the same instants. Programs that were written against 0.3 read them.
    """
    name, starts, ends = ranking.metric.timetable.span(ranking.window, ranking.period)
    return {"name": name, "starts": starts, "ends": ends, "start": starts, "end": ends}
