"""Workers side by side in virtual time, on one client whose transactions take a while and meet.

Each worker is a greenlet with straight code: it waits by switching to the clock, which goes on to whoever is next.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError
from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable

TRANSACTION: Final = 0.020
"""Seconds that a transaction takes, done or cancelled: a stated input."""
READ: Final = 0.005


class VirtualClock:
    """Virtual seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = 0
        self._waiting: list[tuple[float, int, greenlet]] = []

    def start(self, job: Callable[[], None]) -> None:
        """Have a worker begin now."""
        self._at(self.now, greenlet(job))

    def sleep(self, seconds: float) -> None:
        """Let a worker wait."""
        worker = getcurrent()
        self._at(self.now + seconds, worker)
        worker.parent.switch()

    def run(self) -> None:
        """Let workers go on until all are done."""
        while self._waiting:
            self.now, _, worker = heappop(self._waiting)
            worker.switch()

    def _at(self, when: float, worker: greenlet) -> None:
        self._order += 1
        heappush(self._waiting, (when, self._order, worker))


class Meeting:
    """A client on which a transaction that begins while another has one of its items is cancelled."""

    def __init__(self, client: Any, clock: VirtualClock) -> None:
        self._client = client
        self._clock = clock
        self._taken: set[str] = set()
        self.done = 0
        self.cancelled = 0

    def transact_write_items(self, **request: Any) -> Any:
        """Do it at its end, unless an item is taken at its beginning."""
        keys = [_key(action) for action in request["TransactItems"]]
        met = [key in self._taken for key in keys]
        if any(met):
            self._clock.sleep(TRANSACTION)
            self.cancelled += 1
            raise conflict(met)
        self._taken.update(keys)
        self._clock.sleep(TRANSACTION)
        self._taken.difference_update(keys)
        answer = self._client.transact_write_items(**request)
        self.done += 1
        return answer

    def batch_get_item(self, **request: Any) -> Any:
        """Reads meet nobody."""
        self._clock.sleep(READ)
        return self._client.batch_get_item(**request)


def _key(entry: dict[str, Any]) -> str:
    ((_, action),) = entry.items()
    key: str = action.get("Item", action.get("Key"))["pk"]["S"]
    return key


def conflict(met: list[bool]) -> ClientError:
    """How a transaction ends that met another at some of its items."""
    reasons = [{"Code": "TransactionConflict" if one else "None"} for one in met]
    response: Any = {
        "Error": {"Code": "TransactionCanceledException", "Message": "met another"},
        "CancellationReasons": reasons,
    }
    return ClientError(response, "TransactWriteItems")
