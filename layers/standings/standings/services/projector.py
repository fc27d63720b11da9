"""Moves members in the rankings as their items change."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from standings.domain.boards import Boards
from standings.domain.moves import Change, Move, moves
from standings.domain.places import path, prefixes
from standings.services.pacing import Backoff, Pacing
from standings.services.store import (
    MOST_ACTIONS,
    Hindrance,
    MemberKey,
    MoveObstacle,
    Rankings,
    StoreRefusedError,
    StoreUnavailableError,
)

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


class Projector:
    """Projects batches of records: entries and the tiers that count them in one transaction, ranking by ranking.

    However a batch is retried, re-cut or replayed, the rankings end up the same: a row takes no version that is not
    newer than its own, and what is counted off is what the row says was counted.
    """

    def __init__(self, boards: Boards, rankings: Rankings, pacing: Pacing) -> None:
        self._boards = boards
        self._rankings = rankings
        self._pacing = pacing

    def project(self, records: Sequence[Record], parking: Parking, deadline: float) -> Projected:
        """Apply a batch, up to the first failure that a later try may mend."""
        return _Batch(self._boards, self._rankings, records, parking).run(self._pacing.backoff(deadline))


class _Batch:
    def __init__(self, boards: Boards, rankings: Rankings, records: Sequence[Record], parking: Parking) -> None:
        self._boards = boards
        self._rankings = rankings
        self._records = records
        self._parking = parking
        self._projected = Projected()
        # Records of each member by position, and how many of its moves are not done.
        self._positions: dict[MemberKey, list[int]] = {}
        self._open: Counter[MemberKey] = Counter()
        self._unfinished: set[int] = set()

    def run(self, backoff: Backoff) -> Projected:
        self._read()
        work = deque(cut(self._moves()))
        hindered = 0
        while work:
            chunk = work.popleft()
            try:
                obstacles = self._rankings.commit(chunk[0].ranking, chunk)
            except StoreUnavailableError as error:
                if not backoff.wait(error.wait):
                    return self._stop(str(error))
                work.appendleft(chunk)
                continue
            except StoreRefusedError as error:
                work.extendleft(reversed(self._apart(chunk, str(error))))
                continue
            if not obstacles:
                hindered = 0
                self._projected.moves += len(chunk)
                for move in chunk:
                    self._done(move)
                continue
            busy = any(obstacle.hindrance is Hindrance.BUSY for obstacle in obstacles)
            self._projected.conflicts += busy
            left = self._resolve(chunk, obstacles)
            work.extendleft(reversed(list(cut(left))))
            # What a row said settles its move at the next try, unless others move it all the while.
            hindered = hindered + 1 if len(left) == len(chunk) else 0
            if left and (busy or hindered > AT_ONCE) and not backoff.wait():
                return self._stop(obstacles[0].message)
        return self._stop("a record could not be parked") if self._unfinished else self._projected

    def _read(self) -> None:
        for position, record in enumerate(self._records):
            if record.problem is not None:
                self._park(position, record.problem)
            elif record.change is not None:
                new = record.change.new
                self._positions.setdefault((new.board, new.member), []).append(position)

    def _moves(self) -> list[Move]:
        found: list[Move] = []
        for key, positions in self._positions.items():
            changes = [self._records[position].change for position in positions]
            asked = moves(self._boards, [change for change in changes if change is not None])
            self._projected.stamps.append(max(c.new.stamp for c in changes if c is not None))
            self._open[key] = len(asked)
            found.extend(asked)
        # Neighbours in a ranking share tiers: side by side they share a transaction, and each tier is written once.
        found.sort(key=lambda move: (move.ranking.key, move.new if move.new is not None else move.old or 0))
        return found

    def _resolve(self, chunk: Sequence[Move], obstacles: Sequence[MoveObstacle]) -> list[Move]:
        """What is left of a chunk, knowing the rows that were found."""
        left = {id(move): move for move in chunk}
        for obstacle in obstacles:
            if obstacle.hindrance is Hindrance.BUSY or obstacle.position is None:
                continue
            move = chunk[obstacle.position]
            found = obstacle.found
            if obstacle.hindrance is Hindrance.INVALID:
                del left[id(move)]
                self._poisoned(move, obstacle.message)
            elif found is not None and found.version >= move.version:
                del left[id(move)]
                self._projected.old_news += 1
                self._done(move)
            else:
                self._projected.gaps += 1
                move.old = found.ordinal if found is not None else None
        return list(left.values())

    def _apart(self, chunk: Sequence[Move], reason: str) -> list[list[Move]]:
        """The store says no to the whole and not which part: halve it until the part stands alone."""
        if len(chunk) == 1:
            self._poisoned(chunk[0], reason)
            return []
        middle = len(chunk) // 2
        return [list(chunk[:middle]), list(chunk[middle:])]

    def _poisoned(self, move: Move, reason: str) -> None:
        key = (move.ranking.board, move.member)
        for position in self._positions.pop(key, []):
            self._park(position, reason)
        del self._open[key]

    def _park(self, position: int, reason: str) -> None:
        try:
            self._parking.park(self._records[position].sequence, reason)
        except StoreUnavailableError:
            self._unfinished.add(position)
        else:
            self._projected.parked += 1

    def _done(self, move: Move) -> None:
        key = (move.ranking.board, move.member)
        if key in self._open:
            self._open[key] -= 1

    def _stop(self, why: str) -> Projected:
        """Report the lowest record whose member is not completely done: everything from there is delivered again."""
        waiting = {self._positions[key][0] for key, count in self._open.items() if count > 0}
        self._projected.failed = self._records[min(waiting | self._unfinished)].sequence
        self._projected.why = why
        return self._projected


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
