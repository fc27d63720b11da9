"""Keeps runs apart: one at a time, with a record of where the turn over all boards is.

A run has the lease until its deadline and a margin. A lease that has expired belongs to a run that died.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Protocol, TypeVar

from standings.domain.windows.calendar import MINUTE, SECOND
from standings.runtime.retry import Clock, with_retry

LEASE_MARGIN: Final = MINUTE  # Milliseconds between a run's deadline and the end of its lease: clocks differ


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


P = TypeVar("P", bound=Position)


class Positions(Protocol[P]):
    """The one record. Both methods may raise StoreUnavailableError."""

    def read(self) -> P:
        """The record, read strongly consistently; before the first run, one of version 0."""

    def put(self, position: P) -> bool:
        """Replace the record of the version before. False if there is another version."""


@dataclass(frozen=True)
class Lease(Generic[P]):
    """Takes and ends leases. `failed` is told of a board where a run of the turn failed, and how often in a row."""

    positions: Positions[P]
    clock: Clock
    failed: Callable[[str, int], None]

    def take(self, deadline: float, *, scheduled: bool) -> P | None:
        """The record, leased to this run; None if another run has it."""
        stored = with_retry(self.positions.read, self.clock.backoff(deadline))
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
        return position if with_retry(lambda: self.positions.put(position), self.clock.backoff(deadline)) else None

    def end(self, position: P, deadline: float) -> P | None:
        """Store a record that no run has leased; None if there is another version."""
        return self.put(replace(position, leased_until=None), deadline)
