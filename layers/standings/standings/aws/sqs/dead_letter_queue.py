"""The dead-letter queue, from the side of those who look into it and send its messages on their way again."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from standings.aws.s3.failure_bucket import FailureBucket
from standings.aws.sqs.activity_queue import FIRST_RECEIVED, instant
from standings.aws.sqs.refused_messages import (
    KEPT_IN,
    NOT_OF_SQS,
    REASON,
    attributes_of,
    fitting,
    received_at,
    without_ours,
)
from standings.aws.sqs.sender import MAX_BYTES, MAX_ENTRIES, Attributes, OutgoingMessage, Sender, size
from standings.maintain.failures.dead_letters import DeadLetter
from standings.ports.errors import StoreUnavailableError

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

MAX_HOLD_S: Final = 43_200
"""Seconds for which SQS hides a message at most."""

WAIT: Final = 1
"""Seconds to wait for a message. Asking without a wait looks at a part of the queue's servers only."""


class DeadLetterQueue:
    """Messages that were refused, or received too often (`maintain.failures.dead_letters.DeadLetterSource`)."""

    def __init__(
        self, client: "Callable[[], SQSClient]", queue_url: str, activity: Sender, bucket: FailureBucket
    ) -> None:
        self._make_client = client
        self._client: SQSClient | None = None
        self._queue_url = queue_url
        self._activity = activity
        self._bucket = bucket

    def receive(self, hold: int) -> list[DeadLetter]:
        with _errors():
            answer = self._sqs.receive_message(
                QueueUrl=self._queue_url,
                MaxNumberOfMessages=MAX_ENTRIES,
                VisibilityTimeout=min(max(hold, 1), MAX_HOLD_S),
                WaitTimeSeconds=WAIT,
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
        return [self._letter(message) for message in answer.get("Messages", [])]

    def replay(self, letters: Sequence[DeadLetter]) -> dict[str, str]:
        failed: dict[str, str] = {}
        ready: list[tuple[DeadLetter, OutgoingMessage]] = []
        for letter in letters:
            attributes = fitting(letter.attributes, received_at(letter.first_received))
            message = OutgoingMessage(letter.body, attributes, letter.group)
            if size(message.body, message.attributes) > MAX_BYTES:
                failed[letter.id] = "with the time of its first receipt it is too large for the queue: send it anew"
            else:
                ready.append((letter, message))
        unsent = self._activity.send([message for _, message in ready])
        failed.update((ready[position][0].id, why) for position, why in unsent.items())
        sent = [letter for letter, _ in ready if letter.id not in failed]
        # What was sent and stays is replayed again, which its receipt makes harmless.
        failed.update((name, f"sent, but not cleared away: {why}") for name, why in self.delete(sent).items())
        return failed

    def delete(self, letters: Sequence[DeadLetter]) -> dict[str, str]:
        failed: dict[str, str] = {}
        for part in _parts(letters):
            entries: Any = [{"Id": str(n), "ReceiptHandle": letter.handle} for n, letter in enumerate(part)]
            try:
                with _errors():
                    answer = self._sqs.delete_message_batch(QueueUrl=self._queue_url, Entries=entries)
            except StoreUnavailableError as error:
                failed.update((letter.id, str(error)) for letter in part)
                continue
            failed.update(
                (part[int(entry["Id"])].id, f"{entry['Code']}: {entry.get('Message', '')}")
                for entry in answer.get("Failed", [])
            )
            for letter in part:
                if letter.kept_in is not None and letter.id not in failed:
                    try:
                        self._bucket.delete(letter.kept_in)
                    except StoreUnavailableError as error:
                        failed[letter.id] = f"{letter.kept_in} is left until it expires: {error}"
        return failed

    def release(self, handles: Sequence[str]) -> None:
        for part in _parts(handles):
            entries: Any = [
                {"Id": str(n), "ReceiptHandle": handle, "VisibilityTimeout": 0} for n, handle in enumerate(part)
            ]
            with _errors():
                self._sqs.change_message_visibility_batch(QueueUrl=self._queue_url, Entries=entries)

    def _letter(self, message: Any) -> DeadLetter:
        attributes: Attributes = {
            name: {
                kind: content for kind, content in value.items() if kind in ("DataType", "StringValue", "BinaryValue")
            }
            for name, value in message.get("MessageAttributes", {}).items()
        }
        told = message.get("Attributes", {})
        reason = attributes.get(REASON, {}).get("StringValue")
        # What SQS itself has moved here keeps the time at which it was sent first.
        sent = instant(told.get("SentTimestamp")) or 0
        received = instant(attributes.get(FIRST_RECEIVED, {}).get("StringValue"))
        letter = DeadLetter(
            id=message["MessageId"],
            handle=message["ReceiptHandle"],
            body=message["Body"],
            size=len(message["Body"].encode()),
            # A producer's own attribute of that name says nothing of what SQS has moved.
            reason=None if "DeadLetterQueueSourceArn" in told else reason,
            first_received=sent if received is None else min(sent, received),
            sent=sent,
            receives=int(told.get("ApproximateReceiveCount", "1")),
            attributes=without_ours(attributes),
            group=told.get("MessageGroupId"),
        )
        key = attributes.get(KEPT_IN, {}).get("StringValue")
        return letter if letter.reason is None or key is None else self._kept(letter, key)

    def _kept(self, letter: DeadLetter, key: str) -> DeadLetter:
        """A letter whose body is in the failure bucket, with that body."""
        letter = letter._replace(kept_in=key)
        try:
            content = self._bucket.content(key)
            if content is None:
                return letter._replace(problem=f"{key} is gone: replayed before, or expired")
            record = json.loads(content)["record"]
            body = record["body"]
            if NOT_OF_SQS.search(body):
                return letter._replace(problem="it has characters that the queue does not take")
            return letter._replace(body=body, size=len(body.encode()), attributes=attributes_of(record))
        except (StoreUnavailableError, ValueError, LookupError, TypeError, AttributeError) as error:
            return letter._replace(problem=f"{key} cannot be read: {error}")

    @property
    def _sqs(self) -> "SQSClient":
        if self._client is None:
            self._client = self._make_client()
        return self._client


def _parts(whole: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (whole[start : start + MAX_ENTRIES] for start in range(0, len(whole), MAX_ENTRIES))


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise StoreUnavailableError(f"dead-letter queue: {error}") from error
