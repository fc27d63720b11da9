"""SQS for tests: the queue of events and the dead-letter queue, in memory."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

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
