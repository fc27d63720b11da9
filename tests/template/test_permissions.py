"""What each function may do by its statements is what it does, no less and no more: nothing here checks IAM itself."""

import json
import random
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final
from unittest import mock

import pytest

from standings.wiring import building_blocks
from tests.support.aws.stack import ENVIRONMENT, ManualClock, Sqs, Stack, delivered, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.builders.streaming import project
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.template.access import listed, statements
from tests.template.expansion import Expanded, expanded, source

Permission = tuple[str, str]
"""An action, and a resource by its logical id, such as `RankingsTable/index/places` or `FailureBucket/*`."""

FUNCTIONS: Final = ("writer", "projector", "query", "command", "maintenance")
NAMES: Final = {
    "Scores": "ScoresTable",
    "Receipts": "ReceiptsTable",
    "Rankings": "RankingsTable",
    ENVIRONMENT["ACTIVITY_QUEUE_URL"]: "ActivityQueue",
    ENVIRONMENT["DEAD_LETTER_QUEUE_URL"]: "ActivityDeadLetterQueue",
    ENVIRONMENT["FAILURE_BUCKET"]: "FailureBucket",
}
BY_OTHERS: Final = {
    "projector": {("s3:ListBucket", "FailureBucket")},  # its event source mapping looks before it writes
}
OBJECTS: Final = {"put_object": "PutObject", "get_object": "GetObject", "delete_object": "DeleteObject"}
MESSAGES: Final = {
    "send_message_batch": "SendMessage",
    "receive_message": "ReceiveMessage",
    "delete_message_batch": "DeleteMessage",
    "change_message_visibility_batch": "ChangeMessageVisibility",
}
ITEMS: Final = {
    "get_item": "GetItem",
    "put_item": "PutItem",
    "update_item": "UpdateItem",
    "delete_item": "DeleteItem",
    "query": "Query",
}
IN_TRANSACTIONS: Final = {
    "Get": "GetItem",
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}


def needed(operation: str, request: dict[str, Any]) -> Iterator[Permission]:
    """The permissions that AWS asks for, by the names that requests have here."""
    if operation in ITEMS:
        index = f"/index/{request['IndexName']}" if "IndexName" in request else ""
        yield f"dynamodb:{ITEMS[operation]}", NAMES[request["TableName"]] + index
    elif operation in {"transact_write_items", "transact_get_items"}:
        for action in request["TransactItems"]:
            ((kind, said),) = action.items()
            yield f"dynamodb:{IN_TRANSACTIONS[kind]}", NAMES[said["TableName"]]
    elif operation in {"batch_get_item", "batch_write_item"}:
        action = {"batch_get_item": "BatchGetItem", "batch_write_item": "BatchWriteItem"}[operation]
        yield from ((f"dynamodb:{action}", NAMES[table]) for table in request["RequestItems"])
    elif operation in MESSAGES:
        yield f"sqs:{MESSAGES[operation]}", NAMES[request["QueueUrl"]]
    elif operation in OBJECTS:
        yield f"s3:{OBJECTS[operation]}", f"{NAMES[request['Bucket']]}/*"
    else:
        assert operation == "list_objects_v2", f"{operation}: what permission does it need?"
        yield "s3:ListBucket", NAMES[request["Bucket"]]


class Watch:
    """Notes what each function asks its clients for."""

    def __init__(self) -> None:
        self.acting = ""
        self.used: dict[str, set[Permission]] = {name: set() for name in FUNCTIONS}
        self.requests: list[tuple[str, str, dict[str, Any]]] = []

    def client(self, client: Any) -> Any:
        return _Watched(self, client)

    def note(self, operation: str, request: dict[str, Any]) -> None:
        self.used[self.acting].update(needed(operation, request))
        self.requests.append((self.acting, operation, request))

    def function(self, name: str, handler: Any) -> Callable[[dict[str, Any], Any], dict[str, Any]]:
        def watched(event: dict[str, Any], context: Any) -> dict[str, Any]:
            self.acting = name
            answer: dict[str, Any] = handler(event, context)
            return answer

        return watched


class _Watched:
    def __init__(self, watch: Watch, client: Any) -> None:
        self._watch = watch
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name == "stream":  # how a test reads what the engine's stream has
            return method

        def call(**request: Any) -> Any:
            self._watch.note(name, request)
            return method(**request)

        return call


def allowed(template: Expanded) -> dict[str, set[Permission]]:
    """What the statements of each function's role allow."""
    found: dict[str, set[Permission]] = {name: set() for name in FUNCTIONS}
    for role, statement in statements(template):
        for action in listed(statement["Action"]):
            for resource in listed(statement["Resource"]):
                found[role.removesuffix("FunctionRole").lower()].add((action, _plain(resource)))
    return found


def _plain(resource: Any) -> str:
    if isinstance(resource, dict):
        return str(resource["Fn::GetAtt"][0])
    return str(resource).replace(".Arn}", "").removeprefix("${")


BOARDS: Final = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
metrics.best = { aggregate = "max", windows = ["all"] }
"""
RANKING: Final = "/boards/b/points/all"
MOST: Final = 999_999_999_999_999


@pytest.fixture(scope="module")
def watch() -> Watch:
    seen = Watch()
    engine: Any = Engine()
    create_tables(engine)
    clock = ManualClock(int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000))

    def sleep(seconds: float) -> None:
        clock.milliseconds += round(seconds * 1000) + 1

    with (
        # Chance has it that trees are looked through; all clocks are the stack's own, and nobody waits.
        mock.patch.object(random, "random", return_value=0.0),
        mock.patch.object(time, "monotonic", side_effect=lambda: clock() / 1000),
        mock.patch.object(time, "sleep", sleep),
        running(seen.client(engine), clock, BOARDS) as stack,
    ):
        clients = {
            "dynamodb": seen.client(engine),
            "sqs": seen.client(Sqs(stack.activity, stack.dead_letters)),
            "s3": seen.client(stack.bucket),
        }
        for name in FUNCTIONS:
            setattr(stack, name, seen.function(name, getattr(stack, name)))
        with mock.patch.object(building_blocks, "client", clients.__getitem__):
            everything(stack, engine)
        # A projector that knows of fewer rankings than the board's record says so in it.
        with running(seen.client(engine), clock, BOARDS.replace('"all", "day"', '"all"')) as narrower:
            narrower.projector = seen.function("projector", narrower.projector)
            project(narrower)
        with mock.patch.object(building_blocks, "client", clients.__getitem__):
            job(stack, "delete")
    return seen


def everything(stack: Stack, engine: Any) -> None:
    """All that functions do, and what goes wrong with it."""
    events = Events(stack)
    events.write(*({"member": f"m{n}", "metrics": {"points": n * 200, "best": n}} for n in range(1, 40)))
    events.write({"member": "m2", "metrics": {"best": 0}}, {"member": "m1", "metrics": {"points": MOST}})
    project(stack)
    changed_over_http(stack)
    # Beyond all bounds; known to nobody; and what the queue has no room for, for which there is the bucket.
    events.write(*[{"member": "m1", "metrics": {"points": MOST}}] * 9)
    events.write({"member": "m3", "metrics": {"beauty": 1}})
    events.write_body("what SQS would not take back: \x00")
    project(stack)
    damaged = deepcopy(engine.stream("Scores")[0][-1])
    damaged["dynamodb"]["NewImage"]["v"] = {"S": "?"}
    stack.projector({"Records": [damaged]}, Context())
    read(stack)
    # A row that is gone is looked at closely, and put right.
    row = next(row for row in rows(engine, "Rankings") if row["pk"]["S"].endswith("#m7"))
    engine.delete_item(TableName="Rankings", Key={"pk": row["pk"]})
    stack.clock.milliseconds += 3_600_000
    cared_for(stack)


def changed_over_http(stack: Stack) -> None:
    assert stack.post("/events", {"id": "posted", "board": "b", "member": "m1", "metrics": {"points": 1}})[0] == 202
    for member, body in (("m4", {"hidden": True}), ("m4", {"hidden": False}), ("new", None)):
        assert stack.put("/boards/b/member", body, id=member)[0] == 200
    for member in ("m5", "m39", "new"):
        assert stack.delete("/boards/b/member", id=member)[0] == 204
    project(stack)


def read(stack: Stack) -> None:
    for path, arguments in (
        ("/boards", {}),
        ("/boards/b", {}),
        ("/boards/b/member", {"id": "m6", "ranks": "true"}),
        (RANKING, {"limit": 2}),
        (RANKING, {"rank": 5, "limit": 2}),
        (RANKING, {"around": "m6"}),
        (RANKING, {"method": "dense"}),
        (f"{RANKING}/rank", {"member": "m6"}),
        (f"{RANKING}/rank", {"score": 5}),
        (f"{RANKING}/percentile", {"p": 50}),
        (f"{RANKING}/distribution", {}),
    ):
        assert stack.get(path, **arguments)[0] == 200, path
    assert stack.post(f"{RANKING}/ranks", {"members": ["m6", "m7"]})[0] == 200


def cared_for(stack: Stack) -> None:
    job(stack, "audit")
    job(stack, "rebuild")
    letters = job(stack, "dead_letters", list={})["messages"]
    job(stack, "dead_letters", delete={"ids": [letters[0]["id"]]})
    job(stack, "dead_letters", replay={})
    job(stack, "parked", list={})
    job(stack, "parked", replay={})


def job(stack: Stack, task: str, **given: Any) -> dict[str, Any]:
    """A task of maintenance, up to its end."""
    said: dict[str, Any] = given or {"board": "b"}
    for _ in range(200):
        answer = stack.maintenance({task: said}, Context(seconds=900))
        if answer["done"]:
            return answer
        stack.clock.milliseconds += round(answer.get("wait", 0) * 1000)
        if not given:
            said = {"board": "b", "begin": False} if "phase" in answer else {"board": "b", "cursor": answer["cursor"]}
    raise AssertionError(answer)


class Events:
    """Events of the board b."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._numbers = count()

    def write(self, *events: dict[str, Any]) -> None:
        bodies = [
            json.dumps({"id": f"e{next(self._numbers)}", "board": "b", "at": "2026-11-21T10:15:00Z", **event})
            for event in events
        ]
        self.write_body(*bodies)

    def write_body(self, *bodies: str) -> None:
        records = [
            delivered(number, {"MessageBody": body, "MessageAttributes": {}}) for number, body in enumerate(bodies)
        ]
        assert self._stack.writer({"Records": records}, Context()) == {"batchItemFailures": []}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_may_do_what_it_does_and_nothing_else(watch: Watch, function: str) -> None:
    may = allowed(expanded(source()))[function] - BY_OTHERS.get(function, set())

    assert watch.used[function] == may


def test_the_projector_touches_records_of_boards_alone_among_scores(watch: Watch) -> None:
    """Its statement on Scores has the condition that keys begin with `#boards`."""
    touched = [
        key["pk"]["S"]
        for acting, operation, request in watch.requests
        if acting == "projector"
        for key in _keys_of_scores(operation, request)
    ]

    assert set(touched) == {"#boards"}


def _keys_of_scores(operation: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    if operation == "batch_get_item":
        found: list[dict[str, Any]] = request["RequestItems"].get("Scores", {}).get("Keys", [])
        return found
    return [request["Item"]] if operation == "put_item" and request["TableName"] == "Scores" else []
