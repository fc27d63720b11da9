"""Messages to one queue, in batches as large as SQS takes them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MAX_BYTES: Final = 1_048_576
"""What a message may have, and a batch of them: bodies and attributes."""

MAX_ATTRIBUTES: Final = 10
MAX_ENTRIES: Final = 10

Attributes = dict[str, dict[str, Any]]
_T = TypeVar("_T")


class OutgoingMessage(NamedTuple):
    """A message as the API of SQS takes it. `group` says whose it is: a flood of one group keeps no other waiting.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-fair-queues.html
    """

    body: str
    attributes: Attributes
    group: str | None = None


class Sender:
    """Sends messages to a queue. The client is made when it is first needed."""

    def __init__(self, client: "Callable[[], SQSClient]", queue_url: str) -> None:
        self._make_client = client
        self._client: SQSClient | None = None
        self._queue_url = queue_url

    def send(self, messages: Sequence[OutgoingMessage]) -> dict[int, str]:
        """Send messages in their order. Returns why by position for those that the queue did not take.

        Once the queue does not answer, the batches that follow are not sent: each would take as long.
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
            if self._client is None:
                self._client = self._make_client()
            answer = self._client.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        except ClientError as error:
            return dict.fromkeys([position for position, _ in batch], str(error))
        return {int(failed["Id"]): said_of(failed) for failed in answer.get("Failed", [])}


def entry(position: int, message: OutgoingMessage) -> dict[str, Any]:
    """A message as it stands in a batch."""
    return {
        "Id": str(position),
        "MessageBody": message.body,
        "MessageAttributes": message.attributes,
        **({} if message.group is None else {"MessageGroupId": message.group}),
    }


def said_of(failed: Mapping[str, Any]) -> str:
    """Why the queue did not take a message of a batch."""
    return f"{failed['Code']}: {failed.get('Message', '')}"


def size(body: str, attributes: Mapping[str, Mapping[str, Any]]) -> int:
    """The bytes of a message that count: its group is none of its attributes."""
    total = len(body.encode())
    for name, value in attributes.items():
        content = value.get("BinaryValue")
        total += len(name.encode()) + len(value["DataType"].encode())
        total += len(content if content is not None else value["StringValue"].encode())
    return total


def batches(things: Iterable[_T], message: Callable[[_T], OutgoingMessage]) -> Iterator[list[_T]]:
    """Things that each have a message, in batches of at most ten that together stay within the size of one."""
    batch: list[_T] = []
    filled = 0
    for thing in things:
        said = message(thing)
        more = size(said.body, said.attributes)
        if batch and (len(batch) == MAX_ENTRIES or filled + more > MAX_BYTES):
            yield batch
            batch, filled = [], 0
        batch.append(thing)
        filled += more
    if batch:
        yield batch
