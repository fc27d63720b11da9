"""SQS and the Lambda poller that delivers messages to the writer, as AWS documents them.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues-at-least-once-delivery.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.faults.clockwork import SECOND
from tests.support.awslambda import settings
from tests.support.awslambda.batch_answers import failed_ids
from tests.support.awslambda.queue import Message, record_of

if TYPE_CHECKING:
    from tests.faults.clockwork import Process
    from tests.faults.judge import Sent
    from tests.faults.world.world import World

VISIBILITY: Final = settings.QUEUE.visibility * SECOND
ARN: Final = "arn:aws:sqs:us-east-1:000000000000:ActivityQueue"
MAX_WRITERS: Final = 3


@dataclass(eq=False)
class Taken:
    """A batch of messages for a writer, with the first event of each id in it."""

    messages: list[Message]
    events: dict[str, Sent]


class Queue:
    """The queue of events, its dead-letter queue, and the poller that invokes writers with batches."""

    def __init__(self, world: World, most_received: int) -> None:
        self._world = world
        self._rng = world.rng
        self._most_received = most_received
        self._visible: list[Message] = []
        self._writers = 0
        self._polling = False
        self._sent = 0
        self.hidden = 0
        """The number of messages that a writer has or that wait for their visibility timeout."""

    @property
    def is_empty(self) -> bool:
        return not self._visible and not self.hidden

    def send(self, body: str) -> None:
        """Put a message into the queue."""
        self._sent += 1
        self._show(Message(body, {}, self._world.clock.now // 1000, f"message-{self._sent}"))

    def _show(self, message: Message) -> None:
        self._visible.append(message)
        self._poke()

    def _poke(self) -> None:
        if not self._polling and self._visible and self._writers < MAX_WRITERS:
            self._polling = True
            self._world.clock.at(self._world.round(self._rng.randint(200_000, 2_000_000)), self._poll)

    def _poll(self) -> None:
        self._polling = False
        taken: list[Message] = []
        most = self._rng.choice([8, 25, 60])
        self._rng.shuffle(self._visible)
        while self._visible and len(taken) < most:
            message = self._visible.pop()
            if message.received >= self._most_received:
                self._world.fault("received too often")
                self._world.people.dead_lettered(message)
                continue
            message.received += 1
            taken.append(message)
            if self._rng.random() < 0.03:
                # SQS delivers at least once: another of its servers may deliver the message again.
                self._world.fault("duplicate delivery")
                self._visible.append(message)
        taken = list({message.message_id: message for message in taken}.values())
        if taken:
            self.hidden += len(taken)
            self._writers += 1
            records = [record_of(message, ARN) for message in taken]
            events: dict[str, Sent] = {}
            for message in taken:
                sent = self._world.bodies[message.body]
                if sent.good:
                    events.setdefault(sent.id, sent)
            self._world.invoke("writer", {"Records": records}, Taken(taken, events), self._heard)
        self._poke()

    def _heard(self, process: Process, answer: Any) -> None:
        """Delete the messages of a batch, or deliver them again. A failed invocation has an error as its answer."""
        self._writers -= 1
        messages: list[Message] = process.detail.messages
        known = {message.message_id for message in messages}
        try:
            if isinstance(answer, BaseException):
                raise answer
            failed = failed_ids(answer, known)
        except BaseException:  # noqa: BLE001 - Lambda retries after any error, and `Died` is no Exception
            failed = known
            self._world.fault("batch delivered again")
        for message in messages:
            self._world.clock.after(*self._fate(message, comes_again=message.message_id in failed))
        self._poke()

    def _fate(self, message: Message, *, comes_again: bool) -> tuple[Any, ...]:
        if comes_again:
            return (VISIBILITY if self._rng.random() < 0.5 else 1_000, self._again, message)
        if self._rng.random() < 0.03:
            self._world.fault("delivered although deleted")
            return (self._rng.choice([1_000, SECOND, VISIBILITY]), self._again, message)
        return (0, self._gone)

    def _again(self, message: Message) -> None:
        self.hidden -= 1
        self._show(message)

    def _gone(self) -> None:
        self.hidden -= 1
