"""Sends messages to a queue, several requests at a time, until it has accepted them."""

import random
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from standings.aws.sqs import OutgoingMessage, send_until_taken
from standings.client.sending import Sending
from standings.runtime.clock import backoff

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

_ATTEMPTS: Final = 8
_FIRST_RETRY_S: Final = 0.25
_MAX_RETRY_S: Final = 10.0
T = TypeVar("T")


class NotTakenError(Exception):
    """The queue did not accept messages after all attempts; some may be on it. The message is the last error."""


class Outgoing(NamedTuple):
    """What is sent of a thing, and the members whose order must be kept."""

    message: OutgoingMessage
    members: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Outbox:
    """Sends to a queue: `Outbox(sqs, "https://sqs…/queue").delivered(rows, outgoing_of)`. Each call needs its own.

    A message that the queue does not accept is sent up to 8 times, with growing random waits.
    """

    client: "SQSClient"
    queue_url: str
    chance: Callable[[], float] = random.random
    sleep: Callable[[float], Any] | None = None
    """Waits so many seconds between attempts. The default returns early when the generator is closed."""

    _closed: threading.Event = field(default_factory=threading.Event)

    def delivered(
        self, things: Iterable[T], outgoing: Callable[[T], Outgoing]
    ) -> Generator[list[tuple[T, str | None]], None, None]:
        """Send things, several requests at a time. Yields each, in order, once it and all before it are on the queue.

        They come in lists, as many as there are: `[(row, None), …]`. With a thing comes why the queue will never accept
        it, such as `"InvalidMessageContents: …"`. Those of one member are sent in their order. Raises NotTakenError,
        and errors of botocore that another attempt cannot help.
        """
        sending: Sending[T] = Sending(self._send)
        try:
            for thing in things:
                sending.put(thing, *outgoing(thing))
                yield from sending.results()
            yield from sending.results(until_sent=True)
        finally:
            self._closed.set()
            sending.stop()

    def _send(self, messages: Sequence[OutgoingMessage]) -> dict[int, str]:
        """Send a request. Returns the reasons, by position, for messages that the queue will never accept."""
        refused, untaken = send_until_taken(self.client, self.queue_url, messages, self._again)
        if untaken:
            raise NotTakenError("stopped" if self._closed.is_set() else next(iter(untaken.values())))
        return refused

    def _again(self, attempt: int) -> bool:
        if attempt == _ATTEMPTS:
            return False
        (self.sleep or self._closed.wait)(backoff(attempt, _FIRST_RETRY_S, _MAX_RETRY_S, self.chance))
        return not self._closed.is_set()
