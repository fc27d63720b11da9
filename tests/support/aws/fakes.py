"""AWS services in memory: the queues of SQS, the two buckets of S3, and the default bus of EventBridge."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import orjson
from botocore.exceptions import ClientError

from standings.aws.sqs import MAX_BYTES, size
from tests.support.aws.environment import ENVIRONMENT

# SQS accepts these characters in a MessageGroupId.
_GROUP = re.compile(r"[!-~]{1,128}")
# SQS rejects these characters, because XML cannot hold them.
_NO_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class DeadLetterQueue:
    """The dead-letter queue in memory. A received message is hidden for its visibility timeout."""

    clock: Callable[[], int] = lambda: 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    _attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    _hidden: dict[str, int] = field(default_factory=dict)
    _sent: int = 0

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == ENVIRONMENT["DEAD_LETTER_QUEUE_URL"]
        check_batch(Entries)
        for entry in Entries:
            self._put(entry, {})
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    def moved(self, record: dict[str, Any]) -> None:
        """Take a message that was received too often, as SQS does: it keeps the time at which it was first sent."""
        attributes = {
            name: {"DataType": value["dataType"], "StringValue": value["stringValue"]}
            for name, value in record["messageAttributes"].items()
        }
        system_attributes = {
            "DeadLetterQueueSourceArn": "arn:aws:sqs:us-east-1:000000000000:activity",
            "SentTimestamp": record["attributes"]["SentTimestamp"],
            "ApproximateReceiveCount": "10",
        }
        self._put({"MessageBody": record["body"], "MessageAttributes": attributes}, system_attributes)

    def receive_message(
        self,
        QueueUrl: str,  # noqa: N803
        MaxNumberOfMessages: int,  # noqa: N803
        VisibilityTimeout: int,  # noqa: N803
        **_: Any,
    ) -> dict[str, Any]:
        assert QueueUrl == ENVIRONMENT["DEAD_LETTER_QUEUE_URL"]
        now = self.clock()
        visible = [message for message in self.messages if self._hidden.get(message["MessageId"], 0) <= now]
        received = []
        for message in visible[:MaxNumberOfMessages]:
            message_id = message["MessageId"]
            self._hidden[message_id] = now + VisibilityTimeout * 1000
            attributes = self._attributes[message_id]
            attributes["ApproximateReceiveCount"] = str(int(attributes.get("ApproximateReceiveCount", "0")) + 1)
            received.append(
                {
                    "MessageId": message_id,
                    "ReceiptHandle": message_id,
                    "Body": message["MessageBody"],
                    "Attributes": {**attributes, **_group(message)},
                    "MessageAttributes": message["MessageAttributes"],
                }
            )
        return {"Messages": received} if received else {}

    def delete_message_batch(self, QueueUrl: str, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == ENVIRONMENT["DEAD_LETTER_QUEUE_URL"]
        deleted = {entry["ReceiptHandle"] for entry in Entries}
        self.messages[:] = [message for message in self.messages if message["MessageId"] not in deleted]
        return {}

    def change_message_visibility_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == ENVIRONMENT["DEAD_LETTER_QUEUE_URL"]
        for entry in Entries:
            self._hidden[entry["ReceiptHandle"]] = self.clock() + entry["VisibilityTimeout"] * 1000
        return {}

    def reasons(self) -> list[str]:
        return [message["MessageAttributes"]["reason"]["StringValue"] for message in self.messages]

    def _put(self, entry: dict[str, Any], system_attributes: dict[str, str]) -> None:
        self._sent += 1
        message_id = f"dead-{self._sent}"
        self.messages.append({**entry, "MessageId": message_id})
        self._attributes[message_id] = {"SentTimestamp": str(self.clock()), **system_attributes}


@dataclass
class ActivityQueue:
    """The activity queue in memory. A test can make it refuse messages."""

    clock: Callable[[], int] = lambda: 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    delivered: int = 0
    refuses: Callable[[str], bool] = lambda _: False
    """Return True for a message body that the queue refuses."""

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == ENVIRONMENT["ACTIVITY_QUEUE_URL"]
        check_batch(Entries)
        refused = [entry for entry in Entries if self.refuses(entry["MessageBody"])]
        self.messages.extend(entry for entry in Entries if entry not in refused)
        return {
            "Successful": [{"Id": entry["Id"]} for entry in Entries if entry not in refused],
            "Failed": [{"Id": entry["Id"], "Code": "ServiceUnavailable", "SenderFault": False} for entry in refused],
        }

    def records(self) -> list[dict[str, Any]]:
        """Take all messages off the queue and return them as Lambda hands them to the writer."""
        taken, self.messages = self.messages, []
        first = self.delivered
        self.delivered += len(taken)
        return [delivered(first + number, message, self.clock()) for number, message in enumerate(taken)]


def check_batch(entries: list[dict[str, Any]]) -> None:
    assert 1 <= len(entries) <= 10
    assert sum(size(entry["MessageBody"], entry["MessageAttributes"]) for entry in entries) <= MAX_BYTES
    assert all(len(entry["MessageAttributes"]) <= 10 for entry in entries)
    texts = [value.get("StringValue") for entry in entries for value in entry["MessageAttributes"].values()]
    assert not any(_NO_XML.search(text) for text in (*(entry["MessageBody"] for entry in entries), *texts) if text)
    assert all(_GROUP.fullmatch(entry.get("MessageGroupId", "none")) for entry in entries)


def _group(message: dict[str, Any]) -> dict[str, str]:
    """Return the message group as a system attribute, if the message has one."""
    return {name: message[name] for name in ("MessageGroupId",) if name in message}


def delivered(number: int, message: dict[str, Any], now: int | None = None) -> dict[str, Any]:
    """Return a sent message as Lambda hands it to the writer. Without `now` it has no times."""
    times = {} if now is None else {"SentTimestamp": str(now), "ApproximateFirstReceiveTimestamp": str(now)}
    return {
        "messageId": f"posted-{number}",
        "body": message["MessageBody"],
        "attributes": {"ApproximateReceiveCount": "1", **times, **_group(message)},
        "messageAttributes": {
            name: {"dataType": value["DataType"], "stringValue": value["StringValue"], "stringListValues": []}
            for name, value in message["MessageAttributes"].items()
        },
    }


@dataclass
class LooksQueue:
    """The queue of looks in memory: messages with the time at which they are due. `refuses` makes it refuse them."""

    clock: Callable[[], int] = lambda: 0
    messages: list[tuple[int, str]] = field(default_factory=list)
    refuses: bool = False

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == ENVIRONMENT["LOOKS_QUEUE_URL"]
        assert 1 <= len(Entries) <= 10
        assert all(0 <= entry["DelaySeconds"] <= 900 for entry in Entries)
        if self.refuses:
            return {"Failed": [{"Id": entry["Id"], "Code": "InternalError"} for entry in Entries]}
        self.messages += [(self.clock() + entry["DelaySeconds"] * 1000, entry["MessageBody"]) for entry in Entries]
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    def take(self) -> list[dict[str, Any]]:
        """Take the messages that are due, as Lambda hands them to the announcer."""
        due = [body for at, body in self.messages if at <= self.clock()]
        self.messages = [message for message in self.messages if message[0] > self.clock()]
        return [{"messageId": f"look-{number}", "body": body} for number, body in enumerate(due)]


@dataclass
class Sqs:
    """An SQS client for all queues."""

    activity: ActivityQueue
    dead_letters: DeadLetterQueue
    looks: LooksQueue = field(default_factory=LooksQueue)

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        queues: dict[str, Any] = {
            ENVIRONMENT["ACTIVITY_QUEUE_URL"]: self.activity,
            ENVIRONMENT["LOOKS_QUEUE_URL"]: self.looks,
        }
        queue = queues.get(QueueUrl, self.dead_letters)
        answer: dict[str, Any] = queue.send_message_batch(QueueUrl=QueueUrl, Entries=Entries)
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dead_letters, name)


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
