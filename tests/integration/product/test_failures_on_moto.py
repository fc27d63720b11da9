"""Dead letters and parked objects on moto's SQS and S3, page by page."""

import json
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from standings.aws.s3 import FailureBucket
from standings.aws.sqs import MAX_BYTES, DeadLetterQueue, DeadLetters, Sender
from standings.maintain.failures import DeadLetterTasks, Selection
from tests.support.aws.stack import ManualClock
from tests.support.builders.maintenance import clock_of, soon


class Queues:
    """A queue of events with its dead-letter queue, and the failure bucket."""

    def __init__(self) -> None:
        self.sqs: Any = boto3.client("sqs", region_name="us-east-1")
        self.s3: Any = boto3.client("s3", region_name="us-east-1")
        self.s3.create_bucket(Bucket="failures")
        self.dead = self.sqs.create_queue(QueueName="dead")["QueueUrl"]
        arn = self.sqs.get_queue_attributes(QueueUrl=self.dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
        self.activity = self.sqs.create_queue(QueueName="activity", Attributes={"RedrivePolicy": policy})["QueueUrl"]
        self.bucket = FailureBucket(lambda: self.s3, "failures")
        self.letters = DeadLetters(Sender(lambda: self.sqs, self.dead), self.bucket)
        activity = Sender(lambda: self.sqs, self.activity)
        queue = DeadLetterQueue(lambda: self.sqs, self.dead, activity, self.bucket)
        # moto gives messages the time of the real clock. Deadlines use the clock of the test.
        self.clock = ManualClock(0)
        self.care = DeadLetterTasks(queue, replace(clock_of(self.clock), now=lambda: time.time_ns() // 1_000_000))

    def refuse(
        self, number: int, body: str, why: str = "why", attributes: dict[str, Any] | None = None, group: str = ""
    ) -> None:
        own = {"ApproximateFirstReceiveTimestamp": str(time.time_ns() // 1_000_000 - 60_000)}
        own |= {"MessageGroupId": group} if group else {}
        record = {"messageId": f"id-{number}", "body": body, "attributes": own, "messageAttributes": attributes or {}}
        assert self.letters.send([(record, why)]) == {}

    def received(self, queue: str, **options: Any) -> list[dict[str, Any]]:
        names = {"MessageAttributeNames": ["All"], "MessageSystemAttributeNames": ["All"]}
        answer = self.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, **names, **options)
        return list(answer.get("Messages", ()))

    def replayed(self) -> list[dict[str, Any]]:
        """All messages in the queue of events."""
        messages: list[dict[str, Any]] = []
        while page := self.received(self.activity):
            messages += page
        return messages


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[Queues]:
    monkeypatch.setattr("standings.aws.sqs.WAIT", 0)
    with mock_aws():
        yield Queues()


def test_a_queue_is_listed_and_replayed_page_by_page(queues: Queues) -> None:
    for number in range(37):
        filled: dict[str, Any] = {"at_filled_in": {"dataType": "String", "stringValue": "true"}} if number % 2 else {}
        body = json.dumps({"id": str(number), "board": "even" if number % 2 == 0 else "odd", "text": "用户"})
        queues.refuse(number, body, f"why {number % 3}", filled)
    for _ in range(2):
        listed = queues.care.list(soon(queues.clock), limit=1000)
        assert (listed["done"], listed["seen"], len(listed["messages"])) == (True, 37, 37)
        assert {one["reason"]: one["messages"] for one in listed["reasons"]} == {"why 0": 13, "why 1": 12, "why 2": 12}
        assert {one["event"] for one in listed["messages"]} == {str(number) for number in range(37)}

    some = queues.care.replay(soon(queues.clock), chosen=Selection(board="even"))
    assert (some["replayed"], some["not_chosen"]) == (19, 18)
    messages = queues.replayed()
    assert {json.loads(one["Body"])["id"] for one in messages} == {str(number) for number in range(0, 37, 2)}
    assert all(one["MessageAttributes"].keys() == {"first_received"} for one in messages)
    rest = queues.care.replay(soon(queues.clock))
    assert rest["replayed"] == 18
    assert all(one["MessageAttributes"].keys() == {"first_received", "at_filled_in"} for one in queues.replayed())


def test_a_message_comes_back_with_its_group_also_from_the_bucket(queues: Queues) -> None:
    # Beside it there is room for the time attribute only.
    large = "x" * (MAX_BYTES - 33)
    for number, (body, group) in enumerate((("{", "board-1"), ("{}", None), (large, "board-3")), start=1):
        queues.refuse(number, body, group=group or "")
    listed = queues.care.list(soon(queues.clock))["messages"]
    assert [one["size"] for one in listed if one["kept_in"] == "refused/id-3.json"] == [len(large)]
    assert queues.bucket.content("refused/id-3.json") is not None
    assert queues.care.replay(soon(queues.clock))["replayed"] == 3
    assert queues.bucket.content("refused/id-3.json") is None

    groups = {one["Body"]: one["Attributes"].get("MessageGroupId") for one in queues.replayed()}
    assert groups == {"{": "board-1", "{}": None, large: "board-3"}


def test_attributes_stay_but_for_those_of_a_refusal_and_those_beyond_ten(queues: Queues) -> None:
    text = {"dataType": "String", "stringValue": "true"}
    blob = {"dataType": "Binary", "binaryValue": b64encode(b"\x00\x01").decode()}
    others = {f"a{number}": text for number in range(9)}
    ours = {"reason": text, "kept_in": text, "first_received": text}
    queues.refuse(1, "{", "why \x00", {**ours, "blob": blob, **others, "at_filled_in": text})
    (refused,) = queues.received(queues.dead, VisibilityTimeout=0)

    found = refused["MessageAttributes"]
    assert found.keys() == {"at_filled_in", "reason", "first_received", "blob", *(f"a{number}" for number in range(6))}
    assert (found["reason"]["StringValue"], found["blob"]["BinaryValue"]) == ("why ?", b"\x00\x01")


def test_a_message_still_names_its_object_after_a_redrive_by_sqs(queues: Queues) -> None:
    queues.refuse(1, "x" * MAX_BYTES)
    (kept,) = queues.received(queues.dead, VisibilityTimeout=0)
    attributes = {
        name: {"dataType": value["DataType"], "stringValue": value["StringValue"]}
        for name, value in kept["MessageAttributes"].items()
    }
    queues.refuse(2, kept["Body"], "no such field", attributes)

    listed = queues.care.list(soon(queues.clock))["messages"]
    assert {one["kept_in"] for one in listed} == {"refused/id-1.json"}
    assert [one["reason"] for one in listed] == ["why", "no such field"]
