"""Moves members in the rankings as their items change."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import NamedTuple, Protocol

from standings.catalog.board_catalog import BoardCatalog
from standings.domain.members.moves import Change, Move, moves
from standings.ports.errors import StoreUnavailableError
from standings.ports.rankings import Rankings
from standings.ports.scores import MemberKey
from standings.project.commit_moves import MAX_MOVES, Outcome, RunParallel, commit_order, move_in_ranking, one_by_one
from standings.runtime.retry import Clock, with_retry


class Record(NamedTuple):
    """A record of the stream. `change` is None for an item that is no member's; `problem` says why it is unreadable.

    `bug` is the error, if the record is unreadable for a bug of ours.
    """

    sequence: str
    change: Change | None
    problem: str | None = None
    bug: Exception | None = None


class Parking(Protocol):
    """Where records are put that can never be applied."""

    def park(self, sequence: str, reason: str, bug: Exception | None = None) -> None:
        """Keep a record of this batch, whole; StoreUnavailableError where that is not possible now.

        `bug` is the error, if a bug of ours is the reason.
        """


@dataclass(slots=True)
class ProjectResult:
    """What became of a batch. `failed` is the sequence number from which it must be delivered again, `why` says why."""

    moves: int = 0
    stale_moves: int = 0
    gaps: int = 0
    conflicts: int = 0
    parked: int = 0
    stamps: list[int] = field(default_factory=list)
    failed: str | None = None
    why: str = ""


class Projector:
    """Projects batches of records: entries and the tiers that count them in one transaction, ranking by ranking.

    However a batch is retried, re-cut or replayed, the rankings end up the same: a row takes no version that is not
    newer than its own, and what is counted off is what the row says was counted. No transaction spans rankings, so
    those of a batch may go side by side.
    """

    def __init__(
        self, registry: BoardCatalog, rankings: Rankings, pacing: Clock, run_parallel: RunParallel = one_by_one
    ) -> None:
        self.boards = registry.boards
        self.registry = registry
        self.rankings = rankings
        self.pacing = pacing
        self.run_parallel = run_parallel

    def project(self, records: Sequence[Record], parking: Parking, deadline: float) -> ProjectResult:
        """Apply a batch, up to the first failure that a later try may mend."""
        return _Batch(self, records, parking, deadline).run()


class _Batch:
    def __init__(self, projector: Projector, records: Sequence[Record], parking: Parking, deadline: float) -> None:
        self._projector = projector
        self._records = records
        self._parking = parking
        self._deadline = deadline
        self._projected = ProjectResult()
        # Records of each member by position, and how many of its moves are not done.
        self._positions: dict[MemberKey, list[int]] = {}
        self._open: Counter[MemberKey] = Counter()
        self._unfinished: set[int] = set()
        self._failed = False

    def run(self) -> ProjectResult:
        self._read()
        backoff = self._projector.pacing.backoff(self._deadline)
        try:
            written = with_retry(
                lambda: self._projector.registry.written(board for board, _ in self._positions), backoff
            )
        except StoreUnavailableError as error:
            self._unfinished.update(position for positions in self._positions.values() for position in positions)
            self._projected.why = f"what is known of the boards could not be read: {error}"
            return self._report()
        for part in self._parts(written):
            # Neighbours in a ranking share tiers: side by side they share transactions, each tier written once in each.
            part.sort(key=commit_order)
            by_ranking = [list(moves) for _, moves in groupby(part, key=lambda move: move.ranking)]
            jobs = [partial(self._project, moves) for moves in by_ranking]
            for outcome in self._projector.run_parallel(jobs):
                self._count(outcome)
            if self._failed:
                break
        return self._report()

    def _read(self) -> None:
        for position, record in enumerate(self._records):
            if record.problem is not None:
                self._park(position, record.problem, record.bug)
            elif record.change is not None:
                new = record.change.new
                if self._projector.boards.family(new.board) is None:
                    # An older boards.toml at work beside a newer one, for a moment: nothing is lost.
                    self._park(position, f"no family in boards.toml matches {new.board!r}")
                    continue
                self._positions.setdefault((new.board, new.member), []).append(position)

    def _parts(self, written: Mapping[str, Sequence[int]]) -> Iterator[list[Move]]:
        """The moves of the batch in parts, members in the order of their first records.

        A part that is done stays done: so the next try of a batch too wide for one function's time begins further on.
        """
        asked: list[list[Move]] = []
        broken: dict[MemberKey, Exception] = {}
        for key, positions in self._positions.items():
            changes = [change for position in positions if (change := self._records[position].change) is not None]
            try:
                found = moves(self._projector.boards, changes, written[key[0]])
            except Exception as error:  # noqa: BLE001 - whatever a member's images do, its neighbours are projected
                broken[key] = error
                continue
            self._projected.stamps.append(max(change.new.written_at_ms for change in changes))
            asked.append(found)
            self._open[key] = len(found)
        for key, bug in broken.items():
            for position in self._positions.pop(key):
                self._park(position, f"cannot be projected: {bug!r}", bug)
        part: list[Move] = []
        for found in asked:
            if part and len(part) + len(found) > MAX_MOVES:
                yield part
                part = []
            part += found
        if part:
            yield part

    def _project(self, found: Sequence[Move]) -> Outcome:
        backoff = self._projector.pacing.backoff(self._deadline)
        outcome = move_in_ranking(self._projector.rankings, found, backoff, lambda: self._failed)
        if outcome.failure is not None:
            self._failed = True
        return outcome

    def _count(self, outcome: Outcome) -> None:
        self._projected.moves += outcome.moves
        self._projected.stale_moves += outcome.stale_moves
        self._projected.gaps += outcome.gaps
        self._projected.conflicts += outcome.conflicts
        self._projected.why = self._projected.why or outcome.failure or ""
        for move in outcome.done:
            key = (move.ranking.board, move.member)
            if key in self._open:
                self._open[key] -= 1
        for move, reason in outcome.refused:
            key = (move.ranking.board, move.member)
            for position in self._positions.pop(key, []):
                self._park(position, reason)
            del self._open[key]

    def _park(self, position: int, reason: str, bug: Exception | None = None) -> None:
        try:
            self._parking.park(self._records[position].sequence, reason, bug)
        except StoreUnavailableError as error:
            self._unfinished.add(position)
            self._projected.why = f"a record could not be parked: {error}"
        else:
            self._projected.parked += 1

    def _report(self) -> ProjectResult:
        """Name the lowest record whose member is not completely done: everything from there is delivered again."""
        unfinished = self._unfinished_positions()
        if unfinished:
            self._projected.failed = self._records[min(unfinished)].sequence
        return self._projected

    def _unfinished_positions(self) -> set[int]:
        """The records that are not done, and of each member with open moves the first record."""
        waiting = {self._positions[key][0] for key, count in self._open.items() if count > 0}
        return waiting | self._unfinished
