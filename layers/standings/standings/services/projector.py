"""Moves members in the rankings as their items change."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Final, NamedTuple, Protocol

from standings.domain.boards import Boards
from standings.domain.moves import Change, Move, moves
from standings.domain.places import path, prefixes
from standings.services.pacing import Pacing
from standings.services.store import (
    MOST_ACTIONS,
    Hindrance,
    MemberKey,
    MoveObstacle,
    Rankings,
    StoreRefusedError,
    StoreUnavailableError,
)

MOST_MOVES: Final = 5_000
"""Moves of a batch that are begun before others are done: a few seconds' worth of transactions."""

AT_ONCE: Final = 3
"""Tries of moves on rows that turn out otherwise, before it is a matter of waiting as well."""


class Record(NamedTuple):
    """A record of the stream. `change` is None for an item that is no member's; `problem` says why it is unreadable."""

    sequence: str
    change: Change | None
    problem: str | None = None


class Parking(Protocol):
    """Where records are put that can never be applied."""

    def park(self, sequence: str, reason: str) -> None:
        """Keep a record of this batch, whole; StoreUnavailableError where that is not possible now."""


@dataclass(slots=True)
class Projected:
    """What became of a batch. `failed` is the sequence number from which it must be delivered again, `why` says why."""

    moves: int = 0
    old_news: int = 0
    gaps: int = 0
    conflicts: int = 0
    parked: int = 0
    stamps: list[int] = field(default_factory=list)
    failed: str | None = None
    why: str = ""


@dataclass(slots=True)
class _Outcome:
    """What became of the moves of one ranking. `failure` says why some of them are left undone."""

    done: list[Move] = field(default_factory=list)
    moves: int = 0
    old_news: int = 0
    gaps: int = 0
    conflicts: int = 0
    refused: list[tuple[Move, str]] = field(default_factory=list)
    failure: str | None = None


Job = Callable[[], _Outcome]
SideBySide = Callable[[Sequence[Job]], Iterable[_Outcome]]


def one_by_one(jobs: Sequence[Job]) -> Iterable[_Outcome]:
    """Do jobs in their order."""
    return (job() for job in jobs)


class Projector:
    """Projects batches of records: entries and the tiers that count them in one transaction, ranking by ranking.

    However a batch is retried, re-cut or replayed, the rankings end up the same: a row takes no version that is not
    newer than its own, and what is counted off is what the row says was counted. No transaction spans rankings, so
    those of a batch may go side by side.
    """

    def __init__(
        self, boards: Boards, rankings: Rankings, pacing: Pacing, side_by_side: SideBySide = one_by_one
    ) -> None:
        self.boards = boards
        self.rankings = rankings
        self.pacing = pacing
        self.side_by_side = side_by_side

    def project(self, records: Sequence[Record], parking: Parking, deadline: float) -> Projected:
        """Apply a batch, up to the first failure that a later try may mend."""
        return _Batch(self, records, parking, deadline).run()


class _Batch:
    def __init__(self, projector: Projector, records: Sequence[Record], parking: Parking, deadline: float) -> None:
        self._projector = projector
        self._records = records
        self._parking = parking
        self._deadline = deadline
        self._projected = Projected()
        # Records of each member by position, and how many of its moves are not done.
        self._positions: dict[MemberKey, list[int]] = {}
        self._open: Counter[MemberKey] = Counter()
        self._unfinished: set[int] = set()
        self._failed = False

    def run(self) -> Projected:
        self._read()
        for part in self._parts():
            # Neighbours in a ranking share tiers: side by side they share transactions, each tier written once in each.
            part.sort(key=lambda move: (move.ranking.key, move.new if move.new is not None else move.old or 0))
            by_ranking = [list(moves) for _, moves in groupby(part, key=lambda move: move.ranking)]
            jobs = [partial(self._project, moves) for moves in by_ranking]
            for outcome in self._projector.side_by_side(jobs):
                self._count(outcome)
            if self._failed:
                break
        return self._report()

    def _read(self) -> None:
        for position, record in enumerate(self._records):
            if record.problem is not None:
                self._park(position, record.problem)
            elif record.change is not None:
                new = record.change.new
                self._positions.setdefault((new.board, new.member), []).append(position)

    def _parts(self) -> Iterator[list[Move]]:
        """The moves of the batch in parts, members in the order of their first records.

        A part that is done stays done: so the next try of a batch too wide for one function's time begins further on.
        """
        asked: list[tuple[MemberKey, list[Move]]] = []
        for key, positions in self._positions.items():
            changes = [change for position in positions if (change := self._records[position].change) is not None]
            self._projected.stamps.append(max(change.new.stamp for change in changes))
            asked.append((key, moves(self._projector.boards, changes)))
            self._open[key] = len(asked[-1][1])
        part: list[Move] = []
        for _, found in asked:
            if part and len(part) + len(found) > MOST_MOVES:
                yield part
                part = []
            part += found
        if part:
            yield part

    def _project(self, found: Sequence[Move]) -> _Outcome:
        """Do the moves of one ranking. This may run beside others, and touches nothing of theirs."""
        outcome = _Outcome()
        backoff = self._projector.pacing.backoff(self._deadline)
        work = deque(cut(found))
        hindered = 0
        while work and outcome.failure is None:
            if self._failed or backoff.expired:
                outcome.failure = "the function's time is over"
                break
            chunk = work.popleft()
            try:
                obstacles = self._projector.rankings.commit(chunk[0].ranking, chunk)
            except StoreUnavailableError as error:
                work.appendleft(chunk)
                if not backoff.wait(error.wait):
                    outcome.failure = str(error)
                continue
            except StoreRefusedError as error:
                work.extendleft(reversed(_apart(chunk, str(error), outcome)))
                continue
            if not obstacles:
                hindered = 0
                outcome.moves += len(chunk)
                outcome.done += chunk
                continue
            busy = any(obstacle.hindrance is Hindrance.BUSY for obstacle in obstacles)
            outcome.conflicts += busy
            left = _resolve(chunk, obstacles, outcome)
            work.extendleft(reversed(list(cut(left))))
            # What a row said settles its move at the next try, unless others move it all the while.
            hindered = hindered + 1 if len(left) == len(chunk) else 0
            if left and (busy or hindered > AT_ONCE) and not backoff.wait():
                outcome.failure = obstacles[0].message
        if outcome.failure is not None:
            self._failed = True
        return outcome

    def _count(self, outcome: _Outcome) -> None:
        self._projected.moves += outcome.moves
        self._projected.old_news += outcome.old_news
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

    def _park(self, position: int, reason: str) -> None:
        try:
            self._parking.park(self._records[position].sequence, reason)
        except StoreUnavailableError as error:
            self._unfinished.add(position)
            self._projected.why = f"a record could not be parked: {error}"
        else:
            self._projected.parked += 1

    def _report(self) -> Projected:
        """Name the lowest record whose member is not completely done: everything from there is delivered again."""
        waiting = {self._positions[key][0] for key, count in self._open.items() if count > 0}
        unfinished = waiting | self._unfinished
        if unfinished:
            self._projected.failed = self._records[min(unfinished)].sequence
        return self._projected


def _resolve(chunk: Sequence[Move], obstacles: Sequence[MoveObstacle], outcome: _Outcome) -> list[Move]:
    """What is left of a chunk, knowing the rows that were found."""
    left = {id(move): move for move in chunk}
    for obstacle in obstacles:
        if obstacle.hindrance is Hindrance.BUSY or obstacle.position is None:
            continue
        move = chunk[obstacle.position]
        found = obstacle.found
        if obstacle.hindrance is Hindrance.INVALID:
            del left[id(move)]
            outcome.refused.append((move, obstacle.message))
        elif found is not None and found.version >= move.version:
            del left[id(move)]
            outcome.old_news += 1
            outcome.done.append(move)
        else:
            outcome.gaps += 1
            move.old = found.ordinal if found is not None else None
    return list(left.values())


def _apart(chunk: Sequence[Move], reason: str, outcome: _Outcome) -> list[list[Move]]:
    """The store says no to the whole and not which part: halve it until the part stands alone."""
    if len(chunk) == 1:
        outcome.refused.append((chunk[0], reason))
        return []
    middle = len(chunk) // 2
    return [list(chunk[:middle]), list(chunk[middle:])]


def cut(found: Sequence[Move]) -> Iterator[list[Move]]:
    """Moves in chunks of one ranking, each with its tiers within one transaction."""
    chunk: list[Move] = []
    tiers: set[tuple[int, ...]] = set()
    for move in found:
        mine = {
            node
            for number in (move.old, move.new)
            if number is not None and move.old != move.new
            for node in prefixes(path(number))
        }
        if chunk and (chunk[0].ranking != move.ranking or len(chunk) + 1 + len(tiers | mine) > MOST_ACTIONS):
            yield chunk
            chunk, tiers = [], set()
        chunk.append(move)
        tiers |= mine
    if chunk:
        yield chunk
