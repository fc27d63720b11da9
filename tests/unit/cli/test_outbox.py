"""Batches on their way to a queue that does not accept everything at once."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from standings.aws.sqs import OutgoingMessage
from standings_cli.post.outbox import MAX_WAITING, SENDERS, NotTakenError, Outbox

Answer = dict[str, Any]


class Queue:
    """Gives the answers of a test in turn, and then accepts everything. `before` is called before each request."""

    def __init__(self, *answers: Answer | Exception, before: Callable[[str], Any] = lambda _: None) -> None:
        self._answers = iter(answers)
        self._before = before
        self._lock = threading.Lock()
        self.requests: list[str] = []
        self.taken: Counter[str] = Counter()

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == "queue"
        bodies = {entry["Id"]: entry["MessageBody"] for entry in Entries}
        self._before(Entries[0]["MessageBody"])
        with self._lock:
            self.requests.append(" ".join(bodies.values()))
            answer = next(self._answers, {})
        if isinstance(answer, Exception):
            raise answer
        failed = {entry["Id"] for entry in answer.get("Failed", [])}
        self.taken.update(body for message_id, body in bodies.items() if message_id not in failed)
        return answer


def fails(code: str, *positions: int, sender: bool = False) -> Answer:
    return {"Failed": [{"Id": str(each), "Code": code, "SenderFault": sender} for each in positions]}


def error(code: str, status: int) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "SendMessageBatch")


def messages(batch: list[str]) -> list[OutgoingMessage]:
    return [OutgoingMessage(body, {}) for body in batch]


def send(queue: Any, batch: str, naps: list[float] | None = None) -> dict[int, str]:
    outbox = Outbox(queue, "queue", chance=lambda: 1.0, sleep=lambda s: naps.append(s) if naps is not None else None)
    ((_, refused),) = outbox.delivered([batch.split()], messages)
    return refused


def test_what_fails_is_sent_again_alone_and_what_is_never_taken_is_told() -> None:
    queue = Queue(fails("InternalError", 0, 2), fails("InternalError", 2))
    assert send(queue, "a b c") == {}
    assert queue.requests == ["a b c", "a c", "c"]
    assert queue.taken == Counter("abc")
    queue = Queue(fails("InvalidMessageContents", 1, sender=True))
    assert send(queue, "a b c") == {1: "InvalidMessageContents: "}
    assert queue.requests == ["a b c"]


PASSES = (
    error("RequestThrottled", 403),
    error("ThrottlingException", 400),
    error("Other", 429),
    error("InternalFailure", 500),
    EndpointConnectionError(endpoint_url="http://nowhere"),
    fails("KMS.ThrottlingException", 0, sender=True),
    fails("OverLimit", 0, sender=True),
)
STAYS = (error("AccessDenied", 403), error("QueueDoesNotExist", 499), NoCredentialsError())


@pytest.mark.parametrize("trouble", [*PASSES, *STAYS], ids=str)
def test_trouble_that_passes_is_tried_again_and_trouble_that_stays_is_not(trouble: Any) -> None:
    naps: list[float] = []
    queue = Queue(trouble, trouble, trouble)
    if trouble in STAYS:
        with pytest.raises(type(trouble)):
            send(queue, "a", naps)
        assert (queue.requests, naps) == (["a"], [])
    else:
        assert send(queue, "a", naps) == {}
        assert (queue.taken, naps) == (Counter("a"), [0.25, 0.5, 1.0])


def test_attempts_end() -> None:
    naps: list[float] = []
    queue = Queue(*[fails("InternalError", 0)] * 100)
    with pytest.raises(NotTakenError, match="InternalError"):
        send(queue, "a", naps)
    assert len(queue.requests) == 8
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

    queue: Any = Queue(before=lambda body: body != "0" or full.wait(60))
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
        raise error("InternalFailure", 500)

    others = threading.enumerate()
    outbox = Outbox(Queue(before=before), "queue", sleep=lambda _: outbox._closed.wait(60))  # type: ignore[arg-type]
    sending = outbox.delivered([["a"], *[["b"]] * SENDERS], messages)
    assert next(sending) == (["a"], {})
    sending.close()
    for sender in threading.enumerate():
        if sender not in others:
            sender.join(60)
    assert SENDERS - 1 <= len(tried) <= SENDERS
