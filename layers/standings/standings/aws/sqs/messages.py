"""The messages of the queues: what they say beside their body, and how they are sent."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_sqs import client as stubs

    from standings.ingest.post_events import Posted

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MAX_BYTES: Final = 1_048_576  # The most bytes of a message, and of a batch of messages: bodies and attributes together
MAX_ATTRIBUTES: Final = 10
MAX_ENTRIES: Final = 10

# Message attributes. Redrives keep them.
AT_FILLED_IN: Final = "at_filled_in"  # Of an event whose `at` its producer did not send
FIRST_RECEIVED: Final = "first_received"  # Of a refused event: when the writer first received it, in ms since 1970
SQSClient: TypeAlias = "stubs.SQSClient"
Attributes = dict[str, dict[str, Any]]
_FILLED_IN: Final[Attributes] = {AT_FILLED_IN: {"DataType": "String", "StringValue": "true"}}
_MAX_DIGITS: Final = 15
_T = TypeVar("_T")


class OutgoingMessage(NamedTuple):
    """A message in the form of the SQS API. SQS shares the queue fairly among groups: one group cannot delay others.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html
    """

    body: str
    attributes: Attributes
    group: str | None = None


class Sender:
    """Sends messages to a queue. The first call makes the client."""

    def __init__(self, client: Callable[[], SQSClient], queue_url: str) -> None:
        self._sqs = cache(client)
        self._queue_url = queue_url

    def send(self, messages: Sequence[OutgoingMessage]) -> dict[int, str]:
        """Send messages in their order. Returns the reasons of those that were not sent, by position.

        If SQS does not answer for one batch, the later batches are not tried: each would wait as long.
        """
        failed: dict[int, str] = {}
        no_answer = None
        for batch in batches(enumerate(messages), itemgetter(1)):
            if no_answer is None:
                try:
                    failed.update(self._send(batch))
                    continue
                except BotoCoreError as error:
                    no_answer = str(error)
            failed.update((position, no_answer) for position, _ in batch)
        return failed

    def _send(self, batch: Sequence[tuple[int, OutgoingMessage]]) -> dict[int, str]:
        entries: Any = [entry(position, message) for position, message in batch]
        try:
            answer = self._sqs().send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        except ClientError as error:
            return dict.fromkeys([position for position, _ in batch], str(error))
        return {int(failed["Id"]): said_of(failed) for failed in answer.get("Failed", [])}


def entry(position: int, message: OutgoingMessage) -> dict[str, Any]:
    """A message as an entry of a batch."""
    return {
        "Id": str(position),
        "MessageBody": message.body,
        "MessageAttributes": message.attributes,
        **({} if message.group is None else {"MessageGroupId": message.group}),
    }


def said_of(failed: Mapping[str, Any]) -> str:
    """Why an entry of a batch failed: the code and message of SQS."""
    return f"{failed['Code']}: {failed.get('Message', '')}"


def size(body: str, attributes: Mapping[str, Mapping[str, Any]]) -> int:
    """The bytes of a message that SQS counts. It does not count the group."""
    total = len(body.encode())
    for name, value in attributes.items():
        content = value.get("BinaryValue")
        total += len(name.encode()) + len(value["DataType"].encode())
        total += len(content if content is not None else value["StringValue"].encode())
    return total


def batches(things: Iterable[_T], message: Callable[[_T], OutgoingMessage]) -> Iterator[list[_T]]:
    """Split things into batches of at most 10 whose messages together have at most `MAX_BYTES`."""
    batch: list[_T] = []
    batch_bytes = 0
    for thing in things:
        outgoing = message(thing)
        message_bytes = size(outgoing.body, outgoing.attributes)
        if batch and (len(batch) == MAX_ENTRIES or batch_bytes + message_bytes > MAX_BYTES):
            yield batch
            batch, batch_bytes = [], 0
        batch.append(thing)
        batch_bytes += message_bytes
    if batch:
        yield batch


MAX_BODY_BYTES: Final = MAX_BYTES - size("", _FILLED_IN)  # The most bytes of an event that is posted


def message_of(event: "Posted") -> OutgoingMessage:
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
