"""The permissions that a request needs, and those that the template gives each function."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.support.aws.environment import ENVIRONMENT
from tests.template.expansion import Expanded
from tests.template.rules.access import listed, statements

Permission = tuple[str, str]
"""An action, and a resource by its logical id, such as `RankingsTable/index/places` or `FailureBucket/*`."""

FUNCTIONS: Final = ("writer", "projector", "query", "command", "maintenance", "announcer")
NAMES: Final = {
    "Scores": "ScoresTable",
    "Receipts": "ReceiptsTable",
    "Rankings": "RankingsTable",
    "Profiles": "ProfilesTable",
    ENVIRONMENT["ACTIVITY_QUEUE_URL"]: "ActivityQueue",
    ENVIRONMENT["DEAD_LETTER_QUEUE_URL"]: "ActivityDeadLetterQueue",
    ENVIRONMENT["FAILURE_BUCKET"]: "FailureBucket",
    ENVIRONMENT["LOOKS_QUEUE_URL"]: "LooksQueue",
    ENVIRONMENT["RESULTS_BUCKET"]: "ResultsBucket",
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
    """Yield the permissions that AWS requires for a request."""
    if operation in ITEMS:
        index = f"/index/{request['IndexName']}" if "IndexName" in request else ""
        yield f"dynamodb:{ITEMS[operation]}", NAMES[request["TableName"]] + index
    elif operation in {"transact_write_items", "transact_get_items"}:
        for action in request["TransactItems"]:
            ((kind, details),) = action.items()
            yield f"dynamodb:{IN_TRANSACTIONS[kind]}", NAMES[details["TableName"]]
    elif operation in {"batch_get_item", "batch_write_item"}:
        action = {"batch_get_item": "BatchGetItem", "batch_write_item": "BatchWriteItem"}[operation]
        yield from ((f"dynamodb:{action}", NAMES[table]) for table in request["RequestItems"])
    elif operation in MESSAGES:
        yield f"sqs:{MESSAGES[operation]}", NAMES[request["QueueUrl"]]
    elif operation in OBJECTS:
        yield f"s3:{OBJECTS[operation]}", f"{NAMES[request['Bucket']]}/*"
    elif operation == "put_events":
        yield "events:PutEvents", "event-bus/default"
    else:
        assert operation == "list_objects_v2", f"{operation}: add the permission that it needs"
        yield "s3:ListBucket", NAMES[request["Bucket"]]


class Watch:
    """Records the requests of each function."""

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
        if name == "stream":  # the tests read the engine's stream by it
            return method

        def call(**request: Any) -> Any:
            self._watch.note(name, request)
            return method(**request)

        return call


def allowed(template: Expanded) -> dict[str, set[Permission]]:
    """Return the permissions of each function's role."""
    found: dict[str, set[Permission]] = {name: set() for name in FUNCTIONS}
    for role, statement in statements(template):
        for action in listed(statement["Action"]):
            for resource in listed(statement["Resource"]):
                found[role.removesuffix("FunctionRole").lower()].add((action, _plain(resource)))
    return found


def _plain(resource: Any) -> str:
    if isinstance(resource, dict):
        name, attribute = resource["Fn::GetAtt"]
        return str(name) if attribute == "Arn" else f"{name}.{attribute}"
    if str(resource).endswith(":event-bus/default"):
        return "event-bus/default"
    return str(resource).replace(".Arn}", "").removeprefix("${")
