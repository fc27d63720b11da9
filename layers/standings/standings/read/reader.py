"""What one request reads: it finds the ranking that a question is about, and reads it under one deadline."""

from collections.abc import Mapping, Sequence
from typing import Final

from standings.domain.boards.definitions import Boards, Family, Metric
from standings.domain.boards.names import family_of
from standings.domain.boards.ranking import Ranking
from standings.domain.errors import bad_argument, not_found
from standings.domain.events import instants
from standings.domain.tiers.tier_path import ROOT, Path
from standings.domain.windows.window import Window
from standings.ports.board_records import BoardRecord
from standings.ports.errors import StoreUnavailableError
from standings.ports.ranking_reads import Entry, Node, RankingsReader, Span
from standings.runtime.retry import READ_TIMEOUT_S, Backoff, Clock, retrying
from standings.runtime.ttl_cache import BOARD_TTL_S, RANKING_TTL_S, TtlCache

LAST_READ_S: Final = 12.0
"""Seconds after which a request begins no read any more: the last one has to end in its function's time."""


class Reader:
    """What a process answers requests from: the boards, the store, and what it remembers of both."""

    def __init__(self, boards: Boards, standing: RankingsReader, pacing: Clock) -> None:
        self.boards = boards
        self.standing = standing
        self.pacing = pacing
        self.records: TtlCache[str, BoardRecord | None] = TtlCache(pacing, BOARD_TTL_S)
        self.shards: TtlCache[str, int] = TtlCache(pacing, RANKING_TTL_S)

    def request(self) -> "Request":
        """A request that begins now."""
        return Request(self)


class Request:
    """One request: `now` is when it began, and `store` retries its reads until its deadline."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._pacing = reader.pacing
        self._begun = reader.pacing.monotonic()
        self.now = reader.pacing.now()
        self.store = retrying(reader.standing, self._backoff)

    def _backoff(self) -> Backoff:
        """The waits of one read."""
        if self._pacing.monotonic() >= self._begun + LAST_READ_S:
            raise StoreUnavailableError(f"the request took longer than {LAST_READ_S:.0f} seconds: try again later")
        return self._pacing.backoff(self._begun + READ_TIMEOUT_S)

    def ranking(self, board: str, metric: str, window: str, period: str | None) -> "RankingReads":
        """The ranking that is asked for: the current period unless another is named."""
        family = self.family(board)
        counted = family.metrics.get(metric)
        if counted is None:
            there = ", ".join(sorted(family.metrics))
            raise not_found(
                "no-such-metric",
                "No such metric",
                f"board {board!r} has no metric {metric!r}; there are: {there}",
            )
        ranked = counted.window(window)
        if ranked is None:
            there = ", ".join(w.name for w in counted.windows) or "none"
            detail = f"metric {metric!r} of board {board!r} is not ranked in {window!r}; windows: {there}"
            raise not_found("no-such-window", "No such window", detail)
        current = self.current(counted, ranked)
        index = current
        if period is not None:
            try:
                index = family.timetable.parse_period(ranked, period)
            except ValueError as error:
                raise bad_argument("period", str(error)) from error
            if index > current:
                raise bad_argument("period", f"{period} has not begun")
        # One record for all of it: the next may be of another generation.
        record = self._record(board)
        found = _as_read(Ranking(board, counted, ranked, index), record)
        _check_kept(found, record, self.now)
        _check_built(found, record)
        return self.reads(found)

    def reads(self, ranking: Ranking) -> "RankingReads":
        """A ranking as this request reads it."""
        return RankingReads(self, ranking, self._reader.shards)

    def built(self, ranking: Ranking) -> Ranking | None:
        """The generation of a ranking that is read; None where it lacks something that its board counted."""
        record = self._record(ranking.board)
        return _as_read(ranking, record) if record is None or record.coverage.holds(ranking) else None

    def previous(self, ranking: Ranking) -> Ranking | None:
        """The period before, if there is one that can still be read."""
        if ranking.window.unit is None:
            return None
        record = self._record(ranking.board)
        before = _as_read(ranking._replace(period=ranking.period - 1), record)
        until = _readable_until(before, record)
        kept = until is not None and self.now < until
        return before if kept and (record is None or record.coverage.holds(before)) else None

    def current(self, metric: Metric, window: Window) -> int:
        """The index of a window's current period."""
        return metric.timetable.current(window, self.now)

    def family(self, board: str) -> Family:
        """The family of a board."""
        return family_of(self._reader.boards, board)

    def _record(self, board: str) -> BoardRecord | None:
        return self._reader.records.get_or_read(board, lambda: self.store.record(board))


class RankingReads:
    """One ranking as one request reads it."""

    def __init__(self, request: Request, ranking: Ranking, known_shards: TtlCache[str, int]) -> None:
        self.request = request
        self._known_shards = known_shards
        self._shards = max(known_shards.get(ranking.key) or 1, ranking.metric.shards)
        self.ranking = ranking
        self.now = request.now

    def of_period(self, period: int) -> "RankingReads":
        """The same ranking in another period."""
        return self.request.reads(self.ranking._replace(period=period))

    def entries(self, members: Sequence[str]) -> dict[str, Entry]:
        """Entries of members; a member without a place is left out."""
        found = self.request.store.entries([(self.ranking, member) for member in members])
        return {member: entry for (_, member), entry in found.items()}

    def nodes(self, paths: Sequence[Path]) -> dict[Path, Node]:
        """Nodes of the tier tree."""
        found = self.request.store.nodes([(self.ranking, path) for path in paths])
        nodes = {path: node for (_, path), node in found.items()}
        self.shards(nodes)
        return nodes

    def spans(self, spans: Sequence[Span], paths: Sequence[Path]) -> tuple[list[list[Entry]], dict[Path, Node]]:
        """Parts of the sorted index, and nodes of the tier tree."""
        return self.request.store.spans(self.ranking, spans, paths)

    def counts(self, ranges: Sequence[tuple[str, str]], most: int) -> list[int]:
        """How many entries stand from one key to another: each shard's counted up to `most`."""
        return self.request.store.counts(self.ranking, self._shards, ranges, most)

    def shards(self, nodes: Mapping[Path, Node] | None = None) -> int:
        """How many shards may hold entries: the highest number that `boards.toml` or a root ever said."""
        named = nodes[ROOT].shards if nodes and ROOT in nodes else 1
        if named > self._shards:
            self._shards = named
            self._known_shards.put(self.ranking.key, named)
        return self._shards


def _as_read(ranking: Ranking, record: BoardRecord | None) -> Ranking:
    """The generation of a ranking that a board's record says is read."""
    return ranking if record is None else ranking._replace(generation=record.generation)


def _readable_until(ranking: Ranking, record: BoardRecord | None) -> int | None:
    return ranking.readable_until if record is None else record.coverage.readable_until(ranking)


def _check_kept(ranking: Ranking, record: BoardRecord | None, now: int) -> None:
    until = _readable_until(ranking, record)
    if until is not None and now >= until:
        detail = f"this period of {ranking.window.name!r} could be read until {instants.instant(until)}"
        raise not_found("period-gone", "Period no longer kept", detail)


def _check_built(ranking: Ranking, record: BoardRecord | None) -> None:
    if record is None or record.coverage.holds(ranking):
        return
    if record.coverage.ranks(ranking):
        detail = (
            f"board {ranking.board!r} has not kept for all of this period what {ranking.window.name!r} adds up: "
            "periods that began after the last change of boards.toml can be read"
        )
    else:
        detail = (
            f"board {ranking.board!r} had events before boards.toml ranked {ranking.metric.name!r} in "
            f"{ranking.window.name!r} like this: it can be read once the board has been rebuilt"
        )
    raise not_found("not-built", "Ranking not built yet", detail)
