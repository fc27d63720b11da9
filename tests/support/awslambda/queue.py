"""A standard SQS queue in memory, and Lambda's poller of it.

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
    """A message and how often it was received."""

    body: str
    attributes: Mapping[str, Mapping[str, Any]]
    sent: int
    message_id: str
    received: int = 0
    first_received: int = 0
    group: str | None = None


@dataclass
class Queue:
    """Keeps messages until they are deleted, and those received too often in ``dead``.

    With ``rng`` messages come in any order, without it in the order they were sent.
    ``duplicates`` is the chance that a message stays to be received again although it was
    deleted, as a standard queue may let it.
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
        """Put a message on the queue; ``attributes`` as SendMessage takes them. Returns its id."""
        random_id = uuid.UUID(int=self.rng.getrandbits(128), version=4) if self.rng else uuid.uuid4()
        message = Message(body, attributes or {}, round(self.clock() * 1000), str(random_id), group=group)
        self._visible.append(message)
        return message.message_id

    def receive(self, most: int) -> list[Message]:
        """Take up to ``most`` messages; those that were taken too often go to ``dead`` instead."""
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
        """Make a message visible again, as when its visibility timeout has passed."""
        self._visible.append(message)

    def delete(self, message: Message) -> None:
        """Forget a message, or, being a standard queue, perhaps not."""
        if self.duplicates and self.rng is not None and self.rng.random() < self.duplicates:
            self._visible.append(message)


def _event_attribute(attribute: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {"stringListValues": [], "binaryListValues": []}
    for name, value in attribute.items():
        shown[name[0].lower() + name[1:]] = value
    return shown


def record_of(message: Message, arn: str) -> dict[str, Any]:
    """Return a message as it stands in a Lambda event."""
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

    Messages that the function does not report are deleted, the others come back; after an
    exception or an answer that makes no sense all do. With ``rng`` batches are of any size up
    to ``batch_size``. What went wrong is kept in ``errors``.
    """

    handler: Handler
    queue: Queue
    batch_size: int = 10
    rng: Random | None = None
    context: Callable[[], Context] = Context
    errors: list[BaseException] = field(default_factory=list)
    invocations: int = 0

    def poll(self) -> bool:
        """Deliver one batch; false if there was none."""
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
        """Deliver until the queue is empty and return in how many batches; fail beyond ``most``."""
        for batches in range(most):
            if not self.poll():
                return batches
        raise AssertionError(f"{len(self.queue)} messages are left after {most} batches; {self.errors[-1:]}")
