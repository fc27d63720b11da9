"""Runs the deployed functions in the test process: the real handlers, with a clock that tests set.

For tests that are about something else, events go through them in order, each once and at once.
"""

import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock
from urllib.parse import quote, urlencode

import orjson

from standings.domain import windows
from standings.domain.boards import Boards
from standings.domain.boards_toml import parse_boards
from standings.rankings import reading
from standings.runtime.environment import BOARDS_FILE
from standings.wiring import building_blocks, rankings
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.fakes import Bucket, Bus, Functions, Queue, Sqs
from tests.support.awslambda.pollers import Context

FUNCTIONS = Path(__file__).parents[3] / "functions"

# The command function's routes in template.yaml. The query function gets all other requests.
_ROUTES_TO_COMMAND = re.compile(
    r"(POST|GET|HEAD) /events|(PUT|DELETE) (/boards/[^/]+/member|/members)|DELETE /boards/[^/]+"
)


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


Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def _no_function(event: dict[str, Any], context: Any) -> dict[str, Any]:
    raise AssertionError(f"this stack has no such function for {event}, {context}")


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
    activity: Queue
    dead_letters: Queue
    bucket: Bucket
    bus: Bus = field(default_factory=Bus)
    announcer: Handler = _no_function
    looks: Queue = field(default_factory=lambda: Queue("looks"))
    later: Functions = field(default_factory=Functions)
    projected: dict[int, int] = field(default_factory=dict)
    """How many records of each stream shard the projector has received, by shard."""

    def get(self, path: str, **arguments: Any) -> tuple[int, dict[str, Any]]:
        return self._ask("GET", path, None, arguments)

    def post(self, path: str, body: Any, **arguments: Any) -> tuple[int, Any]:
        """Send a POST request, like `get`. A body that is neither text nor bytes is sent as JSON."""
        return self._ask("POST", path, body, arguments)

    def put(self, path: str, body: Any = None, **arguments: Any) -> tuple[int, Any]:
        """Send a PUT request, like `post`. None means no body."""
        return self._ask("PUT", path, body, arguments)

    def delete(self, path: str, **arguments: Any) -> tuple[int, Any]:
        return self._ask("DELETE", path, None, arguments)

    def function(self, method: str, path: str) -> Handler:
        """The function that a route of the API leads to."""
        if (method, path) == ("POST", "/tasks"):
            return self.maintenance
        return self.command if _ROUTES_TO_COMMAND.fullmatch(f"{method} {path}") else self.query

    def _ask(self, method: str, path: str, body: Any, arguments: Mapping[str, Any]) -> tuple[int, Any]:
        query = {name: value for name, value in arguments.items() if value is not None}
        answer = self.function(method, path)(http_event(path, urlencode(query, quote_via=quote), method, body), None)
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


def url_event(path: str, query: str = "", method: str = "GET", body: Any = None) -> dict[str, Any]:
    """Return the same request as a function URL passes it to a function: the path is encoded, and the host is its own.

    `headers` are those of a signed request.
    """
    event, domain = http_event(path, query, method, body), f"{URL_ID}.lambda-url.eu-central-1.on.aws"
    encoded = quote(path, safe="/")
    event["requestContext"] |= {
        "accountId": "123456789012",
        "apiId": URL_ID,
        "authorizer": {"iam": {"accountId": "111122223333", "callerId": "AIDA", "userArn": "arn:aws:iam::1:user/u"}},
        "domainName": domain,
        "domainPrefix": URL_ID,
        "http": {**event["requestContext"]["http"], "path": encoded},
        "routeKey": "$default",
    }
    return {**event, "rawPath": encoded, "headers": {"host": domain, "x-amz-date": "20261121T101500Z"}}


URL_ID = "a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6"


class OneThread(Executor):
    """In place of a pool of threads: each call runs when it is given, so every run sends the same requests."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Take what a pool of threads takes."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(call(*args, **named))
        except Exception as error:  # noqa: BLE001 - whoever asks for the result gets it
            done.set_exception(error)
        return done

    def map(self, call: Callable[..., Any], *many: Any, **_: Any) -> Iterator[Any]:  # type: ignore[override]
        done = [self.submit(call, *each) for each in zip(*many, strict=True)]
        return (each.result() for each in done)


@contextmanager
def running(dynamodb: Any, clock: ManualClock, boards: str | None = None) -> Iterator[Stack]:
    """Start the functions over a DynamoDB client. `boards` is the text of boards.toml; None means the shipped file."""
    queues = activity, dead_letters, looks = [Queue(name, clock) for name in ("activity", "dead", "looks")]
    bucket, bus, later = Bucket(clock), Bus(), Functions()
    clients = {"dynamodb": dynamodb, "sqs": Sqs(queues), "s3": bucket, "events": bus, "lambda": later}
    with ExitStack() as patches:
        patches.enter_context(mock.patch.dict(os.environ, ENVIRONMENT))
        patches.enter_context(mock.patch.object(building_blocks, "client", clients.__getitem__))
        patches.enter_context(mock.patch.object(building_blocks, "now", clock))
        for module in (reading, rankings):
            patches.enter_context(mock.patch.object(module, "ThreadPoolExecutor", OneThread))
        text = boards if boards is not None else BOARDS_FILE.read_text(encoding="utf-8")
        parsed = _parsed(text, vars(windows)["time_zone"])
        patches.enter_context(mock.patch.object(building_blocks, "boards", return_value=parsed))
        modules = map(_load, ("writer", "projector", "query", "command", "maintenance"))
        writer, projector, query, command, maintenance = (module.handler for module in modules)
        # As in the template, a stack without the queue of looks has no announcer.
        announcer = _load("announcer").handler if "LOOKS_QUEUE_URL" in os.environ else _no_function
        fakes = activity, dead_letters, bucket, bus, announcer, looks, later
        yield Stack(clock, dynamodb, writer, projector, query, command, maintenance, *fakes)


@cache
def _parsed(text: str, _zones: object) -> Boards:
    """The boards of a text, read once for each source of zones: a test may have older ones."""
    return parse_boards(text)


def _load(name: str) -> ModuleType:
    loader = _Loader(f"standings_{name}_app", str(FUNCTIONS / name / "app.py"))
    module = ModuleType(loader.name)
    module.__file__ = loader.path
    loader.exec_module(module)
    return module


class _Loader(SourceFileLoader):
    """Reads a program once. Each stack runs it in a module of its own."""

    get_code = cache(SourceFileLoader.get_code)  # loaders of one path are equal


# ---- events through the functions


BATCH = 100


def event(member: str, points: Any) -> dict[str, Any]:
    """An event of a member of the board `b`, once for each amount."""
    return {
        "id": f"{member}-{points}",
        "board": "b",
        "member": member,
        "at": "2026-11-21T10:00:00Z",
        "metrics": {"points": points},
    }


def deliver(stack: Stack, events: Sequence[dict[str, Any]]) -> None:
    """Give events to the writer. It may refuse some, but no message may come back."""
    for start in range(0, len(events), BATCH):
        records = [
            {"messageId": str(number), "body": orjson.dumps(event).decode(), "messageAttributes": {}}
            for number, event in enumerate(events[start : start + BATCH])
        ]
        assert stack.writer({"Records": records}, Context()) == {"batchItemFailures": []}


def write(stack: Stack, events: Sequence[dict[str, Any]]) -> None:
    """Write events; every one must be accepted."""
    deliver(stack, events)
    assert stack.dead_letters.reasons() == []


def apply(stack: Stack, events: Sequence[dict[str, Any]]) -> None:
    """Write and project events; every one must be accepted."""
    write(stack, events)
    project(stack)


def project(stack: Stack) -> None:
    """Project what the engine's stream has that was not projected yet."""
    for number, shard in enumerate(stack.dynamodb.stream("Scores")):
        done = stack.projected.get(number, 0)
        for start in range(done, len(shard), BATCH):
            batch = shard[start : start + BATCH]
            assert stack.projector({"Records": batch}, Context()) == {"batchItemFailures": []}
        stack.projected[number] = len(shard)


def count(stack: Stack) -> None:
    """Write and project what is on the queue of events."""
    while records := stack.activity.records():
        assert stack.writer({"Records": records}, Context()) == {"batchItemFailures": []}
    project(stack)


def announce(stack: Stack) -> list[dict[str, Any]]:
    """Let the announcer look until nothing is left to look at. Returns what it announced."""
    before = len(stack.bus.events)
    while stack.looks.messages:
        stack.clock.milliseconds = max(stack.clock(), min(look["due"] for look in stack.looks.messages))
        assert stack.announcer({"Records": stack.looks.records()}, Context()) == {"batchItemFailures": []}
    return stack.bus.events[before:]
