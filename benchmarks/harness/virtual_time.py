"""Workers side by side in virtual time, over a client whose transactions take time and conflict.

Each worker is a greenlet. To wait it switches to the clock, which then runs the worker that is next.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError
from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable

TRANSACTION: Final = 0.020
"""Seconds of a transaction, committed or cancelled. An assumption, not a measurement."""
READ: Final = 0.005
"""Seconds of a read; also an assumption."""


class VirtualClock:
    """A clock of virtual seconds that runs workers in the order of their time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = 0
        self._waiting: list[tuple[float, int, greenlet]] = []

    def start(self, job: Callable[[], None]) -> None:
        self._at(self.now, greenlet(job))

    def sleep(self, seconds: float) -> None:
        worker = getcurrent()
        self._at(self.now + seconds, worker)
        worker.parent.switch()

    def run(self) -> None:
        while self._waiting:
            self.now, _, worker = heappop(self._waiting)
            worker.switch()

    def _at(self, when: float, worker: greenlet) -> None:
        self._order += 1
        heappush(self._waiting, (when, self._order, worker))


class Meeting:
    """A client that cancels a transaction that begins while another one has an item of it."""

    def __init__(self, client: Any, clock: VirtualClock) -> None:
        self._client = client
        self._clock = clock
        self._taken: set[str] = set()
        self.committed = 0
        self.cancelled = 0

    def transact_write_items(self, **request: Any) -> Any:
        """Commit at the end of the transaction's time, unless an item is taken at its beginning."""
        keys = [_key(action) for action in request["TransactItems"]]
        taken = [key in self._taken for key in keys]
        if any(taken):
            self._clock.sleep(TRANSACTION)
            self.cancelled += 1
            raise conflict(taken)
        self._taken.update(keys)
        self._clock.sleep(TRANSACTION)
        self._taken.difference_update(keys)
        answer = self._client.transact_write_items(**request)
        self.committed += 1
        return answer

    def batch_get_item(self, **request: Any) -> Any:
        self._clock.sleep(READ)
        return self._client.batch_get_item(**request)


def _key(entry: dict[str, Any]) -> str:
    ((_, action),) = entry.items()
    key: str = action.get("Item", action.get("Key"))["pk"]["S"]
    return key


def conflict(conflicting: list[bool]) -> ClientError:
    """Return the error of a transaction that conflicts with another one at the items marked True."""
    reasons = [{"Code": "TransactionConflict" if one else "None"} for one in conflicting]
    response: Any = {
        "Error": {"Code": "TransactionCanceledException", "Message": "conflict with another transaction"},
        "CancellationReasons": reasons,
    }
    return ClientError(response, "TransactWriteItems")
