"""The default event bus of the account, for prizes, settled periods and announced tops."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from standings.aws.sdk_errors import errors_as_unavailable

SOURCE: Final = "standings"
MAX_EVENTS: Final = 10  # Events that one call puts
_ERRORS = errors_as_unavailable("EventBridge")


class BusEvent(NamedTuple):
    """An event: its id, its type, and its detail as JSON, which holds the id as well."""

    id: str
    type: str
    detail: str


class EventBus:
    """Puts events on the bus. The first call makes the client."""

    def __init__(self, client: Callable[[], Any]) -> None:
        self._events = cache(client)

    @_ERRORS
    def put(self, events: Sequence[BusEvent]) -> dict[str, str]:
        """Put at most `MAX_EVENTS` events. Returns the error of each that failed: `{"5f0c": "InternalFailure: …"}`.

        Raises StoreUnavailableError if the whole call failed.
        """
        entries: Any = [{"Source": SOURCE, "DetailType": event.type, "Detail": event.detail} for event in events]
        answer = self._events().put_events(Entries=entries)
        results = zip(events, answer["Entries"], strict=True)
        return {
            event.id: f"{result['ErrorCode']}: {result.get('ErrorMessage', '')}"
            for event, result in results
            if result.get("ErrorCode")
        }
