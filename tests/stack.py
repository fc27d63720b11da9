"""The three functions as they are deployed, in this process: their real handlers, with a clock of ours."""

import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock
from urllib.parse import quote, urlencode

import orjson

from standings.domain.boards import Boards
from standings.domain.definitions import parse_boards
from standings.runtime import wiring
from standings.runtime.config import BOARDS_FILE

FUNCTIONS = Path(__file__).parents[1] / "functions"
ENVIRONMENT = {
    "SCORES_TABLE": "Scores",
    "RECEIPTS_TABLE": "Receipts",
    "RANKINGS_TABLE": "Rankings",
    "DEAD_LETTER_QUEUE_URL": "https://queue.invalid/dead",
    "FAILURE_BUCKET": "failures",
}


@dataclass
class Clock:
    """A wall clock in milliseconds that stands still until it is set."""

    milliseconds: int

    def __call__(self) -> int:
        return self.milliseconds


@dataclass
class DeadLetterQueue:
    """Keeps what the writer sends to the dead-letter queue."""

    messages: list[dict[str, Any]] = field(default_factory=list)

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == ENVIRONMENT["DEAD_LETTER_QUEUE_URL"]
        self.messages.extend(Entries)
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    def reasons(self) -> list[str]:
        return [message["MessageAttributes"]["reason"]["StringValue"] for message in self.messages]


@dataclass
class Bucket:
    """Keeps what is parked."""

    objects: dict[str, bytes] = field(default_factory=dict)

    def put_object(self, Bucket: str, Key: str, Body: bytes, ContentType: str) -> None:  # noqa: N803
        assert (Bucket, ContentType) == (ENVIRONMENT["FAILURE_BUCKET"], "application/json")
        self.objects[Key] = Body


Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


@dataclass
class Stack:
    """Handlers of the functions, and what is around them."""

    clock: Clock
    dynamodb: Any
    writer: Handler
    projector: Handler
    query: Handler
    dead_letters: DeadLetterQueue
    bucket: Bucket
    projected: dict[int, int] = field(default_factory=dict)
    """How many records of each shard have been projected."""

    def get(self, path: str, **arguments: Any) -> tuple[int, dict[str, Any]]:
        """One HTTP read: the status and the JSON."""
        given = [(name, str(value)) for name, value in arguments.items() if value is not None]
        answer = self.query(http_event(path, urlencode(given, quote_via=quote)), None)
        return answer["statusCode"], orjson.loads(answer["body"])

    def entries(self, path: str, limit: int = 1000, period: str | None = None) -> list[dict[str, Any]]:
        """A whole list, read page by page."""
        found: list[dict[str, Any]] = []
        cursor = None
        while True:
            status, page = self.get(path, limit=limit, cursor=cursor, period=period)
            assert status == 200, page
            found += page["entries"]
            cursor = page["next"]
            if cursor is None:
                assert page["total"] == len(found), (path, page["total"], len(found))
                return found


def http_event(path: str, query: str = "", method: str = "GET") -> dict[str, Any]:
    """A request as API Gateway's HTTP APIs hand it over (payload format 2.0)."""
    return {
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
        "isBase64Encoded": False,
    }


@contextmanager
def running(dynamodb: Any, clock: Clock, boards: str | None = None) -> Iterator[Stack]:
    """The functions, started anew over a DynamoDB client: with the shipped boards.toml, or another text."""
    dead_letters, bucket = DeadLetterQueue(), Bucket()
    clients = {"dynamodb": dynamodb, "sqs": dead_letters, "s3": bucket}
    with ExitStack() as patches:
        patches.enter_context(mock.patch.dict(os.environ, ENVIRONMENT))
        patches.enter_context(mock.patch.object(wiring, "client", clients.__getitem__))
        patches.enter_context(mock.patch.object(wiring, "now", clock))
        patches.enter_context(mock.patch.object(wiring, "boards", return_value=_boards(boards)))
        modules = [_load(name) for name in ("writer", "projector", "query")]
        writer, projector, query = (module.handler for module in modules)
        yield Stack(clock, dynamodb, writer, projector, query, dead_letters, bucket)


def _boards(text: str | None) -> Boards:
    return parse_boards(text if text is not None else BOARDS_FILE.read_text(encoding="utf-8"))


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"standings_{name}_app", FUNCTIONS / name / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
