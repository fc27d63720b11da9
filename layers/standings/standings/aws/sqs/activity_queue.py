"""The queue of events, from the side of those who post over HTTP, and what a message of theirs tells the writer."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from standings.aws.sqs.sender import MAX_BYTES, Attributes, OutgoingMessage, Sender, size
from standings.ingest.post_events import Posted

AT_FILLED_IN: Final = "at_filled_in"
"""The message attribute that says that an event's `at` is not its producer's. It survives a redrive, as all do."""

FIRST_RECEIVED: Final = "first_received"
"""The message attribute that says when the writer first had an event that was refused, in milliseconds since 1970."""

_FILLED_IN: Final[Attributes] = {AT_FILLED_IN: {"DataType": "String", "StringValue": "true"}}
_MAX_DIGITS: Final = 15


class ActivityQueue:
    """Puts events on the queue that the writer reads."""

    most_bytes: Final = MAX_BYTES - size("", _FILLED_IN)

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def send(self, events: Sequence[Posted]) -> dict[int, str]:
        """Put events on the queue. Returns why by position for those that it did not take."""
        return self._sender.send([message_of(event) for event in events])


def message_of(event: Posted) -> OutgoingMessage:
    """The message that brings an event to the writer."""
    # SQS takes any name of a board as a group's: both have up to 128 characters, and these are among those.
    return OutgoingMessage(event.body, _FILLED_IN if event.at_filled_in else {}, event.board)


def at_filled_in(record: Mapping[str, Any]) -> bool:
    """Whether the event in a message, as Lambda delivers it, had no `at` when it was posted."""
    return _said(record, AT_FILLED_IN) == "true"


def refused_since(record: Mapping[str, Any]) -> int | None:
    """When the writer first had the event of a message that was refused before; None for one that was not."""
    return instant(_said(record, FIRST_RECEIVED))


def group_of(record: Mapping[str, Any]) -> str | None:
    """Whose a message is, among those that share the queue; None where its producer did not say."""
    group = record.get("attributes", {}).get("MessageGroupId")
    return group if isinstance(group, str) else None


def sent_at(record: Mapping[str, Any]) -> int | None:
    """When the queue got a message; None where nothing tells. A replay is sent anew."""
    return instant(record.get("attributes", {}).get("SentTimestamp"))


def first_received(record: Mapping[str, Any]) -> int | None:
    """When the writer first had the event of a message, before all its replays; None where nothing tells."""
    told = record.get("attributes", {})
    now = instant(told.get("ApproximateFirstReceiveTimestamp") or told.get("SentTimestamp"))
    before = refused_since(record)
    return now if before is None else before if now is None else min(before, now)


def instant(text: str | None) -> int | None:
    """Milliseconds since 1970, as an attribute has them; None for what are none."""
    return int(text) if text and text.isdecimal() and len(text) <= _MAX_DIGITS else None


def _said(record: Mapping[str, Any], name: str) -> str | None:
    value = record.get("messageAttributes", {}).get(name, {}).get("stringValue")
    return value if isinstance(value, str) else None
