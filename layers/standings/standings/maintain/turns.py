"""Drives long tasks, step by step from cursor to cursor; and visits all boards in turn, under a lease."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Generic, TypeVar

from standings.aws.dynamodb.versioned_items import TurnRecord
from standings.catalog import BoardCatalog
from standings.domain.windows import MINUTE, SECOND
from standings.runtime.clock import Clock

C = TypeVar("C")
Stop = tuple[str, Mapping[str, Any] | None]
"""Where a turn is: at a board, and at a cursor within it (None: at its beginning)."""


def drive(step: Callable[[C], C | None], cursor: C, is_over: Callable[[C], bool] = lambda _: False) -> C | None:
    """Take the steps of a long task until nothing is left to do, or the call is over. Returns the next call's cursor.

    `step(cursor)` does a part of the task, and returns where the next step goes on: None if nothing is left, the same
    cursor if it cannot go on now. `is_over(cursor)` is asked between two steps, so each call takes at least one.
    """
    while (following := step(cursor)) is not None and following != cursor and not is_over(following):
        cursor = following
    return following


@dataclass(frozen=True, slots=True)
class Position:
    """Where the turn is, and whose run is at work.

    The next run of the turn begins at `board`, with the cursor `at` there; None: with the first board of a new turn.
    `tries` runs in a row have failed there. A run is at work until `leased_until` (milliseconds) at the latest; None:
    no run. `ran_at` is when the last run began. `scheduled` says that it was one of the turn, not a call for one board.
    """

    version: int = 0
    board: str | None = None
    at: Mapping[str, Any] | None = None
    tries: int = 0
    leased_until: int | None = None
    ran_at: int | None = None
    scheduled: bool = True

    @property
    def left_out(self) -> list[str]:
        """The board that the next run leaves out, since `MAX_TRIES` runs in a row have failed there: `["berlin"]`."""
        return [self.board] if self.board is not None and self.tries >= MAX_TRIES else []


MAX_TRIES: Final = 2  # Runs that fail at a board in a row before it is left out until the next turn

P = TypeVar("P", bound=Position)


@dataclass
class Run(Generic[P]):
    """One run of a turn: it visits all boards in the order of their names, a part of them at each run.

    A run begins where the last one ended. It stores its position before each board and at the end, on condition of the
    version that was read. A run that crashed or raised an error has failed at the board where it was: the next run
    tries that board once more, and the one after it goes on with the next board.

    `position` is as it is stored. `visit` does a part of what is to do at a board, from a cursor on, and returns where
    the next run goes on, None if all is done. `is_over` says whether the run must end. `with_progress` puts into the
    position what the run records in it; with `board` None the turn is over.
    """

    lease: "Lease[P]"
    position: P
    deadline: float
    catalog: BoardCatalog
    visit: Callable[[str, Mapping[str, Any] | None], Mapping[str, Any] | None]
    is_over: Callable[[], bool]
    with_progress: Callable[[P], P] = lambda position: position

    def run(self) -> bool:
        """Visit boards until the run or the turn is over. Returns whether the turn is.

        Whatever a visit raises is raised, once the position says that the run failed at this board.
        """
        board, at = self.position.board, self.position.at
        stop = self._next(board) if board is None or self.position.left_out else (board, at)
        if stop is not None:
            stop = drive(self._step, stop, lambda stop: stop[1] is not None or self.is_over())
        self._store(self.lease.end, stop)
        return stop is None

    def _step(self, stop: Stop) -> Stop | None:
        board, at = stop
        # The next run must know where this one was, however it ends.
        if board != self.position.board and not self._store(self.lease.put, (board, None)):
            return stop  # Another run has taken over
        try:
            at = self.visit(board, at)
        except Exception:
            tries = self.position.tries + 1
            self.lease.failed(board, tries)
            self._store(self.lease.end, stop, tries)
            raise
        return self._next(board) if at is None else (board, at)

    def _next(self, board: str | None) -> Stop | None:
        following = self.lease.clock.backoff(self.deadline).retry(self.catalog.next_board, board)
        return None if following is None else (following, None)

    def _store(self, put: Callable[[P, float], P | None], stop: Stop | None, tries: int = 0) -> bool:
        """Store where the run is, or the next one begins. False if there is another version."""
        board, at = stop or (None, None)
        stored = put(self.with_progress(replace(self.position, board=board, at=at, tries=tries)), self.deadline)
        self.position = stored or self.position
        return stored is not None


LEASE_MARGIN: Final = MINUTE  # Milliseconds between a run's deadline and the end of its lease: clocks differ


@dataclass(frozen=True)
class Lease(Generic[P]):
    """Keeps runs apart: one at a time has the lease, and the record of where the turn is.

    A run has the lease until its deadline and a margin. A lease that has expired belongs to a run that crashed.
    `decode` makes a position of the record's content. `failed` is called with a board where a run of the turn failed,
    and how often in a row. `deadline` is in seconds of the monotonic clock. Methods may raise StoreUnavailableError.
    """

    record: TurnRecord
    decode: Callable[..., P]
    clock: Clock
    failed: Callable[[str, int], None]

    def read(self) -> P:
        """The record; before the first run, one of version 0."""
        return self.decode(**self.record.read())

    def take(self, deadline: float, *, scheduled: bool) -> P | None:
        """The record, leased to this run; None if another run has it."""
        stored = self.clock.backoff(deadline).retry(self.read)
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
        return position if self.clock.backoff(deadline).retry(self.record.put, asdict(position)) else None

    def end(self, position: P, deadline: float) -> P | None:
        """Store a record that no run has leased; None if there is another version."""
        return self.put(replace(position, leased_until=None), deadline)
