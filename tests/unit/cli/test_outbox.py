"""Batches on their way to a queue that does not accept everything at once."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from standings.aws.sqs.messages import OutgoingMessage
from standings_cli.post.outbox import MAX_WAITING, NotTakenError, Outbox

Answer = Callable[[list[dict[str, Any]]], dict[str, Any]]


class Queue:
    """Gives the answers of a test in turn, and then accepts everything."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self._answers = iter(answers)
        self._lock = threading.Lock()
        self.requests: list[list[str]] = []
        self.taken: Counter[str] = Counter()

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == "queue"
        with self._lock:
            self.requests.append([entry["MessageBody"] for entry in Entries])
            answer = next(self._answers, None)
        if isinstance(answer, Exception):
            raise answer
        response = answer(Entries) if answer else {}
        failed = {entry["Id"] for entry in response.get("Failed", [])}
        self.taken.update(entry["MessageBody"] for entry in Entries if entry["Id"] not in failed)
        return response


def fails(code: str, *positions: int, sender: bool = False) -> Answer:
    def answer(entries: list[dict[str, Any]]) -> dict[str, Any]:
        ids = {entry["Id"] for entry in entries}
        failed = [str(position) for position in positions if str(position) in ids]
        return {"Failed": [{"Id": each, "Code": code, "SenderFault": sender} for each in failed]}

    return answer


def error(code: str, status: int) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "SendMessageBatch")


def send(queue: Any, *batches: list[str], nap: Callable[[float], None] = lambda _: None) -> list[dict[int, str]]:
    outbox = Outbox(queue, "queue", chance=lambda: 1.0, sleep=nap)
    returned = list(outbox.delivered(batches, lambda batch: [OutgoingMessage(body, {}) for body in batch]))
    assert [batch for batch, _ in returned] == list(batches)
    return [refused for _, refused in returned]


def test_what_fails_is_sent_again_alone() -> None:
    queue = Queue(fails("InternalError", 0, 2), fails("InternalError", 2))
    assert send(queue, ["a", "b", "c"]) == [{}]
    assert queue.requests == [["a", "b", "c"], ["a", "c"], ["c"]]
    assert queue.taken == Counter("abc")


def test_what_the_queue_never_takes_is_told_and_holds_up_nobody() -> None:
    queue = Queue(fails("InvalidMessageContents", 1, sender=True))
    assert send(queue, ["a", "b", "c"]) == [{1: "InvalidMessageContents: "}]
    assert len(queue.requests) == 1
    queue = Queue(fails("KMS.ThrottlingException", 1, sender=True))
    assert send(queue, ["a", "b"]) == [{}]
    assert queue.taken == Counter("ab")


@pytest.mark.parametrize(
    "trouble",
    [
        error("RequestThrottled", 403),
        error("ThrottlingException", 400),
        error("Other", 429),
        error("InternalFailure", 500),
        EndpointConnectionError(endpoint_url="http://nowhere"),
    ],
)
def test_trouble_that_passes(trouble: Exception) -> None:
    naps: list[float] = []
    queue = Queue(trouble, trouble, trouble)
    assert send(queue, ["a"], nap=naps.append) == [{}]
    assert queue.taken == Counter("a")
    assert naps == [0.25, 0.5, 1.0]


@pytest.mark.parametrize("trouble", [error("AccessDenied", 403), error("QueueDoesNotExist", 400), NoCredentialsError()])
def test_trouble_that_stays_is_not_tried_again(trouble: Exception) -> None:
    queue = Queue(trouble)
    with pytest.raises(type(trouble)):
        send(queue, ["a"])
    assert len(queue.requests) == 1


def test_attempts_end() -> None:
    naps: list[float] = []
    queue = Queue(*[fails("InternalError", 0)] * 100)
    with pytest.raises(NotTakenError, match="InternalError"):
        send(queue, ["a"], nap=naps.append)
    assert len(queue.requests) == 8
    assert naps == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0]


def test_batches_come_back_in_their_order_however_they_are_taken() -> None:
    """The first is held until the outbox is full. No later batch comes back before it."""
    full = threading.Event()
    taken_up: list[str] = []

    class Slow(Queue):
        def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
            if Entries[0]["MessageBody"] == "0":
                assert full.wait(30)
            return super().send_message_batch(QueueUrl, Entries)

    def batches() -> Iterator[list[str]]:
        for number in range(3 * MAX_WAITING):
            taken_up.append(str(number))
            if number == MAX_WAITING - 1:
                full.set()
            yield [str(number)]

    queue: Any = Slow()
    outbox = Outbox(queue, "queue")
    returned = []
    for batch, _ in outbox.delivered(batches(), lambda batch: [OutgoingMessage(body, {}) for body in batch]):
        returned += batch
        assert len(taken_up) - len(returned) <= MAX_WAITING
    assert returned == taken_up


def test_nothing_is_tried_again_once_nobody_waits() -> None:
    class Half(Queue):
        def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
            if Entries[0]["MessageBody"] == "b":
                self.requests.append(["b"])
                raise error("InternalFailure", 500)
            return super().send_message_batch(QueueUrl, Entries)

    queue: Any = Half()
    outbox = Outbox(queue, "queue", sleep=lambda _: outbox._closed.wait(60))
    sending = outbox.delivered([["a"], *[["b"]] * 8], lambda batch: [OutgoingMessage(body, {}) for body in batch])
    assert next(sending) == (["a"], {})
    sending.close()
    assert queue.requests.count(["b"]) <= 8
