"""AWS services in memory: the queues of SQS, the two buckets of S3, and the default bus of EventBridge."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from itertools import count
from typing import Any, Final

import orjson
from botocore.exceptions import ClientError

from standings.aws.sqs import MAX_BYTES, size
from tests.support.aws.environment import ENVIRONMENT
from tests.support.awslambda.pollers import Message, record_of

INVALID: Final = "InvalidMessageContents"
"""The code with which SQS refuses a message whose sender is at fault."""
# SQS accepts these characters in a MessageGroupId.
_GROUP = re.compile(r"[!-~]{1,128}")
# SQS rejects these characters, because XML cannot hold them.
_NO_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Queue:
    """A queue in memory. A message that was received is hidden for its visibility timeout.

    `messages` are as they were sent, with an id, the system attributes, and the time `due` at which they can be seen.
    """

    name: str
    clock: Callable[[], int] = lambda: 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    refusal: Callable[[str], str] = lambda _: ""
    """The code with which the queue refuses a message body; empty if it takes it."""
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    """Threads may send at once."""

    def put(self, entry: dict[str, Any], **system_attributes: str) -> None:
        group = {name: entry[name] for name in ("MessageGroupId",) if name in entry}
        attributes = {"SentTimestamp": str(self.clock()), **group, **system_attributes}
        due = self.clock() + entry.get("DelaySeconds", 0) * 1000
        more = {"MessageId": f"{self.name}-{next(self._numbers)}", "Attributes": attributes, "due": due}
        self.messages.append({"MessageAttributes": {}, **entry, **more})

    def moved(self, record: dict[str, Any]) -> None:
        """Take a message that was received too often, as SQS does: it keeps the time at which it was first sent."""
        attributes = {
            name: {"DataType": value["dataType"], "StringValue": value["stringValue"]}
            for name, value in record["messageAttributes"].items()
        }
        self.put(
            {"MessageBody": record["body"], "MessageAttributes": attributes},
            DeadLetterQueueSourceArn="arn:aws:sqs:us-east-1:000000000000:activity",
            SentTimestamp=record["attributes"]["SentTimestamp"],
            ApproximateReceiveCount="10",
        )

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self._check(QueueUrl)
        check_batch(Entries)
        refused = {entry["Id"]: code for entry in Entries if (code := self.refusal(entry["MessageBody"]))}
        taken = [entry for entry in Entries if entry["Id"] not in refused]
        for entry in taken:
            self.put(entry)
        return {
            "Successful": [{"Id": entry["Id"]} for entry in taken],
            "Failed": [{"Id": each, "Code": code, "SenderFault": code == INVALID} for each, code in refused.items()],
        }

    def receive_message(
        self,
        QueueUrl: str,  # noqa: N803
        MaxNumberOfMessages: int,  # noqa: N803
        VisibilityTimeout: int,  # noqa: N803
        **_: Any,
    ) -> dict[str, Any]:
        self._check(QueueUrl)
        received = []
        for message in self._visible()[:MaxNumberOfMessages]:
            message["due"] = self.clock() + VisibilityTimeout * 1000
            attributes = message["Attributes"]
            attributes["ApproximateReceiveCount"] = str(int(attributes.get("ApproximateReceiveCount", "0")) + 1)
            received.append(
                {
                    "MessageId": message["MessageId"],
                    "ReceiptHandle": message["MessageId"],
                    "Body": message["MessageBody"],
                    "Attributes": dict(attributes),
                    "MessageAttributes": message["MessageAttributes"],
                }
            )
        return {"Messages": received} if received else {}

    def delete_message_batch(self, QueueUrl: str, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
        self._check(QueueUrl)
        deleted = {entry["ReceiptHandle"] for entry in Entries}
        self.messages[:] = [message for message in self.messages if message["MessageId"] not in deleted]
        return {}

    def change_message_visibility_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self._check(QueueUrl)
        due = {entry["ReceiptHandle"]: self.clock() + entry["VisibilityTimeout"] * 1000 for entry in Entries}
        for message in self.messages:
            message["due"] = due.get(message["MessageId"], message["due"])
        return {}

    def records(self) -> list[dict[str, Any]]:
        """Take all messages that can be seen off the queue, and return them as Lambda hands them to a function."""
        taken = self._visible()
        self.messages = [message for message in self.messages if message["due"] > self.clock()]
        return [self._record(message) for message in taken]

    def reasons(self) -> list[str]:
        return [message["MessageAttributes"]["reason"]["StringValue"] for message in self.messages]

    def _visible(self) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["due"] <= self.clock()]

    def _record(self, message: dict[str, Any]) -> dict[str, Any]:
        now, attributes = self.clock(), message["Attributes"]
        group = attributes.get("MessageGroupId", "")
        of = message["MessageBody"], message["MessageAttributes"], int(attributes["SentTimestamp"])
        return record_of(Message(*of, message["MessageId"], received=1, first_received=now, group=group))

    def _check(self, url: str) -> None:
        assert url == f"https://queue.invalid/{self.name}"


def check_batch(entries: list[dict[str, Any]]) -> None:
    assert 1 <= len(entries) <= 10
    assert sum(size(entry["MessageBody"], entry.get("MessageAttributes", {})) for entry in entries) <= MAX_BYTES
    assert all(len(entry.get("MessageAttributes", {})) <= 10 for entry in entries)
    texts = [value.get("StringValue") for entry in entries for value in entry.get("MessageAttributes", {}).values()]
    assert not any(_NO_XML.search(text) for text in (*(entry["MessageBody"] for entry in entries), *texts) if text)
    assert all(_GROUP.fullmatch(entry.get("MessageGroupId", "none")) for entry in entries)
    assert all(0 <= entry.get("DelaySeconds", 0) <= 900 for entry in entries)


@dataclass
class Sqs:
    """An SQS client for all queues."""

    queues: Sequence[Queue]

    def __getattr__(self, name: str) -> Any:
        def call(QueueUrl: str, **arguments: Any) -> Any:  # noqa: N803
            (queue,) = (queue for queue in self.queues if QueueUrl.endswith(f"/{queue.name}"))
            return getattr(queue, name)(QueueUrl=QueueUrl, **arguments)

        return call


@dataclass
class Bucket:
    """The failure bucket in memory. `results` are the objects of the bucket of results."""

    clock: Callable[[], int] = lambda: 0
    objects: dict[str, bytes] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    results: dict[str, bytes] = field(default_factory=dict)

    def put_object(self, Bucket: str, Key: str, Body: bytes, ContentType: str, **condition: str) -> None:  # noqa: N803
        objects = self._objects(Bucket)
        if Bucket == ENVIRONMENT["FAILURE_BUCKET"]:
            assert ContentType == "application/json"
        if condition == {"IfNoneMatch": "*"} and Key in objects:
            raise ClientError({"Error": {"Code": "PreconditionFailed", "Message": "there is one"}}, "PutObject")
        objects[Key] = Body
        self.written[Key] = self.clock()

    def list_objects_v2(self, Bucket: str, Prefix: str, StartAfter: str, MaxKeys: int) -> dict[str, Any]:  # noqa: N803
        objects = self._objects(Bucket)
        keys = sorted(key for key in objects if key.startswith(Prefix) and key > StartAfter)[:MaxKeys]
        times = {key: datetime.fromtimestamp(self.written.get(key, 0) / 1000, UTC) for key in keys}
        return {"Contents": [{"Key": key, "LastModified": times[key]} for key in keys]} if keys else {}

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        objects = self._objects(Bucket)
        if Key not in objects:
            raise ClientError({"Error": {"Code": "NoSuchKey", "Message": "no such key"}}, "GetObject")
        return {"Body": BytesIO(objects[Key])}

    def delete_object(self, Bucket: str, Key: str) -> None:  # noqa: N803
        self._objects(Bucket).pop(Key, None)

    def _objects(self, bucket: str) -> dict[str, bytes]:
        if bucket == ENVIRONMENT["RESULTS_BUCKET"]:
            return self.results
        assert bucket == ENVIRONMENT["FAILURE_BUCKET"]
        return self.objects


@dataclass
class Functions:
    """Lambda. It keeps what is to be called later: names of functions, and their events."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def invoke(self, FunctionName: str, InvocationType: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        assert InvocationType == "Event"
        self.calls.append((FunctionName, orjson.loads(Payload)))
        return {"StatusCode": 202}


@dataclass
class Bus:
    """The default bus. `fails` says why it does not take an event, by the event's detail; None: it does."""

    events: list[dict[str, Any]] = field(default_factory=list)
    fails: Callable[[dict[str, Any]], str | None] = lambda _: None

    def put_events(self, Entries: Sequence[Mapping[str, str]]) -> dict[str, Any]:  # noqa: N803
        assert 1 <= len(Entries) <= 10
        # https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
        assert sum(len(text.encode()) for entry in Entries for text in entry.values()) <= 256 * 1024
        results: list[dict[str, str]] = []
        for entry in Entries:
            detail = orjson.loads(entry["Detail"])
            if (why := self.fails(detail)) is not None:
                results.append({"ErrorCode": why, "ErrorMessage": "as a test says"})
                continue
            results.append({"EventId": str(len(self.events))})
            self.events.append({"source": entry["Source"], "type": entry["DetailType"], **detail})
        return {"FailedEntryCount": sum("ErrorCode" in result for result in results), "Entries": results}

    def ids(self, kind: str) -> list[str]:
        """The ids of the events of a type, in the order in which they came."""
        return [event["id"] for event in self.events if event["type"] == kind]
