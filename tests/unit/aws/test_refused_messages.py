"""Refused messages reach the dead-letter queue whole, whatever they hold."""

import json
from base64 import b64encode
from typing import Any

import pytest
from botocore.exceptions import ClientError

from standings.aws.s3 import FailureBucket
from standings.aws.sqs import MAX_BYTES, DeadLetters, Sender
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.fakes import ActivityQueue, Bucket


class Queue(ActivityQueue):
    """Counts its requests. It accepts what SQS would accept, and refuses the bodies that a test names."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.calls += 1
        return super().send_message_batch(QueueUrl, Entries)

    @property
    def reasons(self) -> list[str]:
        return [message["MessageAttributes"]["reason"]["StringValue"] for message in self.messages]


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


@pytest.fixture
def letters(queue: Queue, bucket: Bucket) -> DeadLetters:
    kept = FailureBucket(lambda: bucket, ENVIRONMENT["FAILURE_BUCKET"])  # type: ignore[arg-type, return-value]
    return DeadLetters(Sender(lambda: queue, ENVIRONMENT["ACTIVITY_QUEUE_URL"]), kept)  # type: ignore[arg-type, return-value]


def unavailable(*_: Any, **__: Any) -> Any:
    raise ClientError({"Error": {"Code": "ServiceUnavailable", "Message": "no"}}, "SendMessageBatch")


def record(number: int, body: str, attributes: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"messageId": f"id-{number}", "body": body, "messageAttributes": attributes or {}}


def test_the_body_is_unchanged_and_the_reason_is_an_attribute(letters: DeadLetters, queue: Queue) -> None:
    attributes = {
        "tenant": {"stringValue": "t1", "dataType": "String", "stringListValues": []},
        "blob": {"binaryValue": b64encode(b"\x00\x01").decode(), "dataType": "Binary"},
        "reason": {"stringValue": "an older one", "dataType": "String"},
    }

    assert letters.send([(record(1, "{broken", attributes), "why")]) == {}
    assert queue.messages == [
        {
            "Id": "0",
            "MessageBody": "{broken",
            "MessageAttributes": {
                "tenant": {"DataType": "String", "StringValue": "t1"},
                "blob": {"DataType": "Binary", "BinaryValue": b"\x00\x01"},
                "reason": {"DataType": "String", "StringValue": "why"},
            },
        }
    ]


def test_the_reason_is_cut_if_the_body_leaves_little_room(letters: DeadLetters, queue: Queue, bucket: Bucket) -> None:
    body = "x" * (MAX_BYTES - len("reason") - len("String") - 5)
    letters.send([(record(1, body), "a long reason")])

    assert queue.messages[0]["MessageBody"] == body
    assert queue.reasons[0] == "a lon"
    assert not bucket.objects


def test_large_messages_are_sent_in_several_batches(letters: DeadLetters, queue: Queue) -> None:
    letters.send([(record(n, "x" * 400_000), "why") for n in range(5)] + [(record(9, "y"), "why")] * 12)

    assert len(queue.messages) == 17
    assert queue.calls == 4


def test_messages_that_were_not_sent_are_reported(
    letters: DeadLetters, queue: Queue, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.refuses = lambda body: body == "b"
    assert list(letters.send([(record(1, "a"), "why"), (record(2, "b"), "why")])) == ["id-2"]
    queue.refuses = unavailable
    assert list(letters.send([(record(3, "c"), "why")])) == ["id-3"]
    queue.refuses = lambda _: False
    monkeypatch.setattr(bucket, "put_object", unavailable)
    assert list(letters.send([(record(4, "x" * MAX_BYTES), "why"), (record(5, "e"), "why")])) == ["id-4"]
    assert [entry["MessageBody"] for entry in queue.messages] == ["a", "e"]


def test_the_time_of_the_first_receipt_is_an_attribute(letters: DeadLetters, queue: Queue) -> None:
    def received(number: int, at: str, before: str | None) -> dict[str, Any]:
        system = {"SentTimestamp": "1", "ApproximateFirstReceiveTimestamp": at}
        attributes = {} if before is None else {"first_received": {"stringValue": before, "dataType": "Number"}}
        return {**record(number, f"{number}", attributes), "attributes": system}

    letters.send(
        [
            (received(1, "2000", None), "why"),
            (received(2, "2000", "1500"), "why"),
            (received(3, "2000", "2500"), "why"),
            (received(4, "2000", "soon"), "why"),
        ]
    )

    kept = [entry["MessageAttributes"]["first_received"]["StringValue"] for entry in queue.messages]
    assert kept == ["2000", "1500", "2000", "2000"]


def test_our_own_attributes_replace_others(letters: DeadLetters, queue: Queue) -> None:
    attributes = {f"a{n}": {"stringValue": "x", "dataType": "String"} for n in range(9)}
    attributes["at_filled_in"] = {"stringValue": "true", "dataType": "String"}
    letters.send([({**record(1, "b", attributes), "attributes": {"SentTimestamp": "7"}}, "why")])

    ours = {"at_filled_in", "reason", "first_received"}
    assert queue.messages[0]["MessageAttributes"].keys() == ours | {f"a{n}" for n in range(7)}


def test_a_body_that_sqs_does_not_take_is_stored_in_the_bucket(
    letters: DeadLetters, queue: Queue, bucket: Bucket
) -> None:
    letters.send([(record(1, "half \ud800"), "an \x00 odd reason"), (record(2, "nul \x00"), "why")])

    kept = [json.loads(bucket.objects[f"refused/id-{n}.json"])["record"]["body"] for n in (1, 2)]
    assert kept == ["half \ud800", "nul \x00"]
    assert queue.reasons[0] == "an ? odd reason"
    assert queue.messages[0]["MessageAttributes"]["kept_in"]["StringValue"] == "refused/id-1.json"


def test_a_producer_cannot_name_an_object_of_another_message(letters: DeadLetters, queue: Queue) -> None:
    attributes = {"kept_in": {"stringValue": "refused/another.json", "dataType": "String"}}
    letters.send([(record(1, "b", attributes), "why")])

    assert queue.messages[0]["MessageAttributes"].keys() == {"reason"}


def test_a_message_still_names_its_object_after_a_redrive_by_sqs(letters: DeadLetters, queue: Queue) -> None:
    letters.send([(record(1, "x" * MAX_BYTES), "why")])
    (stand_in,) = queue.messages
    attributes = {
        name: {"stringValue": value["StringValue"], "dataType": "String"}
        for name, value in stand_in["MessageAttributes"].items()
    }
    letters.send([(record(2, stand_in["MessageBody"], attributes), "no such field")])

    assert queue.messages[1]["MessageBody"] == stand_in["MessageBody"]
    assert queue.messages[1]["MessageAttributes"]["kept_in"]["StringValue"] == "refused/id-1.json"
    assert queue.reasons[1] == "no such field"
