"""Sends messages to the queue and tells when all of them have come through to the rankings."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import islice
from secrets import token_hex

from demo.embedded.stack import Deployment
from demo.reads import Reader

_SENDERS = 4
_BATCH = 10
_LOOK_EVERY_S = 0.02
_STALL_S = 90.0

Count = Callable[[int, int], None]


class StalledError(Exception):
    """Nothing has moved for so long that nothing will; the message says what complained."""


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
    """Wait until no message is waiting or being worked on."""
    sqs = deployment.sqs()
    least, moved = None, time.monotonic()
    while True:
        answer = sqs.get_queue_attributes(
            QueueUrl=deployment.queue_url,
            AttributeNames=[
                "ApproximateNumberOfMessages",
                "ApproximateNumberOfMessagesNotVisible",
            ],
        )
        waiting = sum(int(count) for count in answer["Attributes"].values())
        if not waiting:
            return
        progress(waiting)
        if least is None or waiting < least:
            least, moved = waiting, time.monotonic()
        elif time.monotonic() - moved > _STALL_S:
            raise StalledError(f"{waiting} messages stay on the queue\n{deployment.complaint()}")
        time.sleep(0.25)


def lag(deployment: Deployment, timeout_s: float = _STALL_S) -> float:
    """Return the seconds from one event posted to its rank read."""
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
            raise StalledError(f"an event does not show in its ranking\n{deployment.complaint()}")
        time.sleep(_LOOK_EVERY_S)
    return time.monotonic() - started


def settle(deployment: Deployment) -> None:
    """Wait until all that was written has come through to the rankings.

    The embedded AWS has one stream shard and works on one batch of it at a time: a rank that
    shows can be ahead of its batch, but the next one's shows that the batch is through.
    """
    for _ in range(2):
        lag(deployment)


def refused(deployment: Deployment) -> list[str]:
    """Return why messages went to the dead-letter queue, those that one look finds."""
    answer = deployment.sqs().receive_message(
        QueueUrl=deployment.dead_letter_queue_url,
        MaxNumberOfMessages=_BATCH,
        MessageAttributeNames=["All"],
        VisibilityTimeout=0,
    )
    return [
        f"{found['Body'][:120]}: "
        + ", ".join(value.get("StringValue", "") for value in found["MessageAttributes"].values())
        for found in answer.get("Messages", [])
    ]


def _batches(messages: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(messages)
    while batch := list(islice(rest, _BATCH)):
        yield batch
