"""Sends messages to the queue, and waits until the rankings contain them."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import islice
from secrets import token_hex
from typing import TYPE_CHECKING

from demo.embedded.stack import Deployment
from demo.reads import Reader

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_SENDERS = 4
_BATCH = 10
_POLL_S = 0.02
STALL_S = 90.0

Count = Callable[[int, int], None]


class StalledError(Exception):
    """Nothing has changed for 90 seconds. The message has the end of the log."""


def post(deployment: Deployment, messages: Sequence[str], progress: Count) -> None:
    """Put all messages on the queue."""
    sqs = deployment.sqs()

    def send(batch: list[str]) -> int:
        entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(batch)]
        while entries:
            answer = sqs.send_message_batch(QueueUrl=deployment.queue_url, Entries=entries)  # type: ignore[arg-type]
            failed = {entry["Id"] for entry in answer.get("Failed", [])}
            entries = [entry for entry in entries if entry["Id"] in failed]
        return len(batch)

    sent = 0
    with ThreadPoolExecutor(_SENDERS) as pool:
        for count in pool.map(send, _batches(messages)):
            sent += count
            progress(sent, len(messages))


def drain(deployment: Deployment, progress: Callable[[int], None]) -> None:
    """Wait until the queue is empty and no message is in flight."""
    sqs = deployment.sqs()
    least, moved = None, time.monotonic()
    while waiting := on_queue(sqs, deployment.queue_url):
        progress(waiting)
        if least is None or waiting < least:
            least, moved = waiting, time.monotonic()
        elif time.monotonic() - moved > STALL_S:
            raise StalledError(f"{waiting} messages are still on the queue\n{deployment.complaint()}")
        time.sleep(0.25)


def on_queue(sqs: "SQSClient", queue_url: str) -> int:
    """Return the number of messages that wait or are in flight."""
    answer = sqs.get_queue_attributes(
        QueueUrl=queue_url,
        AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
    )
    return sum(int(count) for count in answer["Attributes"].values())


def lag(deployment: Deployment, timeout_s: float = STALL_S) -> float:
    """Post an event and return the seconds until its rank can be read."""
    board, member = "demo-timing", f"probe-{token_hex(4)}"
    reader = Reader(deployment.api_url, board)
    body = {
        "id": token_hex(12),
        "board": board,
        "member": member,
        "at": datetime.now(UTC).isoformat(),
        "metrics": {"points": 1},
    }
    started = time.monotonic()
    deployment.sqs().send_message(QueueUrl=deployment.queue_url, MessageBody=json.dumps(body))
    while reader.rank("all", member) is None:
        if time.monotonic() - started > timeout_s:
            raise StalledError(f"an event has not reached its ranking\n{deployment.complaint()}")
        time.sleep(_POLL_S)
    return time.monotonic() - started


def settle(deployment: Deployment) -> None:
    """Wait until the rankings contain everything that was written.

    The embedded AWS has one stream shard and projects one batch at a time. A rank may appear before its batch is done,
    but the rank of a second event shows that the first batch is.
    """
    for _ in range(2):
        lag(deployment)


def refused(deployment: Deployment) -> list[str]:
    """Return the reasons of up to ten messages in the dead-letter queue."""
    answer = deployment.sqs().receive_message(
        QueueUrl=deployment.dead_letter_queue_url,
        MaxNumberOfMessages=_BATCH,
        MessageAttributeNames=["All"],
        VisibilityTimeout=0,
    )
    return [
        f"{message['Body'][:120]}: "
        + ", ".join(value.get("StringValue", "") for value in message["MessageAttributes"].values())
        for message in answer.get("Messages", [])
    ]


def _batches(messages: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(messages)
    while batch := list(islice(rest, _BATCH)):
        yield batch
