"""Keeps settlements apart: one call at a time on a stack, since two could write files of different moments.

A call has the lease until its deadline and a margin. A lease that has expired belongs to a call that died.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from standings.domain.windows.calendar import MINUTE, SECOND
from standings.runtime.retry import Clock, with_retry

LEASE_MARGIN: Final = MINUTE  # Milliseconds between a call's deadline and the end of its lease: clocks differ


@dataclass(frozen=True, slots=True)
class SettleRecord:
    """Whose call is at work, and where the scheduled settlements are.

    The next scheduled run begins at `board`, with the cursor `at` there; None: with the first board. `tries` runs in a
    row have failed there. A call is at work until `leased_until` (milliseconds) at the latest; None: no call. With
    `scheduled` it is a scheduled run.
    """

    version: int = 0
    board: str | None = None
    at: Mapping[str, Any] | None = None
    tries: int = 0
    leased_until: int | None = None
    scheduled: bool = False


class SettleRecords(Protocol):
    """The one record. Both methods may raise StoreUnavailableError."""

    def read(self) -> SettleRecord | None:
        """The record, read strongly consistently; None before the first call."""

    def put(self, record: SettleRecord) -> bool:
        """Replace the record of the version before. False if there is another version."""


@dataclass(frozen=True)
class Lease:
    """Takes and ends leases."""

    records: SettleRecords
    clock: Clock

    def take(self, deadline: float, *, scheduled: bool) -> SettleRecord | None:
        """The record, leased to this call; None if another call has it."""
        stored = with_retry(self.records.read, self.clock.backoff(deadline)) or SettleRecord()
        now = self.clock.now()
        if stored.leased_until is not None and now < stored.leased_until:
            return None
        died = stored.leased_until is not None and stored.scheduled
        until = now + round(max(0.0, deadline - self.clock.monotonic()) * SECOND) + LEASE_MARGIN
        record = replace(stored, tries=stored.tries + died, leased_until=until, scheduled=scheduled)
        return self.put(record, deadline)

    def put(self, record: SettleRecord, deadline: float) -> SettleRecord | None:
        """Store a record in the place of the version before; None if there is another version."""
        record = replace(record, version=record.version + 1)
        return record if with_retry(lambda: self.records.put(record), self.clock.backoff(deadline)) else None

    def end(self, record: SettleRecord, deadline: float) -> None:
        """End the lease, with what the record says of the schedule."""
        self.put(replace(record, leased_until=None), deadline)
