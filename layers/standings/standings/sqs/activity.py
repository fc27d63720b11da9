"""The queue of events, from the side of those who post over HTTP, and what a message of theirs tells the writer."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from standings.services.posting import Posted
from standings.sqs.sending import MOST_BYTES, Attributes, Message, Sender, size

AT_FILLED_IN: Final = "at_filled_in"
"""The message attribute that says that an event's `at` is not its producer's. It survives a redrive, as all do."""

_FILLED_IN: Final[Attributes] = {AT_FILLED_IN: {"DataType": "String", "StringValue": "true"}}


class ActivityQueue:
    """Puts events on the queue that the writer reads."""

    most_bytes: Final = MOST_BYTES - size("", _FILLED_IN)

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def send(self, events: Sequence[Posted]) -> dict[int, str]:
        """Put events on the queue. Returns why by position for those that it did not take."""
        return self._sender.send([Message(event.body, _FILLED_IN if event.at_filled_in else {}) for event in events])


def at_filled_in(record: Mapping[str, Any]) -> bool:
    """Whether the event in a message, as Lambda delivers it, had no `at` when it was posted."""
    attribute = record.get("messageAttributes", {}).get(AT_FILLED_IN, {})
    return bool(attribute.get("stringValue") == "true")
