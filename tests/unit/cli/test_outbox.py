"""Batches on their way to a queue that does not accept everything at once: how often and in which order.

What is tried again at all is in `tests/functions/client/test_posts.py`.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from standings.aws.sqs import OutgoingMessage
from standings_cli.post.outbox import MAX_WAITING, SENDERS, NotTakenError, Outbox


class Queue:
    """Takes everything, or nothing for now. `before` is called before each request."""

    def __init__(self, before: Callable[[str], Any] = lambda _: None, *, takes: bool = True) -> None:
        self._before = before
        self._takes = takes
        self.requests = 0

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == "queue"
        self._before(Entries[0]["MessageBody"])
        self.requests += 1
        left = [] if self._takes else Entries
        return {"Failed": [{"Id": entry["Id"], "Code": "InternalError", "SenderFault": False} for entry in left]}


def messages(batch: list[str]) -> list[OutgoingMessage]:
    return [OutgoingMessage(body, {}) for body in batch]


def test_attempts_end() -> None:
    naps: list[float] = []
    queue: Any = Queue(takes=False)
    with pytest.raises(NotTakenError, match="InternalError"):
        list(Outbox(queue, "queue", chance=lambda: 1.0, sleep=naps.append).delivered([["a"]], messages))
    assert queue.requests == 8
    assert naps == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0]


def test_batches_come_back_in_their_order_however_they_are_taken() -> None:
    """The first is held until the outbox is full. No later batch comes back before it."""
    full = threading.Event()
    taken_up: list[str] = []

    def batches() -> Iterator[list[str]]:
        for number in range(3 * MAX_WAITING):
            taken_up.append(str(number))
            if number == MAX_WAITING - 1:
                full.set()
            yield [str(number)]

    queue: Any = Queue(lambda body: body != "0" or full.wait(60))
    returned = []
    for batch, _ in Outbox(queue, "queue").delivered(batches(), messages):
        returned += batch
        assert len(taken_up) - len(returned) < MAX_WAITING
    assert returned == taken_up


def test_nothing_is_tried_again_once_nobody_waits() -> None:
    """Of its eight senders one waits until the others have failed once, and wait to try again."""
    tried, all_failed = list[str](), threading.Event()

    def before(body: str) -> None:
        if body == "a":
            assert all_failed.wait(60)
            return
        tried.append(body)
        if len(tried) == SENDERS - 1:
            all_failed.set()
        raise EndpointConnectionError(endpoint_url="http://nowhere")

    others = threading.enumerate()
    outbox = Outbox(Queue(before), "queue", sleep=lambda _: outbox._closed.wait(60))  # type: ignore[arg-type]
    sending = outbox.delivered([["a"], *[["b"]] * SENDERS], messages)
    assert next(sending) == (["a"], {})
    sending.close()
    for sender in threading.enumerate():
        if sender not in others:
            sender.join(60)
    assert SENDERS - 1 <= len(tried) <= SENDERS
