"""The dead-letter queue: lists, replays and deletes its messages."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from standings.aws.s3.failure_bucket import FailureBucket
from standings.aws.sdk_errors import errors_as_unavailable
from standings.aws.sqs.messages import (
    FIRST_RECEIVED,
    MAX_BYTES,
    MAX_ENTRIES,
    Attributes,
    OutgoingMessage,
    Sender,
    SQSClient,
    instant,
    said_of,
    size,
)
from standings.aws.sqs.refused_messages import (
    KEPT_IN,
    KEPT_KEY,
    NOT_OF_SQS,
    REASON,
    attributes_of,
    fitting,
    received_at,
    without_ours,
)
from standings.maintain.failures.dead_letters import DeadLetter
from standings.ports.errors import StoreUnavailableError

MAX_HOLD_S: Final = 43_200  # The longest time for which SQS hides a message, in seconds
WAIT: Final = 1  # Seconds to wait for a message. Without a wait SQS asks only some of the queue's servers.
_DEAD_LETTER_ERRORS: Final = errors_as_unavailable("dead-letter queue")
_T = TypeVar("_T")


class DeadLetterQueue:
    """Messages that the writer refused or SQS gave up on. The first call makes the client.

    Every method may raise StoreUnavailableError.
    """

    def __init__(
        self, client: Callable[[], SQSClient], queue_url: str, activity: Sender, bucket: FailureBucket
    ) -> None:
        self._sqs = cache(client)  # The first call makes the client
        self._queue_url = queue_url
        self._activity = activity
        self._bucket = bucket

    @_DEAD_LETTER_ERRORS
    def receive(self, hold: int) -> list[DeadLetter]:
        """Receive a few messages and hide them for `hold` seconds; empty if the queue seems empty."""
        answer = self._sqs().receive_message(
            QueueUrl=self._queue_url,
            MaxNumberOfMessages=MAX_ENTRIES,
            VisibilityTimeout=min(max(hold, 1), MAX_HOLD_S),
            WaitTimeSeconds=WAIT,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return [self._letter(message) for message in answer.get("Messages", [])]

    def replay(self, letters: Sequence[DeadLetter]) -> dict[str, str]:
        """Send messages to the activity queue, then delete them here. Returns the error by id of each failure."""
        failed: dict[str, str] = {}
        ready: list[tuple[DeadLetter, OutgoingMessage]] = []
        for letter in letters:
            attributes = fitting(letter.attributes, received_at(letter.first_received))
            message = OutgoingMessage(letter.body, attributes, letter.group)
            if size(message.body, message.attributes) > MAX_BYTES:
                failed[letter.id] = f"with {FIRST_RECEIVED} it is too large for the queue: send the event again"
            else:
                ready.append((letter, message))
        unsent = self._activity.send([message for _, message in ready])
        failed.update((ready[position][0].id, why) for position, why in unsent.items())
        sent = [letter for letter, _ in ready if letter.id not in failed]
        # A message that was sent and not deleted is replayed again. Its receipt keeps it from counting twice.
        failed.update((name, f"sent, but not deleted here: {why}") for name, why in self.delete(sent).items())
        return failed

    def delete(self, letters: Sequence[DeadLetter]) -> dict[str, str]:
        """Delete messages. Returns the error by id of each failure."""
        failed: dict[str, str] = {}
        for part in _parts(letters):
            try:
                failed.update(self._delete(part))
            except StoreUnavailableError as error:
                failed.update((letter.id, str(error)) for letter in part)
            for letter in part:
                if letter.kept_in is not None and letter.id not in failed:
                    try:
                        self._bucket.delete(letter.kept_in)
                    except StoreUnavailableError as error:
                        failed[letter.id] = f"{letter.kept_in} was not deleted and will expire: {error}"
        return failed

    @_DEAD_LETTER_ERRORS
    def _delete(self, letters: Sequence[DeadLetter]) -> dict[str, str]:
        entries: Any = [{"Id": str(n), "ReceiptHandle": letter.handle} for n, letter in enumerate(letters)]
        answer = self._sqs().delete_message_batch(QueueUrl=self._queue_url, Entries=entries)
        return {letters[int(failed["Id"])].id: said_of(failed) for failed in answer.get("Failed", [])}

    @_DEAD_LETTER_ERRORS
    def release(self, handles: Sequence[str]) -> None:
        """Make messages visible again at once."""
        for part in _parts(handles):
            entries: Any = [
                {"Id": str(n), "ReceiptHandle": handle, "VisibilityTimeout": 0} for n, handle in enumerate(part)
            ]
            self._sqs().change_message_visibility_batch(QueueUrl=self._queue_url, Entries=entries)

    def _letter(self, message: Any) -> DeadLetter:
        attributes: Attributes = {
            name: {kind: value[kind] for kind in ("DataType", "StringValue", "BinaryValue") if kind in value}
            for name, value in message.get("MessageAttributes", {}).items()
        }
        system = message.get("Attributes", {})
        reason = attributes.get(REASON, {}).get("StringValue")
        # A message that SQS itself moved here keeps the time at which it was first sent.
        sent = instant(system.get("SentTimestamp")) or 0
        received = instant(attributes.get(FIRST_RECEIVED, {}).get("StringValue"))
        letter = DeadLetter(
            id=message["MessageId"],
            handle=message["ReceiptHandle"],
            body=message["Body"],
            size=len(message["Body"].encode()),
            # If SQS moved the message, an attribute named `reason` is the producer's own.
            reason=None if "DeadLetterQueueSourceArn" in system else reason,
            first_received=sent if received is None else min(sent, received),
            sent=sent,
            receives=int(system.get("ApproximateReceiveCount", "1")),
            attributes=without_ours(attributes),
            group=system.get("MessageGroupId"),
        )
        key = attributes.get(KEPT_IN, {}).get("StringValue") or ""
        return letter if letter.reason is None or not KEPT_KEY.fullmatch(key) else self._with_body(letter, key)

    def _with_body(self, letter: DeadLetter, key: str) -> DeadLetter:
        letter = letter._replace(kept_in=key)
        try:
            content = self._bucket.content(key)
            if content is None:
                return letter._replace(problem=f"{key} is gone: it was replayed before, or it expired")
            record = json.loads(content)["record"]
            body = record["body"]
            if NOT_OF_SQS.search(body):
                return letter._replace(problem="the body has characters that SQS does not take")
            return letter._replace(body=body, size=len(body.encode()), attributes=attributes_of(record))
        except (StoreUnavailableError, ValueError, LookupError, TypeError, AttributeError) as error:
            return letter._replace(problem=f"{key} cannot be read: {error}")


def _parts(whole: Sequence[_T]) -> Iterator[Sequence[_T]]:
    return (whole[start : start + MAX_ENTRIES] for start in range(0, len(whole), MAX_ENTRIES))
