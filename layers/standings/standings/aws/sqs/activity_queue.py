"""The queue of events: sends posted events, and reads what a message says beside its body."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from standings.aws.sqs.sender import MAX_BYTES, Attributes, OutgoingMessage, Sender, size
from standings.ingest.post_events import Posted

AT_FILLED_IN: Final = "at_filled_in"
"""The message attribute of an event whose `at` its producer did not send. Redrives keep it, as all attributes."""

FIRST_RECEIVED: Final = "first_received"
"""The message attribute of a refused event: when the writer first received it, in milliseconds since 1970."""

_FILLED_IN: Final[Attributes] = {AT_FILLED_IN: {"DataType": "String", "StringValue": "true"}}
_MAX_DIGITS: Final = 15


class ActivityQueue:
    """Sends events to the queue that the writer reads."""

    most_bytes: Final = MAX_BYTES - size("", _FILLED_IN)

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def send(self, events: Sequence[Posted]) -> dict[int, str]:
        """Send events. Returns the reasons of those that were not sent, by position."""
        return self._sender.send([message_of(event) for event in events])


def message_of(event: Posted) -> OutgoingMessage:
    """The message of an event. Its group is the board: every name of a board is also a valid name of a group."""
    return OutgoingMessage(event.body, _FILLED_IN if event.at_filled_in else {}, event.board)


# In the functions below, a record is an SQS message as Lambda delivers it.


def at_filled_in(record: Mapping[str, Any]) -> bool:
    """Whether the event was posted without `at`."""
    return _attribute(record, AT_FILLED_IN) == "true"


def refused_since(record: Mapping[str, Any]) -> int | None:
    """When the writer first received an event that it then refused; None if it was not refused before."""
    return instant(_attribute(record, FIRST_RECEIVED))


def group_of(record: Mapping[str, Any]) -> str | None:
    """The message's group, if its producer set one."""
    group = record.get("attributes", {}).get("MessageGroupId")
    return group if isinstance(group, str) else None


def sent_at(record: Mapping[str, Any]) -> int | None:
    """When the message was sent to the queue, if known. A replay is a new message."""
    return instant(record.get("attributes", {}).get("SentTimestamp"))


def first_received(record: Mapping[str, Any]) -> int | None:
    """When the writer first received the event, before all replays, if known."""
    attributes = record.get("attributes", {})
    received = instant(attributes.get("ApproximateFirstReceiveTimestamp") or attributes.get("SentTimestamp"))
    return min((time for time in (received, refused_since(record)) if time is not None), default=None)


def instant(text: str | None) -> int | None:
    """An attribute's milliseconds since 1970; None if the text is not such a number."""
    return int(text) if text and text.isdecimal() and len(text) <= _MAX_DIGITS else None


def _attribute(record: Mapping[str, Any], name: str) -> str | None:
    value = record.get("messageAttributes", {}).get(name, {}).get("stringValue")
    return value if isinstance(value, str) else None
