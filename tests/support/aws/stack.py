"""Runs the deployed functions in the test process: the real handlers, with a clock that tests set."""

import importlib.util
import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock
from urllib.parse import quote, urlencode

import orjson
from botocore.exceptions import ClientError

from standings.aws.sqs.sender import MAX_BYTES, size
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Boards
from standings.runtime.environment import BOARDS_FILE
from standings.wiring import building_blocks

FUNCTIONS = Path(__file__).parents[3] / "functions"
ENVIRONMENT = {
    "SCORES_TABLE": "Scores",
    "RECEIPTS_TABLE": "Receipts",
    "RANKINGS_TABLE": "Rankings",
    "ACTIVITY_QUEUE_URL": "https://queue.invalid/activity",
    "DEAD_LETTER_QUEUE_URL": "https://queue.invalid/dead",
    "FAILURE_BUCKET": "failures",
}

# The command function's routes in template.yaml. The query function gets all other requests.
_ROUTES_TO_COMMAND = re.compile(r"POST /events|(PUT|DELETE) /boards/[^/]+/member")
# SQS accepts these characters in a MessageGroupId.
_GROUP = re.compile(r"[!-~]{1,128}")
# SQS rejects these characters, because XML cannot hold them.
_NO_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class ManualClock:
    """A wall clock in milliseconds, and the same time in seconds as a monotonic clock.

    Time passes only when code sleeps or a test sets the clock.
    """

    milliseconds: int

    def __call__(self) -> int:
        return self.milliseconds

    def monotonic(self) -> float:
        return self.milliseconds / 1000

    def sleep(self, seconds: float) -> None:
        self.milliseconds += max(1, round(seconds * 1000))


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
    """Assert that SQS would accept a batch."""
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
class Sqs:
    """An SQS client for both queues."""

    activity: ActivityQueue
    dead_letters: DeadLetterQueue

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        queue = self.activity if QueueUrl == ENVIRONMENT["ACTIVITY_QUEUE_URL"] else self.dead_letters
        return queue.send_message_batch(QueueUrl=QueueUrl, Entries=Entries)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dead_letters, name)


@dataclass
class Bucket:
    """The failure bucket in memory."""

    clock: Callable[[], int] = lambda: 0
    objects: dict[str, bytes] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)

    def put_object(self, Bucket: str, Key: str, Body: bytes, ContentType: str) -> None:  # noqa: N803
        assert (Bucket, ContentType) == (ENVIRONMENT["FAILURE_BUCKET"], "application/json")
        self.objects[Key] = Body
        self.written[Key] = self.clock()

    def list_objects_v2(self, Bucket: str, Prefix: str, StartAfter: str, MaxKeys: int) -> dict[str, Any]:  # noqa: N803
        assert Bucket == ENVIRONMENT["FAILURE_BUCKET"]
        keys = sorted(key for key in self.objects if key.startswith(Prefix) and key > StartAfter)[:MaxKeys]
        times = {key: datetime.fromtimestamp(self.written.get(key, 0) / 1000, UTC) for key in keys}
        return {"Contents": [{"Key": key, "LastModified": times[key]} for key in keys]} if keys else {}

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        assert Bucket == ENVIRONMENT["FAILURE_BUCKET"]
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "NoSuchKey", "Message": "no such key"}}, "GetObject")
        return {"Body": BytesIO(self.objects[Key])}

    def delete_object(self, Bucket: str, Key: str) -> None:  # noqa: N803
        assert Bucket == ENVIRONMENT["FAILURE_BUCKET"]
        self.objects.pop(Key, None)


Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


@dataclass
class Stack:
    """The handlers of the functions, with their clock, their database client, their queues and their bucket."""

    clock: ManualClock
    dynamodb: Any
    writer: Handler
    projector: Handler
    query: Handler
    command: Handler
    maintenance: Handler
    activity: ActivityQueue
    dead_letters: DeadLetterQueue
    bucket: Bucket
    projected: dict[int, int] = field(default_factory=dict)
    """How many records of each stream shard the projector has received, by shard."""

    def get(self, path: str, **arguments: Any) -> tuple[int, dict[str, Any]]:
        """Send a GET request. Return the status and the JSON."""
        answer = self.query(http_event(path, _query(arguments)), None)
        return answer["statusCode"], orjson.loads(answer["body"])

    def post(self, path: str, body: Any, **arguments: Any) -> tuple[int, Any]:
        """Send a POST request, like `get`. A body that is neither text nor bytes is sent as JSON."""
        return self._write("POST", path, body, arguments)

    def put(self, path: str, body: Any = None, **arguments: Any) -> tuple[int, Any]:
        """Send a PUT request, like `post`. None means no body."""
        return self._write("PUT", path, body, arguments)

    def delete(self, path: str, **arguments: Any) -> tuple[int, Any]:
        """Send a DELETE request, like `post`."""
        return self._write("DELETE", path, None, arguments)

    def _write(self, method: str, path: str, body: Any, arguments: Mapping[str, Any]) -> tuple[int, Any]:
        function = self.command if _ROUTES_TO_COMMAND.fullmatch(f"{method} {path}") else self.query
        answer = function(http_event(path, _query(arguments), method, body), None)
        return answer["statusCode"], orjson.loads(answer["body"]) if answer["body"] else None

    def entries(self, path: str, limit: int = 1000, period: str | None = None) -> list[dict[str, Any]]:
        """Read a whole list page by page and return its entries."""
        entries: list[dict[str, Any]] = []
        cursor = None
        while True:
            status, page = self.get(path, limit=limit, cursor=cursor, period=period)
            assert status == 200, page
            entries += page["entries"]
            cursor = page["next"]
            if cursor is None:
                assert page["total"] == len(entries), (path, page["total"], len(entries))
                return entries


def http_event(path: str, query: str = "", method: str = "GET", body: Any = None) -> dict[str, Any]:
    """Return a request as API Gateway passes it to a function (payload format 2.0). Bytes are sent in base64."""
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {"host": "api.invalid"},
        "requestContext": {
            "http": {"method": method, "path": path, "sourceIp": "127.0.0.1"},
            "stage": "$default",
            "requestId": "r",
        },
        "isBase64Encoded": isinstance(body, bytes),
    }
    if isinstance(body, bytes):
        event["body"] = b64encode(body).decode()
    elif body is not None:
        event["body"] = body if isinstance(body, str) else orjson.dumps(body).decode()
    return event


def _query(arguments: Mapping[str, Any]) -> str:
    return urlencode({name: value for name, value in arguments.items() if value is not None}, quote_via=quote)


@contextmanager
def running(dynamodb: Any, clock: ManualClock, boards: str | None = None) -> Iterator[Stack]:
    """Start the functions over a DynamoDB client. `boards` is the text of boards.toml; None means the shipped file."""
    activity, dead_letters, bucket = ActivityQueue(clock), DeadLetterQueue(clock), Bucket(clock)
    clients = {"dynamodb": dynamodb, "sqs": Sqs(activity, dead_letters), "s3": bucket}
    with ExitStack() as patches:
        patches.enter_context(mock.patch.dict(os.environ, ENVIRONMENT))
        patches.enter_context(mock.patch.object(building_blocks, "client", clients.__getitem__))
        patches.enter_context(mock.patch.object(building_blocks, "now", clock))
        patches.enter_context(mock.patch.object(building_blocks, "boards", return_value=_boards(boards)))
        modules = [_load(name) for name in ("writer", "projector", "query", "command", "maintenance")]
        writer, projector, query, command, maintenance = (module.handler for module in modules)
        yield Stack(clock, dynamodb, writer, projector, query, command, maintenance, activity, dead_letters, bucket)


def _boards(text: str | None) -> Boards:
    return parse_boards(text if text is not None else BOARDS_FILE.read_text(encoding="utf-8"))


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"standings_{name}_app", FUNCTIONS / name / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
