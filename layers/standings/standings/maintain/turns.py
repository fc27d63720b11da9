"""Turns over all boards: which board comes next, under a lease, so that two callers share the work."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic

from standings.aws.dynamodb.versioned_items import P, Positions
from standings.catalog import BoardCatalog
from standings.domain.windows import MINUTE, SECOND
from standings.runtime.clock import Clock

# Keeps runs apart: one at a time, with a record of where the turn over all boards is.
#
# A run has the lease until its deadline and a margin. A lease that has expired belongs to a run that crashed.

LEASE_MARGIN: Final = MINUTE  # Milliseconds between a run's deadline and the end of its lease: clocks differ


@dataclass(frozen=True)
class Lease(Generic[P]):
    """Takes and ends leases. `failed` is called with a board where a run of the turn failed, and how often in a row."""

    positions: Positions[P]
    clock: Clock
    failed: Callable[[str, int], None]

    def take(self, deadline: float, *, scheduled: bool) -> P | None:
        """The record, leased to this run; None if another run has it."""
        stored = self.clock.backoff(deadline).retry(self.positions.read)
        now = self.clock.now()
        if stored.leased_until is not None and now < stored.leased_until:
            return None
        tries = stored.tries
        if stored.leased_until is not None and stored.scheduled:
            tries += 1
            if stored.board is not None:
                self.failed(stored.board, tries)
        until = now + round(max(0.0, deadline - self.clock.monotonic()) * SECOND) + LEASE_MARGIN
        return self.put(replace(stored, tries=tries, leased_until=until, ran_at=now, scheduled=scheduled), deadline)

    def put(self, position: P, deadline: float) -> P | None:
        """Store a record in the place of the version before; None if there is another version."""
        position = replace(position, version=position.version + 1)
        return position if self.clock.backoff(deadline).retry(self.positions.put, position) else None

    def end(self, position: P, deadline: float) -> P | None:
        """Store a record that no run has leased; None if there is another version."""
        return self.put(replace(position, leased_until=None), deadline)


# Visits all boards in turn, a part at each run, for a schedule.
#
# A run begins where the last one ended. It stores its position before each board and at the end, on condition of the
# version that was read. A run that crashed or raised an error has failed at the board where it was: the next run tries
# that board once more, and the one after it goes on with the next board.

MAX_TRIES: Final = 2  # Runs that fail at a board in a row before it is left out until the next turn


class Run(ABC, Generic[P]):
    """One run. `position` is as it is stored. `left_out` names the board that this run leaves out, if there is one."""

    def __init__(self, lease: Lease[P], position: P, deadline: float, catalog: BoardCatalog) -> None:
        self._lease = lease
        self._deadline = deadline
        self._catalog = catalog
        self.position = position
        self.left_out: list[str] = []

    @abstractmethod
    def visit(self, board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Do a part of what is to do at a board, from a cursor on: where to go on, None when all is done there."""

    @abstractmethod
    def is_over(self) -> bool:
        """Whether the run must end."""

    def with_progress(self, position: P) -> P:
        """The position with what the run records in it. With `board` None the turn is over."""
        return position

    def run(self) -> bool:
        """Visit boards until the run or the turn is over. Returns whether the turn is."""
        board, at = self._begin()
        while board is not None:
            # The next run must know where this one was, however it ends.
            if board != self.position.board and not self._store(board):
                return False
            at = self._visited(board, at)
            board = self._next(board) if at is None else board
            if board is not None and (at is not None or self.is_over()):
                self._end(board, at)
                return False
        self._end(None, None)
        return True

    def _begin(self) -> tuple[str | None, Mapping[str, Any] | None]:
        """Where to begin. A board where too many runs have failed is left out."""
        board = self.position.board
        if board is not None and self.position.tries < MAX_TRIES:
            return board, self.position.at
        if board is not None:
            self.left_out.append(board)
        return self._next(board), None

    def _next(self, board: str | None) -> str | None:
        return self._lease.clock.backoff(self._deadline).retry(self._catalog.next_board, board)

    def _visited(self, board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Visit a board. An error is stored and raised."""
        try:
            return self.visit(board, at)
        except Exception:
            tries = self.position.tries + 1
            self._lease.failed(board, tries)
            self._end(board, at, tries)
            raise

    def _store(self, board: str) -> bool:
        """Store the board where the run is. False if another run has taken over."""
        stored = self._lease.put(self._at(board, None, 0), self._deadline)
        self.position = stored or self.position
        return stored is not None

    def _end(self, board: str | None, at: Mapping[str, Any] | None, tries: int = 0) -> None:
        """Store where the next run begins, and end the lease."""
        self.position = self._lease.end(self._at(board, at, tries), self._deadline) or self.position

    def _at(self, board: str | None, at: Mapping[str, Any] | None, tries: int) -> P:
        return self.with_progress(replace(self.position, board=board, at=at, tries=tries))
