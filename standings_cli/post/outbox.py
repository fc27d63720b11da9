"""Sends messages to a queue, several batches at a time, until it has taken them."""

import random
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004 - botocore's

from standings.aws.sqs.sender import OutgoingMessage, entry, said_of

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

SENDERS: Final = 8
MAX_WAITING: Final = 64
"""Batches that may be on their way, or be taken and wait for an earlier one that is not."""

_ATTEMPTS: Final = 8
_MAX_NAP_S_LENGTH: Final = 10.0
_SERVER_FAULT: Final = 500
_TOO_MANY: Final = 429
_T = TypeVar("_T")


class NotTakenError(Exception):
    """Messages that the queue has not taken after all attempts; they may be on it all the same. Says why."""


@dataclass(frozen=True, slots=True)
class Outbox:
    """The way to a queue. What it does not take just now is sent again, later and later, and not for ever."""

    client: "SQSClient"
    queue_url: str
    chance: Callable[[], float] = random.random
    nap: Callable[[float], Any] | None = None
    """What waits between attempts: it may return early once all is over; by default it does."""

    _over: threading.Event = field(default_factory=threading.Event)

    def delivered(
        self, batches: Iterable[_T], messages: Callable[[_T], Sequence[OutgoingMessage]]
    ) -> Generator[tuple[_T, dict[int, str]], None, None]:
        """Send batches; each comes back in its order, once all of it and of those before it is on the queue.

        With it comes why, by position, for messages that the queue will never take. Raises NotTakenError, and errors of
        botocore that another attempt would not mend; what came back before then is on the queue.
        """
        waiting: deque[tuple[_T, Future[dict[int, str]]]] = deque()
        with ThreadPoolExecutor(SENDERS) as pool:
            try:
                for batch in batches:
                    waiting.append((batch, pool.submit(self._send, messages(batch))))
                    while waiting and (len(waiting) >= MAX_WAITING or waiting[0][1].done()):
                        yield _first(waiting)
                while waiting:
                    yield _first(waiting)
            finally:
                self._over.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def _send(self, messages: Sequence[OutgoingMessage]) -> dict[int, str]:
        """Why, by position, for messages that the queue will never take."""
        refused: dict[int, str] = {}
        left = list(range(len(messages)))
        why = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._pause(attempt)
            entries: Any = [entry(position, messages[position]) for position in left]
            try:
                answer = self.client.send_message_batch(QueueUrl=self.queue_url, Entries=entries)
            except (ClientError, ConnectionError, HTTPClientError) as error:
                if not _passes(error):
                    raise
                why = str(error)
                continue
            failed = {int(said["Id"]): said for said in answer.get("Failed", [])}
            refused |= {position: said_of(said) for position, said in failed.items() if not _for_now(said)}
            left = [position for position, said in failed.items() if _for_now(said)]
            if not left:
                return refused
            why = said_of(failed[left[0]])
        raise NotTakenError(why)

    def _pause(self, attempt: int) -> None:
        seconds = min(2.0 ** (attempt - 3), _MAX_NAP_S_LENGTH) * (0.5 + self.chance() / 2)
        (self.nap or self._over.wait)(seconds)
        if self._over.is_set():
            raise NotTakenError("stopped")


def _first(waiting: deque[tuple[_T, Future[dict[int, str]]]]) -> tuple[_T, dict[int, str]]:
    batch, sent = waiting.popleft()
    return batch, sent.result()


def _passes(error: Exception) -> bool:
    """Whether the same request may do later; the client itself has tried more than once already."""
    if not isinstance(error, ClientError):
        return True
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= _SERVER_FAULT or status == _TOO_MANY or _is_throttled(error.response["Error"].get("Code", ""))


def _for_now(failed: Any) -> bool:
    return not failed.get("SenderFault") or _is_throttled(failed["Code"])


def _is_throttled(code: str) -> bool:
    return "hrottl" in code or code == "OverLimit"
