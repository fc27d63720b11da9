"""Visits all boards in turn, a part at each run, for a schedule.

A run begins where the last one ended. It stores its position before each board and at the end, on condition of the
version that was read. A run that died, and one that raised an error, has failed at the board where it was: the next run
tries that board once more, and the one after it goes on with the next board.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Generic, Protocol

from standings.maintain.turns.lease import Lease, P
from standings.runtime.retry import with_retry

MAX_TRIES: Final = 2  # Runs that fail at a board in a row before it is left out until the next turn


class Visits(Protocol[P]):
    """What a run does at each board."""

    def visit(self, board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Do a part of what is to do at a board, from a cursor on: where to go on, None when all is done there."""

    def is_over(self) -> bool:
        """Whether the run must end."""

    def leave_out(self, board: str) -> None:
        """Take note of a board that this turn leaves out, since runs failed there."""

    def noted(self, position: P) -> P:
        """The position with what the run notes in it. With `board` None the turn is over."""


class Run(Generic[P]):
    """One run. `position` is as it is stored.

    `next_board` names the board after one, or the first after None. It returns None after the last one.
    """

    def __init__(
        self,
        lease: Lease[P],
        position: P,
        deadline: float,
        visits: Visits[P],
        next_board: Callable[[str | None], str | None],
    ) -> None:
        self._lease = lease
        self._deadline = deadline
        self._visits = visits
        self._next_board = next_board
        self.position = position

    def go(self) -> bool:
        """Visit boards until the run or the turn is over. Returns whether the turn is."""
        board, at = self._begin()
        while board is not None:
            # The next run must know where this one was, however it ends.
            if board != self.position.board and not self._store(board):
                return False
            at = self._visited(board, at)
            board = self._next(board) if at is None else board
            if board is not None and (at is not None or self._visits.is_over()):
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
            self._visits.leave_out(board)
        return self._next(board), None

    def _next(self, board: str | None) -> str | None:
        return with_retry(lambda: self._next_board(board), self._lease.clock.backoff(self._deadline))

    def _visited(self, board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Visit a board. An error is stored and raised."""
        try:
            return self._visits.visit(board, at)
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
        return self._visits.noted(replace(self.position, board=board, at=at, tries=tries))
