"""Batches on their way to a queue that does not accept everything at once: how often and in which order.

What is tried again at all is in `tests/functions/client/test_posts.py`.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import EndpointConnectionError

from standings.aws.sqs import OutgoingMessage
from standings_cli.post.outbox import MAX_WAITING, SENDERS, NotTakenError, Outbox
from tests.support.aws.fakes import Queue


def outbox(refusal: Callable[[str], str], **options: Any) -> Outbox:
    """An outbox of a queue that refuses messages."""
    queue: Any = Queue("activity", refusal=refusal)
    return Outbox(queue, "https://queue.invalid/activity", **options)


def messages(batch: list[str]) -> list[OutgoingMessage]:
    return [OutgoingMessage(body, {}) for body in batch]


def test_attempts_end() -> None:
    naps, refusal = list[float](), mock.Mock(return_value="InternalError")
    with pytest.raises(NotTakenError, match="InternalError"):
        list(outbox(refusal, chance=lambda: 1.0, sleep=naps.append).delivered([["a"]], messages))
    assert refusal.mock_calls == [mock.call("a")] * 8
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

    returned = []
    sending = outbox(lambda body: "" if body != "0" or full.wait(60) else "InternalError")
    for batch, _ in sending.delivered(batches(), messages):
        returned += batch
        assert len(taken_up) - len(returned) < MAX_WAITING
    assert returned == taken_up


def test_nothing_is_tried_again_once_nobody_waits() -> None:
    """Of its eight senders one waits until the others have failed once, and wait to try again."""
    tried, all_failed = list[str](), threading.Event()

    def refusal(body: str) -> str:
        if body == "a":
            return "" if all_failed.wait(60) else "InternalError"
        tried.append(body)
        if len(tried) == SENDERS - 1:
            all_failed.set()
        raise EndpointConnectionError(endpoint_url="http://nowhere")

    others = threading.enumerate()
    trying: Outbox = outbox(refusal, sleep=lambda _: trying._closed.wait(60))
    sending = trying.delivered([["a"], *[["b"]] * SENDERS], messages)
    assert next(sending) == (["a"], {})
    sending.close()
    for sender in threading.enumerate():
        if sender not in others:
            sender.join(60)
    assert SENDERS - 1 <= len(tried) <= SENDERS
