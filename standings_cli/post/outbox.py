"""Sends messages to a queue, several batches at a time, until it has accepted them."""

import random
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from standings.aws.sqs import OutgoingMessage, send_until_taken
from standings.runtime.clock import backoff

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

SENDERS: Final = 8
MAX_WAITING: Final = 64  # batches that are being sent, or were accepted and wait for an earlier one
_ATTEMPTS: Final = 8
_FIRST_RETRY_S: Final = 0.25
_MAX_RETRY_S: Final = 10.0
_T = TypeVar("_T")


class NotTakenError(Exception):
    """The queue did not accept messages after all attempts; some may be on it. The message is the last error."""


@dataclass(frozen=True, slots=True)
class Outbox:
    """Sends to a queue: `Outbox(sqs, "https://sqs…/queue").delivered(batches, list)`. Each call needs its own.

    A message that the queue does not accept is sent up to 8 times, with growing random waits.
    """

    client: "SQSClient"
    queue_url: str
    chance: Callable[[], float] = random.random
    sleep: Callable[[float], Any] | None = None
    """Waits so many seconds between attempts. The default returns early when the generator is closed."""

    _closed: threading.Event = field(default_factory=threading.Event)

    def delivered(
        self, batches: Iterable[_T], messages: Callable[[_T], Sequence[OutgoingMessage]]
    ) -> Generator[tuple[_T, dict[int, str]], None, None]:
        """Send batches, several at a time. Yields each, in order, once it and all before it are on the queue.

        `messages` returns the messages of a batch. With a batch come the reasons for messages that the queue will never
        accept, by their position in it: `(batch, {2: "InvalidMessageContents: …"})`. Raises NotTakenError, and errors
        of botocore that another attempt cannot help.
        """
        waiting: deque[tuple[_T, Future[dict[int, str]]]] = deque()
        with ThreadPoolExecutor(SENDERS) as pool:
            try:
                for batch in batches:
                    waiting.append((batch, pool.submit(self._send, messages(batch))))
                    while waiting and (len(waiting) >= MAX_WAITING or waiting[0][1].done()):
                        first, sent = waiting.popleft()
                        yield first, sent.result()
                for first, sent in waiting:
                    yield first, sent.result()
            finally:
                self._closed.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def _send(self, messages: Sequence[OutgoingMessage]) -> dict[int, str]:
        """Send a batch. Returns the reasons, by position, for messages that the queue will never accept."""
        refused, untaken = send_until_taken(self.client, self.queue_url, messages, self._again)
        if untaken:
            raise NotTakenError("stopped" if self._closed.is_set() else next(iter(untaken.values())))
        return refused

    def _again(self, attempt: int) -> bool:
        if attempt == _ATTEMPTS:
            return False
        (self.sleep or self._closed.wait)(backoff(attempt, _FIRST_RETRY_S, _MAX_RETRY_S, self.chance))
        return not self._closed.is_set()
