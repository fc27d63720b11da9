"""Sends messages to one queue, in batches as large as SQS takes them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_sqs import client as stubs

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MAX_BYTES: Final = 1_048_576  # The most bytes of a message, and of a batch of messages: bodies and attributes together
MAX_ATTRIBUTES: Final = 10
MAX_ENTRIES: Final = 10

SQSClient: TypeAlias = "stubs.SQSClient"
Attributes = dict[str, dict[str, Any]]
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
