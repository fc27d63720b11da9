"""A standard SQS queue in memory, and a poller that invokes a function as Lambda does.

https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues.html
"""

from __future__ import annotations

import hashlib
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.support.awslambda.batch_answers import Handler, invoke
from tests.support.awslambda.context import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random


@dataclass
class Message:
    """A message, and how often it was received. Times are milliseconds since 1970."""

    body: str
    attributes: Mapping[str, Mapping[str, Any]]
    sent: int
    message_id: str
    received: int = 0
    first_received: int = 0
    group: str | None = None


@dataclass
class Queue:
    """Keeps messages until they are deleted. A message that was received too often moves to ``dead``.

    With ``rng`` messages arrive in random order, without it in the order they were sent. ``duplicates`` is the
    probability that a deleted message is received again: a standard queue may do that.
    """

    rng: Random | None = None
    duplicates: float = 0.0
    max_receive_count: int = 10
    name: str = "ActivityQueue"
    clock: Callable[[], float] = time.time
    dead: list[Message] = field(default_factory=list)
    most_received: int = 0
    _visible: list[Message] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._visible)

    @property
    def arn(self) -> str:
        return f"arn:aws:sqs:us-east-1:000000000000:{self.name}"

    def send(
        self,
        body: str,
        attributes: Mapping[str, Mapping[str, Any]] | None = None,
        group: str | None = None,
    ) -> str:
        """Put a message on the queue and return its id. ``attributes`` have the form of SendMessage."""
        random_id = uuid.UUID(int=self.rng.getrandbits(128), version=4) if self.rng else uuid.uuid4()
        message = Message(body, attributes or {}, round(self.clock() * 1000), str(random_id), group=group)
        self._visible.append(message)
        return message.message_id

    def receive(self, most: int) -> list[Message]:
        """Take up to ``most`` messages. Messages that were received too often move to ``dead`` instead."""
        if self.rng is not None:
            self.rng.shuffle(self._visible)
        taken: list[Message] = []
        while self._visible and len(taken) < most:
            message = self._visible.pop(0) if self.rng is None else self._visible.pop()
            if message.received >= self.max_receive_count:
                self.dead.append(message)
                continue
            message.received += 1
            message.first_received = message.first_received or round(self.clock() * 1000)
            self.most_received = max(self.most_received, message.received)
            taken.append(message)
        return taken

    def give_back(self, message: Message) -> None:
        """Make a message visible again, as SQS does after its visibility timeout."""
        self._visible.append(message)

    def delete(self, message: Message) -> None:
        """Delete a message. With probability ``duplicates`` it comes back."""
        if self.duplicates and self.rng is not None and self.rng.random() < self.duplicates:
            self._visible.append(message)


def _event_attribute(attribute: Mapping[str, Any]) -> dict[str, Any]:
    event_attribute: dict[str, Any] = {"stringListValues": [], "binaryListValues": []}
    for name, value in attribute.items():
        event_attribute[name[0].lower() + name[1:]] = value
    return event_attribute


def record_of(message: Message, arn: str) -> dict[str, Any]:
    """Return a message as a record of a Lambda event."""
    attributes = {
        "ApproximateReceiveCount": str(message.received),
        "SentTimestamp": str(message.sent),
        "SenderId": "AIDAEXAMPLE",
        "ApproximateFirstReceiveTimestamp": str(message.first_received),
    }
    if message.group is not None:
        attributes["MessageGroupId"] = message.group
    return {
        "messageId": message.message_id,
        "receiptHandle": f"{message.message_id}#{message.received}",
        "body": message.body,
        "attributes": attributes,
        "messageAttributes": {name: _event_attribute(value) for name, value in message.attributes.items()},
        "md5OfBody": hashlib.md5(message.body.encode(), usedforsecurity=False).hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": "us-east-1",
    }


@dataclass
class SqsPoller:
    """Invokes a function with batches of a queue, with ReportBatchItemFailures.

    Messages that the function reports return to the queue; the others are deleted. After an exception or an invalid
    answer all messages return. With ``rng`` the size of a batch varies up to ``batch_size``. ``errors`` keeps the
    exceptions.
    """

    handler: Handler
    queue: Queue
    batch_size: int = 10
    rng: Random | None = None
    context: Callable[[], Context] = Context
    errors: list[BaseException] = field(default_factory=list)
    invocations: int = 0

    def poll(self) -> bool:
        """Deliver one batch. Return False if the queue is empty."""
        most = self.batch_size
        if self.rng is not None and self.rng.random() < 0.5:
            most = self.rng.randint(1, self.batch_size)
        messages = self.queue.receive(most)
        if not messages:
            return False
        records = [record_of(message, self.queue.arn) for message in messages]
        self.invocations += 1
        failed = invoke(self.handler, records, self.context(), {message.message_id for message in messages})
        if isinstance(failed, BaseException):
            self.errors.append(failed)
            failed = {message.message_id for message in messages}
        for message in messages:
            if message.message_id in failed:
                self.queue.give_back(message)
            else:
                self.queue.delete(message)
        return True

    def drain(self, most: int = 100_000) -> int:
        """Deliver until the queue is empty and return the number of batches. Fail after ``most`` batches."""
        for batches in range(most):
            if not self.poll():
                return batches
        raise AssertionError(
            f"{len(self.queue)} messages are left after {most} batches; last error: {self.errors[-1:]}"
        )
