"""The default event bus of the account, for prizes, settled periods and announced tops."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from standings.aws.sdk_errors import errors_as_unavailable
from standings.stores import BusEvent

SOURCE: Final = "standings"
_ERRORS = errors_as_unavailable("EventBridge")


class EventBus:
    """Puts events on the bus. The first call makes the client."""

    def __init__(self, client: Callable[[], Any]) -> None:
        self._events = cache(client)

    @_ERRORS
    def put(self, events: Sequence[BusEvent]) -> dict[str, str]:
        """Put at most `MAX_EVENTS` events: why some of them failed, by id. Raises StoreUnavailableError."""
        entries: Any = [{"Source": SOURCE, "DetailType": event.type, "Detail": event.detail} for event in events]
        answer = self._events().put_events(Entries=entries)
        results = zip(events, answer["Entries"], strict=True)
        return {
            event.id: f"{result['ErrorCode']}: {result.get('ErrorMessage', '')}"
            for event, result in results
            if result.get("ErrorCode")
        }
