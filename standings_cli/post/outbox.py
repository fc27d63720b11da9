"""Sends messages to a queue, several batches at a time, until it has accepted them."""

import random
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004 - botocore's

from standings.aws.sqs import OutgoingMessage, entry, said_of
from standings_cli.stack.errors import backoff

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
    """Sends to a queue. What it does not accept is sent again, with growing random waits, a bounded number of times."""

    client: "SQSClient"
    queue_url: str
    chance: Callable[[], float] = random.random
    sleep: Callable[[float], Any] | None = None
    """Waits between attempts. The default returns early when the sending is closed."""

    _closed: threading.Event = field(default_factory=threading.Event)

    def delivered(
        self, batches: Iterable[_T], messages: Callable[[_T], Sequence[OutgoingMessage]]
    ) -> Generator[tuple[_T, dict[int, str]], None, None]:
        """Send batches, and return each in order once it and all before it are on the queue.

        With a batch come the reasons, by position, for messages that the queue will never accept. Raises NotTakenError,
        and botocore's errors that are not worth another attempt; batches returned before are on the queue.
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
        """Return the reasons, by position, for messages that the queue will never accept."""
        refused: dict[int, str] = {}
        unsent = list(range(len(messages)))
        reason = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._pause(attempt)
            entries: Any = [entry(position, messages[position]) for position in unsent]
            try:
                answer = self.client.send_message_batch(QueueUrl=self.queue_url, Entries=entries)
            except (ClientError, ConnectionError, HTTPClientError) as error:
                if not _is_temporary(error):
                    raise
                reason = str(error)
                continue
            failed = {int(failure["Id"]): failure for failure in answer.get("Failed", [])}
            faults = [position for position, failure in failed.items() if failure.get("SenderFault")]
            unsent = [
                position for position in failed if position not in faults or _is_throttled(failed[position]["Code"])
            ]
            refused |= {position: said_of(failure) for position, failure in failed.items() if position not in unsent}
            if not unsent:
                return refused
            reason = said_of(failed[unsent[0]])
        raise NotTakenError(reason)

    def _pause(self, attempt: int) -> None:
        (self.sleep or self._closed.wait)(backoff(attempt, _FIRST_RETRY_S, _MAX_RETRY_S, self.chance))
        if self._closed.is_set():
            raise NotTakenError("stopped")


def _is_temporary(error: Exception) -> bool:
    """Whether the same request may succeed later. The client itself has tried more than once already."""
    if not isinstance(error, ClientError):
        return True
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
        return True
    return _is_throttled(error.response["Error"].get("Code", ""))


def _is_throttled(code: str) -> bool:
    return "hrottl" in code or code == "OverLimit"
