"""Messages to one queue, in batches as large as SQS takes them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
MOST_BYTES: Final = 1_048_576
"""What a message may have, and a batch of them: bodies and attributes."""

MOST_ATTRIBUTES: Final = 10
MOST_ENTRIES: Final = 10

Attributes = dict[str, dict[str, Any]]


class Message(NamedTuple):
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

    def send(self, messages: Sequence[Message]) -> dict[int, str]:
        """Send messages in their order. Returns why by position for those that the queue did not take."""
        failed: dict[int, str] = {}
        for positions in _batches(messages):
            failed.update(self._send(positions, messages))
        return failed

    def _send(self, positions: range, messages: Sequence[Message]) -> dict[int, str]:
        entries: Any = [
            {
                "Id": str(position),
                "MessageBody": messages[position].body,
                "MessageAttributes": messages[position].attributes,
                **({} if messages[position].group is None else {"MessageGroupId": messages[position].group}),
            }
            for position in positions
        ]
        try:
            if self._client is None:
                self._client = self._make_client()
            answer = self._client.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        except (ClientError, BotoCoreError) as error:
            return dict.fromkeys(positions, str(error))
        return {int(entry["Id"]): f"{entry['Code']}: {entry.get('Message', '')}" for entry in answer.get("Failed", [])}


def size(body: str, attributes: Mapping[str, Mapping[str, Any]]) -> int:
    """The bytes of a message that count: its group is none of its attributes."""
    total = len(body.encode())
    for name, value in attributes.items():
        content = value.get("BinaryValue")
        total += len(name.encode()) + len(value["DataType"].encode())
        total += len(content if content is not None else value["StringValue"].encode())
    return total


def _batches(messages: Sequence[Message]) -> Iterator[range]:
    """The positions of messages in batches of at most ten that together stay within the size of one."""
    start, filled = 0, 0
    for position, message in enumerate(messages):
        more = size(message.body, message.attributes)
        if position > start and (position - start == MOST_ENTRIES or filled + more > MOST_BYTES):
            yield range(start, position)
            start, filled = position, 0
        filled += more
    if messages:
        yield range(start, len(messages))
