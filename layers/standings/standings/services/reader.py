"""Finds the ranking that a question is about, and reads it with patience."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from standings.domain.boards import Boards, Family, Metric, Ranking
from standings.domain.events import BOARD_NAME
from standings.domain.places import ROOT, Path
from standings.domain.windows import Window
from standings.services import answers
from standings.services.answers import bad_argument, not_found
from standings.services.memory import Memory
from standings.services.pacing import PATIENCE, Pacing, patiently
from standings.services.store import BoardRecord, Entry, Node, Span, Standing

MOST_RANKINGS_KNOWN: Final = 10_000

T = TypeVar("T")


class Reader:
    """The boards, the standing and the clock that questions are answered from."""

    def __init__(self, boards: Boards, standing: Standing, pacing: Pacing) -> None:
        self.standing = standing
        self.pacing = pacing
        self._boards = boards
        self._records: Memory[BoardRecord | None] = Memory(pacing)
        self._shards: dict[str, int] = {}

    def ranking(self, board: str, metric: str, window: str, period: str | None) -> Ranking:
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
        now = self.pacing.now()
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
        _check_kept(found, record, now)
        _check_built(found, record)
        return found

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
        kept = until is not None and self.pacing.now() < until
        return before if kept and (record is None or record.coverage.holds(before)) else None

    def current(self, metric: Metric, window: Window) -> int:
        """The index of a window's current period."""
        return metric.timetable.current(window, self.pacing.now())

    def family(self, board: str) -> Family:
        """The family of a board."""
        return family_of(self._boards, board)

    def _record(self, board: str) -> BoardRecord | None:
        if board in self._records:
            return self._records[board]
        asked = self._records.moment()
        record = self.read(lambda: self.standing.record(board))
        self._records.remember(board, record, asked)
        return record

    def read(self, read: Callable[[], T]) -> T:
        """What a read gives; tried again while the store is throttled, up to a few seconds."""
        return patiently(read, self.pacing.backoff(self.pacing.monotonic() + PATIENCE))

    def nodes(self, ranking: Ranking, paths: Sequence[Path]) -> dict[Path, Node]:
        """Nodes of a ranking's tier tree."""
        found = self.read(lambda: self.standing.nodes([(ranking, path) for path in paths]))
        nodes = {path: node for (_, path), node in found.items()}
        self.shards(ranking, nodes)
        return nodes

    def spans(
        self, ranking: Ranking, spans: Sequence[Span], paths: Sequence[Path]
    ) -> tuple[list[list[Entry]], dict[Path, Node]]:
        """Parts of a ranking's sorted index, and nodes of its tier tree."""
        return self.read(lambda: self.standing.spans(ranking, spans, paths))

    def shards(self, ranking: Ranking, nodes: Mapping[Path, Node]) -> int:
        """How many shards may hold a ranking's entries: as many as its root says, or `boards.toml`."""
        there = max(self._shards.get(ranking.key, 1), ranking.metric.shards)
        if ROOT in nodes and nodes[ROOT].shards > there:
            there = nodes[ROOT].shards
            if len(self._shards) >= MOST_RANKINGS_KNOWN:
                self._shards.clear()
            self._shards[ranking.key] = there
        return there


def _as_read(ranking: Ranking, record: BoardRecord | None) -> Ranking:
    """The generation of a ranking that a board's record says is read."""
    return ranking if record is None else ranking._replace(generation=record.generation)


def _readable_until(ranking: Ranking, record: BoardRecord | None) -> int | None:
    return ranking.readable_until if record is None else record.coverage.readable_until(ranking)


def _check_kept(ranking: Ranking, record: BoardRecord | None, now: int) -> None:
    until = _readable_until(ranking, record)
    if until is not None and now >= until:
        detail = f"this period of {ranking.window.name!r} could be read until {answers.instant(until)}"
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


def family_of(boards: Boards, board: str) -> Family:
    """The family of a board; Problem for a name that is none, or that no family matches."""
    if not BOARD_NAME.fullmatch(board) or board in (".", ".."):
        raise not_found("no-such-board", "No such board", f"{board[:80]!r} is no name of a board")
    family = boards.family(board)
    if family is None:
        raise not_found("no-such-board", "No such board", f"no family in boards.toml matches {board!r}")
    return family
