"""Projects changes of members' items, as the stream delivers them, into rankings."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from standings.catalog import BoardCatalog
from standings.domain.boards import Boards
from standings.domain.coverage import CLOCK_SKEW_S, BoardRecord
from standings.domain.members import Change, Image
from standings.domain.windows import SECOND
from standings.rankings.commits import Outcome, PruneResult
from standings.rankings.storing import MAX_PLACEMENTS, Placement, Rankings, placements
from standings.runtime.clock import Clock
from standings.stores import MemberKey, RankingName, StoreUnavailableError


@dataclass(slots=True)
class Projector:
    """Projects batches of records: one transaction holds entries of a ranking and the tiers that count them.

    Rankings end up the same however often a batch is retried, cut again or replayed.

    A new generation has no rows of members that were removed before it began, so an old record could bring one back.
    For a record that is older than the generation, the member's item is read, and the member moves to where it is now.
    """

    catalog: BoardCatalog
    rankings: Rankings
    clock: Clock
    read_images: "ReadImages"

    def project(self, records: "Sequence[Record]", park: "Park", deadline: float) -> "ProjectResult":
        """Apply a batch until the deadline, in seconds of the monotonic clock, or until a failure to be retried."""
        batch = _Batch(self, records, park, deadline)
        for position, record in enumerate(records):
            if record.problem is not None:
                batch.park(position, record.problem, record.bug)
            elif record.change is not None:
                new = record.change.new
                if self.catalog.boards.family(new.board) is not None:
                    batch.positions.setdefault((new.board, new.member), []).append(position)
                else:
                    # During a deployment this function may run with an older boards.toml than the writer.
                    batch.park(position, f"no family in boards.toml matches {new.board!r}")
        return batch.run()


class Record(NamedTuple):
    """A record of the stream. `change` is None if the item is not a member's, or if the record cannot be read.

    If it cannot be read, `problem` says why, and `bug` is the exception if it is an internal error.
    """

    sequence: str
    change: Change | None
    problem: str | None = None
    bug: Exception | None = None


ReadImages = Callable[[Sequence[MemberKey]], Mapping[MemberKey, Image | None]]
"""Reads members' items, strongly consistently (None: there is none). Items that cannot be read are left out.

Raises StoreUnavailableError.
"""

Park = Callable[[str, str, Exception | None], None]
"""Stores a record by its sequence number, with the reason, and an internal error. Raises StoreUnavailableError."""


@dataclass(slots=True)
class ProjectResult:
    """The result of a batch. `failed` is the sequence number from which to deliver it again, `why` the reason.

    `gaps` counts rows that were not where a record says (read repair). `problem` is what somebody has to look at,
    although nothing is lost. `stamps` holds when each member's item was last written, in milliseconds. The announcer
    has to look at the tops of `moved`. `prunes` are the checks for empty tiers.
    """

    moves: int = 0
    stale_moves: int = 0
    gaps: int = 0
    conflicts: int = 0
    parked: int = 0
    stamps: list[int] = field(default_factory=list)
    failed: str | None = None
    why: str = ""
    problem: str = ""
    moved: list[RankingName] = field(default_factory=list)
    prunes: list[PruneResult] = field(default_factory=list)


def announced(boards: Boards, outcomes: Iterable[Outcome]) -> list[RankingName]:
    """The rankings with an announced top in which something may have moved.

    A commit that had nothing left to do counts too: an earlier call may have failed before it requested a look. Tops of
    rolling windows are not announced.
    """
    names = []
    for outcome in outcomes:
        ranking = outcome.tried
        family = boards.family(ranking.board) if ranking is not None else None
        if ranking is not None and family is not None and ranking.window.name in family.announce:
            names.append(RankingName(ranking.board, ranking.metric.name, ranking.window.name, ranking.period))
    return list(dict.fromkeys(names))


@dataclass(slots=True)
class _Batch:
    _projector: Projector
    _records: Sequence[Record]
    _store_parked: Park
    _deadline: float
    _result: ProjectResult = field(default_factory=ProjectResult)
    # For each member the positions of its records, and the number of its moves that are not done.
    positions: dict[MemberKey, list[int]] = field(default_factory=dict)
    _open: Counter[MemberKey] = field(default_factory=Counter)
    _unfinished: set[int] = field(default_factory=set)

    def run(self) -> ProjectResult:
        catalog, outcomes = self._projector.catalog, list[Outcome]()
        backoff = self._projector.clock.backoff(self._deadline)
        try:
            written = backoff.retry(catalog.written, [board for board, _ in self.positions])
            self._leave_ended(written)
            changes = backoff.retry(self._changes, written)
        except StoreUnavailableError as error:
            self._unfinished.update(*self.positions.values())
            self._result.why = f"boards' records or members' items could not be read: {error}"
        else:
            for part in self._parts(written, changes):
                of_part = self._projector.rankings.commit(part, self._deadline, stop_at_failure=True)
                for outcome in of_part:
                    self._count(outcome)
                outcomes += of_part
                if any(outcome.failure is not None for outcome in of_part):
                    break
        self._result.moved = announced(catalog.boards, outcomes)
        unfinished = self._unfinished_positions()
        if unfinished:
            # Lambda delivers everything from the lowest unfinished record again.
            self._result.failed = self._records[min(unfinished)].sequence
        return self._result

    def _leave_ended(self, written: Mapping[str, BoardRecord]) -> None:
        """Leave out the changes of boards that have ended: by no clock are they read any more."""
        now = self._projector.clock.now() - CLOCK_SKEW_S * SECOND
        ended = {board for board, record in written.items() if record.has_ended(now)}
        self.positions = {key: of for key, of in self.positions.items() if key[0] not in ended}

    def _changes(self, written: Mapping[str, BoardRecord]) -> dict[MemberKey, list[Change]]:
        """The changes of each member, up to the item as it is now if they are from before the board's last rebuild."""
        changes = {
            key: [change for position in positions if (change := self._records[position].change) is not None]
            for key, positions in self.positions.items()
        }
        newest = {key: max((change.new for change in of), key=lambda new: new.version) for key, of in changes.items()}
        early = [
            key
            for key, image in newest.items()
            if (record := written.get(key[0])) is not None and image.written_at_ms < record.projected_since
        ]
        images = self._projector.read_images(early) if early else {}
        for key, found in images.items():
            last = newest[key]
            # Without an item: it has expired since the member was removed, or somebody has deleted it.
            image = found or (last if last.removed else last.without_scores())
            if image.version > last.version:
                changes[key].append(Change(last, image))
        return changes

    def _parts(
        self, written: Mapping[str, BoardRecord], changes: Mapping[MemberKey, Sequence[Change]]
    ) -> Iterator[list[Placement]]:
        """Yield the moves in parts, in the order of the records. If time runs out, a part that is done stays done."""
        of_members: list[list[Placement]] = []
        for key in list(self.positions):
            try:
                boards, record = self._projector.catalog.boards, written.get(key[0])
                generations = record.written if record is not None else (0,)
                board_ends = record.ends if record is not None else None
                of_member = placements(boards, changes[key], generations, board_ends)
            except Exception as bug:  # noqa: BLE001 - a member whose images break the code must not stop the others
                for position in self.positions.pop(key):
                    self.park(position, f"cannot be projected: {bug!r}", bug)
                continue
            self._result.stamps.append(max(change.new.written_at_ms for change in changes[key]))
            self._open[key] = len(of_member)
            of_members.append(of_member)
        part: list[Placement] = []
        for of_member in of_members:
            if part and len(part) + len(of_member) > MAX_PLACEMENTS:
                yield part
                part = []
            part += of_member
        yield part

    def _count(self, outcome: Outcome) -> None:
        self._result.moves += outcome.moves
        self._result.stale_moves += outcome.stale_moves
        self._result.gaps += outcome.gaps
        self._result.conflicts += outcome.conflicts
        self._result.prunes += outcome.prunes
        self._result.why = self._result.why or outcome.failure or ""
        self._result.problem = self._result.problem or outcome.problem or ""
        self._open.subtract((move.ranking.board, move.member) for move in outcome.done)
        for move, reason in outcome.refused:
            key = (move.ranking.board, move.member)
            for position in self.positions.pop(key, []):
                self.park(position, reason)
            del self._open[key]

    def park(self, position: int, reason: str, bug: Exception | None = None) -> None:
        try:
            self._store_parked(self._records[position].sequence, reason, bug)
        except StoreUnavailableError as error:
            self._unfinished.add(position)
            self._result.why = f"a record could not be parked: {error}"
        else:
            self._result.parked += 1

    def _unfinished_positions(self) -> set[int]:
        """The records that are not done, and the first record of each member with open moves."""
        return self._unfinished | {self.positions[key][0] for key, count in self._open.items() if count > 0}
