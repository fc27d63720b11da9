"""What answers are read through: a `Reader` for each process, a `Request` for each HTTP request, a `Question` in it."""

from typing import Final, Literal, NamedTuple, cast

from standings.domain.boards.definitions import Boards, Family, Metric
from standings.domain.boards.names import family_of
from standings.domain.boards.ranking import Ranking
from standings.domain.errors import NotFoundError, bad_argument, not_found
from standings.domain.events import instants
from standings.domain.events.event import MAX_SHOWN_LENGTH
from standings.domain.windows.window import Window
from standings.ports.board_records import BOARD_TTL_S, BoardRecord
from standings.ports.errors import StoreUnavailableError
from standings.ports.rankings import RankingsReader
from standings.read.ranking_reads import RankingReads
from standings.runtime.retry import READ_TIMEOUT_S, Backoff, Clock, retrying
from standings.runtime.ttl_cache import RANKING_TTL_S, TtlCache

Method = Literal["competition", "ordinal", "dense"]
METHODS: Final = ("competition", "ordinal", "dense")

LAST_READ_S: Final = 12.0
"""Seconds after which a request starts no more reads. The last read must end before the function times out."""


class Reader:
    """The boards, the store, and caches of board records and shard counts. Requests share them."""

    def __init__(self, boards: Boards, store: RankingsReader, clock: Clock) -> None:
        self.boards = boards
        self.store = store
        self.clock = clock
        self.records: TtlCache[str, BoardRecord | None] = TtlCache(clock, BOARD_TTL_S)
        self.shards: TtlCache[str, int] = TtlCache(clock, RANKING_TTL_S)

    def request(self) -> "Request":
        """Start a request now."""
        return Request(self)


class Request:
    """One request. `now` is when it began; `store` retries each read until the request's deadline."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._clock = reader.clock
        self._begun = reader.clock.monotonic()
        self.now = reader.clock.now()
        self.store = retrying(reader.store, self._backoff)

    def _backoff(self) -> Backoff:
        if self._clock.monotonic() >= self._begun + LAST_READ_S:
            raise StoreUnavailableError(f"the request took longer than {LAST_READ_S:.0f} seconds: try again later")
        return self._clock.backoff(self._begun + READ_TIMEOUT_S)

    def family(self, board: str) -> Family:
        """The family of a board."""
        return family_of(self._reader.boards, board)

    def current(self, board: str, metric: Metric, window: Window) -> Ranking:
        """The ranking of a window's current period, in generation 0."""
        return Ranking(board, metric, window, metric.timetable.current(window, self.now))

    def ranking(self, board: str, metric: str, window: str, period: str | None) -> RankingReads:
        """The ranking with these names, in its current period or the one named. NotFoundError if it is not readable."""
        ranking = self._named(board, metric, window)
        if period is not None:
            try:
                index = ranking.metric.timetable.parse_period(ranking.window, period)
            except ValueError as error:
                raise bad_argument("period", str(error)) from error
            if index > ranking.period:
                raise bad_argument("period", f"{period} has not begun")
            ranking = ranking._replace(period=index)
        ranking, unreadable = self._in_generation(ranking)
        if unreadable is not None:
            raise unreadable
        return self.reads(ranking)

    def _named(self, board: str, metric_name: str, window_name: str) -> Ranking:
        family = self.family(board)
        metric = family.metrics.get(metric_name)
        if metric is None:
            names = ", ".join(sorted(family.metrics))
            detail = f"board {board!r} has no metric {metric_name!r}; there are: {names}"
            raise not_found("no-such-metric", "No such metric", detail)
        window = metric.window(window_name)
        if window is None:
            names = ", ".join(window.name for window in metric.windows) or "none"
            detail = f"metric {metric_name!r} of board {board!r} is not ranked in {window_name!r}; windows: {names}"
            raise not_found("no-such-window", "No such window", detail)
        return self.current(board, metric, window)

    def reads(self, ranking: Ranking) -> RankingReads:
        """Reads of a ranking, in the generation that it has."""
        return RankingReads(self.store, ranking, self._reader.shards)

    def readable(self, ranking: Ranking) -> Ranking | None:
        """The ranking in the generation to read; None if it is incomplete or no longer kept."""
        ranking, error = self._in_generation(ranking)
        return None if error is not None else ranking

    def previous(self, ranking: Ranking) -> Ranking | None:
        """The ranking of the period before; None if there is none or it is not readable."""
        return self.readable(ranking._replace(period=ranking.period - 1)) if ranking.window.unit is not None else None

    def _in_generation(self, ranking: Ranking) -> tuple[Ranking, NotFoundError | None]:
        """The ranking in the generation to read, and the error if it is not readable."""
        board = ranking.board
        # Use one record throughout: the next may name another generation.
        record = self._reader.records.get_or_read(board, lambda: self.store.record(board))
        if record is None:
            return ranking, _no_longer_kept(ranking, ranking.readable_until, self.now)
        ranking = ranking._replace(generation=record.generation)
        error = _no_longer_kept(ranking, record.coverage.readable_until(ranking), self.now)
        if error is not None or record.coverage.holds(ranking):
            return ranking, error
        return ranking, _not_built(ranking, has_window=record.coverage.ranks(ranking))


class Question(NamedTuple):
    """A question about one ranking; `method` is how its ranks are numbered.

    `names_period` and `names_method` are false if the client left the default.
    """

    request: Request
    reads: RankingReads
    method: Method
    names_period: bool
    names_method: bool


def method_of(name: str | None) -> Method:
    """The method with this name; competition by default."""
    if name is None:
        return "competition"
    if name not in METHODS:
        raise bad_argument("method", f"must be one of {', '.join(METHODS)}, is {name[:MAX_SHOWN_LENGTH]!r}")
    return cast("Method", name)


def _no_longer_kept(ranking: Ranking, until: int | None, now: int) -> NotFoundError | None:
    if until is None or now < until:
        return None
    detail = f"this period of {ranking.window.name!r} could be read until {instants.instant(until)}"
    return not_found("period-gone", "Period no longer kept", detail)


def _not_built(ranking: Ranking, *, has_window: bool) -> NotFoundError:
    window = ranking.window.name
    if has_window:
        detail = (
            f"board {ranking.board!r} has not kept for all of this period what {window!r} adds up: "
            "periods that began after the last change of boards.toml can be read"
        )
    else:
        detail = (
            f"board {ranking.board!r} had events before boards.toml ranked {ranking.metric.name!r} in "
            f"{window!r} like this: it can be read once the board has been rebuilt"
        )
    return not_found("not-built", "Ranking not built yet", detail)
