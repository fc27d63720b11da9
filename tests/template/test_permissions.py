"""Each function has exactly the permissions that its requests need. IAM itself is not tested."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final
from unittest import mock

import pytest

from standings.client import ApiError
from standings.domain.windows import DAY, instant
from standings.wiring import building_blocks
from tests.functions.client.test_reads import READS as READS_OF_CLIENT
from tests.support.aws.client import connected
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.fakes import Sqs
from tests.support.aws.stack import ManualClock, Stack, deliver, project, running
from tests.support.aws.stack import count as count_all
from tests.support.awslambda.pollers import Context, Message, record_of
from tests.support.builders.checks import rows
from tests.support.builders.maintenance import call, finish
from tests.support.dynamodb.tables import engine_with_tables
from tests.template.expansion import KEY, Expanded, deployed, named
from tests.template.rules import listed, shared, statements

Permission = tuple[str, str]
"""An action, and a resource by its logical id, such as `RankingsTable/index/places` or `FailureBucket/*`."""

FUNCTIONS: Final = ("writer", "projector", "query", "command", "maintenance", "announcer")
POLICIES: Final = ("reader", "producer")
"""What a program may do that reads, and one that posts, with the client."""
NAMES: Final = {
    **{table: f"{table}Table" for table in ("Scores", "Receipts", "Rankings", "Profiles")},
    ENVIRONMENT["ACTIVITY_QUEUE_URL"]: "ActivityQueue",
    ENVIRONMENT["DEAD_LETTER_QUEUE_URL"]: "ActivityDeadLetterQueue",
    ENVIRONMENT["FAILURE_BUCKET"]: "FailureBucket",
    ENVIRONMENT["LOOKS_QUEUE_URL"]: "LooksQueue",
    ENVIRONMENT["MAINTENANCE_FUNCTION"]: "MaintenanceFunction",
    ENVIRONMENT["RESULTS_BUCKET"]: "ResultsBucket",
}


def needed(operation: str, request: dict[str, Any]) -> Iterator[Permission]:
    """Yield the permissions that AWS requires for a request. Most actions have their operation's name."""
    action = operation.title().replace("_", "")
    match request:
        case {"TransactItems": actions}:
            for one in actions:
                ((kind, details),) = one.items()
                yield f"dynamodb:{kind}Item", NAMES[details["TableName"]]
        case {"RequestItems": tables}:
            yield from ((f"dynamodb:{action}", NAMES[table]) for table in tables)
        case {"TableName": table, "IndexName": index}:
            yield f"dynamodb:{action}", f"{NAMES[table]}/index/{index}"
        case {"TableName": table}:
            yield f"dynamodb:{action}", NAMES[table]
        case {"QueueUrl": queue}:
            yield f"sqs:{action.removesuffix('Batch')}", NAMES[queue]
        case {"Bucket": bucket} if operation == "list_objects_v2":
            yield "s3:ListBucket", NAMES[bucket]
        case {"FunctionName": function}:
            yield "lambda:InvokeFunction", NAMES[function.rpartition(":")[2]]
        case {"Bucket": bucket}:
            yield f"s3:{action}", f"{NAMES[bucket]}/*"
        case _:
            assert operation == "put_events", f"{operation}: add the permission that it needs"
            yield "events:PutEvents", "event-bus/default"


class Watch:
    """Records the requests of each function."""

    def __init__(self) -> None:
        self.acting = ""
        self.requests: list[tuple[str, str, dict[str, Any]]] = []

    def client(self, client: Any) -> Any:
        return _Watched(self, client)

    def used(self, name: str) -> set[Permission]:
        return {one for acting, operation, said in self.requests if acting == name for one in needed(operation, said)}

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
            self._watch.requests.append((self._watch.acting, name, request))
            return method(**request)

        return call


def allowed(template: Expanded) -> dict[str, set[Permission]]:
    """Return the permissions of each function's role, and of the policies for users of the client."""
    found: dict[str, set[Permission]] = {name: set() for name in (*FUNCTIONS, *POLICIES)}
    documents = ((name, policy["PolicyDocument"]["Statement"]) for name, policy in template.of("IAM::ManagedPolicy"))
    of_policies = [(name, statement) for name, all_of_it in documents for statement in all_of_it]
    for owner, statement in (*statements(template), *shared(template), *of_policies):
        name = owner.removesuffix("FunctionRole").removesuffix("Policy").lower()
        # Every role may write logs and traces.
        if name in found and statement["Sid"] not in ("Logs", "Traces"):
            for action in listed(statement["Action"]):
                found[name].update((action, _plain(resource)) for resource in listed(statement["Resource"]))
    return found


def _plain(resource: Any) -> str:
    if isinstance(resource, dict):
        name, attribute = resource["Fn::GetAtt"]
        return str(name) if attribute == "Arn" else f"{name}.{attribute}"
    if str(resource).endswith(":event-bus/default"):
        return "event-bus/default"
    return str(resource).replace(".Arn}", "").removeprefix("${")


BOARDS: Final = """
[boards."*"]
late = "1 day"
settle = ["day"]
announce.day = { top = 3 }
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
metrics.best = { aggregate = "max", windows = ["all"] }
[boards."one"]
metrics.points = { aggregate = "sum", windows = ["all"] }
"""
RANKING: Final = "/boards/b/points/all"
MOST: Final = 999_999_999_999_999
AT: Final = "2026-11-21T10:15:00Z"
PAGES: Final = ({"limit": 2}, {"rank": 5, "limit": 2}, {"around": "m6"}, {"method": "dense"}, {"profiles": "true"})
READS: Final[list[tuple[str, dict[str, Any]]]] = [
    *(("/boards", {}), ("/boards/b", {}), ("/boards/b/member", {"id": "m6", "ranks": "true"})),
    *((RANKING, page) for page in PAGES),
    *((f"{RANKING}/rank", one) for one in ({"member": "m6"}, {"score": 5})),
    ("/members/boards", {"id": "m6"}),
    *(("/members", one) for one in ({"id": "m6"}, {"name": "ad"}, {"name": "ad", "board": "b"})),
    *(("/events", {"id": "e1"}), (f"{RANKING}/percentile", {"p": 50}), (f"{RANKING}/distribution", {})),
]


def everything(stack: Stack, engine: Any) -> None:
    """Call every function for everything that it does, including its failures."""
    numbers = count()

    def write(*events: dict[str, Any]) -> None:
        deliver(stack, [{"id": f"e{next(numbers)}", "board": "b", "at": AT, **event} for event in events])
        project(stack)

    write(*({"member": f"m{n}", "metrics": {"points": n * 200, "best": n}} for n in range(1, 40)))
    write({"member": "m2", "metrics": {"best": 0}}, {"member": "m1", "metrics": {"points": MOST}})
    change_over_http(stack)
    # Refused: a total out of bounds, an unknown metric, and a body that the dead-letter queue cannot hold.
    write(*[{"member": "m1", "metrics": {"points": MOST}}] * 9)
    write({"member": "m3", "metrics": {"beauty": 1}})
    unfit = record_of(Message("SQS does not accept this: \x00", {}, stack.clock(), "unfit"))
    assert stack.writer({"Records": [unfit]}, Context()) == {"batchItemFailures": []}
    damaged = deepcopy(engine.stream("Scores")[0][-1])
    damaged["dynamodb"]["NewImage"]["v"] = {"S": "?"}
    stack.projector({"Records": [damaged]}, Context())
    for path, arguments in READS:
        assert stack.get(path, **arguments)[0] == 200, path
    assert stack.post(f"{RANKING}/ranks", {"members": ["m6", "m7"]})[0] == 200
    # The second look at a top is too soon, and asks for another one.
    for _ in range(2):
        assert stack.announcer({"Records": stack.looks.records()}, Context()) == {"batchItemFailures": []}
        write({"member": "m9", "metrics": {"points": 1}})
    # The audit finds a missing row, and the rebuild restores it.
    row = next(row for row in rows(engine, "Rankings") if row["pk"]["S"].endswith("#m7"))
    engine.delete_item(TableName="Rankings", Key={"pk": row["pk"]})
    stack.clock.milliseconds += 3_600_000
    maintain(stack)


def change_over_http(stack: Stack) -> None:
    event: dict[str, Any] = {
        "id": "posted",
        "board": "b",
        "member": "m1",
        "at": instant(stack.clock()),
        "metrics": {"points": 1},
    }
    for arguments in ({}, {"dry_run": "true"}):
        assert stack.post("/events", event, **arguments)[0] == 202
    event["board"] = ["b", "one"]
    assert stack.post("/events", event | {"id": "waits"})[0] == 202
    count_all(stack)
    assert stack.post("/events", event | {"id": "waits"}, wait=1)[0] == 200
    for member, body in (("m4", {"hidden": True}), ("m4", {"hidden": False}), ("new", None)):
        assert stack.put("/boards/b/member", body, id=member)[0] == 200
    for member in ("m5", "m39", "new"):
        assert stack.delete("/boards/b/member", id=member)[0] == 204
    for profile in ({"name": "Ada"}, {"name": None, "country": "DE"}, {"name": "Ada"}):
        assert stack.put("/members", profile, id="m6")[0] == 200
    assert stack.put("/members", {"name": "Bob"}, id="m7")[0] == 200
    assert stack.delete("/members", id="m7")[0] == 204
    project(stack)


def maintain(stack: Stack) -> None:
    finish(stack, "audit", board="b")
    while not call(stack, "audits", "next", read_units=100)["done"]:
        pass
    finish(stack, "audits", "show")
    finish(stack, "rebuild", board="b")
    stack.clock.milliseconds += 3 * DAY
    finish(stack, "settlements", "next")
    finish(stack, "settle", board="b", window="day", again=True, empty=True)
    finish(stack, "members", board="b", hidden=True)
    finish(stack, "erase", member="m8")
    letters = finish(stack, "dead_letters", "list")["messages"]
    finish(stack, "dead_letters", "delete", ids=[letters[0]["id"]])
    finish(stack, "dead_letters", "replay")
    finish(stack, "parked", "list")
    finish(stack, "parked", "replay")


POLLING: Final = ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage")
BY_OTHERS: Final[dict[str, set[Permission]]] = {
    # Lambda reads the queues and the stream with the roles of the functions, and writes to the bucket.
    "writer": {(f"sqs:{action}", "ActivityQueue") for action in POLLING},
    "announcer": {(f"sqs:{action}", "LooksQueue") for action in POLLING},
    "projector": {
        ("s3:ListBucket", "FailureBucket"),
        *(
            (f"dynamodb:{action}", "ScoresTable.StreamArn")
            for action in ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
        ),
    },
}


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Watch:
    seen = Watch()
    engine = engine_with_tables()
    clock = ManualClock(int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000))

    def sleep(seconds: float) -> None:
        clock.milliseconds += round(seconds * 1000) + 1

    with (
        # With this random number the projector prunes trees. All clocks are the stack's, so nothing waits.
        mock.patch.object(random, "random", return_value=0.0),
        mock.patch.object(time, "monotonic", side_effect=lambda: clock() / 1000),
        mock.patch.object(time, "sleep", sleep),
        running(seen.client(engine), clock, BOARDS) as stack,
    ):
        clients = {
            "dynamodb": seen.client(engine),
            "sqs": seen.client(Sqs([stack.activity, stack.dead_letters, stack.looks])),
            "s3": seen.client(stack.bucket),
            "events": seen.client(stack.bus),
            "lambda": seen.client(stack.later),
        }
        for name in FUNCTIONS:
            setattr(stack, name, seen.function(name, getattr(stack, name)))
        with mock.patch.object(building_blocks, "client", clients.__getitem__):
            everything(stack, engine)
            client = connected(
                stack, tmp_path_factory.mktemp("client"), BOARDS, dynamodb=clients["dynamodb"], sqs=clients["sqs"]
            )
            seen.acting = "reader"
            for read in READS_OF_CLIENT:
                with suppress(ApiError):
                    read(client)
            seen.acting = "producer"
            client.event(client.post("b", "m1", points=1))
            with client.batch() as batch:
                batch.post("b", "m1", points=1)
        # A projector whose definition has fewer rankings writes the board's record.
        fewer = [line for line in BOARDS.replace('"all", "day"', '"all"').splitlines() if "day" not in line]
        with running(seen.client(engine), clock, "\n".join(fewer)) as narrower:
            narrower.projector = seen.function("projector", narrower.projector)
            project(narrower)
        with mock.patch.object(building_blocks, "client", clients.__getitem__):
            assert stack.delete("/boards/b")[0] == 202
            seconds = 130.0  # Less than it waits: another call goes on
            while stack.later.calls:
                _, event = stack.later.calls.pop()
                stack.maintenance(event, Context("maintenance", seconds=seconds, clock=stack.clock.monotonic))
                stack.clock.milliseconds += round(seconds * 1000)
    return seen


@pytest.mark.parametrize("function", [*FUNCTIONS, *POLICIES])
def test_a_function_may_do_what_it_does_and_nothing_else(watch: Watch, function: str) -> None:
    may = allowed(deployed(Settlements="true", Announcements="true"))[function]

    assert watch.used(function) == may - BY_OTHERS.get(function, set())


def test_the_query_function_only_reads() -> None:
    reads = {f"dynamodb:{action}" for action in ("BatchGetItem", "GetItem", "Query")}
    assert {action for action, _ in allowed(deployed())["query"]} == reads


def test_all_that_read_may_decrypt_with_the_key_and_all_that_send_or_put_may_make_data_keys() -> None:
    """DynamoDB makes those of tables by a grant. Without a key of the operator's, AWS's keys need no permission."""
    everything = {"Settlements": "true", "Announcements": "true"}
    without, keyed = (allowed(deployed(**everything, **key)) for key in ({}, {"KmsKeyArn": KEY}))
    for name, may in without.items():
        makes_keys = {action for action, _ in may} & {"sqs:SendMessage", "s3:PutObject"}
        uses = {"kms:Decrypt", *(["kms:GenerateDataKey"] if makes_keys else [])}
        assert keyed[name] == may | {(action, KEY) for action in uses}, name


def added(parameter: str) -> dict[str, set[Permission]]:
    """The permissions that a parameter adds, by function."""
    off, on = (allowed(deployed(**{parameter: value})) for value in ("false", "true"))
    return {function: more for function in FUNCTIONS if (more := on[function] - off[function])}


def test_a_stack_that_settles_nothing_may_neither_write_results_nor_put_events() -> None:
    assert added("Settlements") == {
        "maintenance": {
            *((f"s3:{action}Object", "ResultsBucket/*") for action in ("Get", "Put", "Delete")),
            ("s3:ListBucket", "ResultsBucket"),
            ("events:PutEvents", "event-bus/default"),
        }
    }


def test_a_stack_that_announces_nothing_has_neither_the_function_nor_the_queue_nor_their_permissions() -> None:
    without, announcing = deployed(Announcements="false"), deployed(Announcements="true")

    assert {name for name in announcing.resources.keys() - without.resources if "Alarm" not in name} == {
        *("LooksQueue", "LooksDeadLetterQueue", "LooksOverTlsOnly"),
        *("AnnouncerFunction", "AnnouncerFunctionLooks", "AnnouncerFunctionRole", "AnnouncerLogGroup"),
    }
    assert "Looks" not in str(without.resources)
    assert allowed(without)["announcer"] == set()
    more = added("Announcements")
    assert more.keys() == {"announcer", "projector", "maintenance"}
    assert more["projector"] == more["maintenance"] == {("sqs:SendMessage", "LooksQueue")}


Grant = tuple[str, str, str, tuple[tuple[str, str], ...]]
"""Who may call a function: anyone (`*`) or whoever has a policy; the action, the function, the conditions."""
AT_THE_URL: Final = ("lambda:InvokeFunctionUrl", "lambda:InvokeFunction")
"""The actions of a request to a function URL: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html"""
SIGNED_URL: Final = {"FunctionUrl": "iam"}
OPEN_URL: Final = {"FunctionUrl": "open", "OpenReads": "true", "QueryReservedConcurrency": "50"}


def granted(template: Expanded) -> Iterator[Grant]:
    """Yield what the stack lets others call: anyone, and whoever has one of its policies."""
    for _, one in template.of("Lambda::Permission"):
        if one["Principal"] == "*":
            auth, via = one.get("FunctionUrlAuthType"), one.get("InvokedViaFunctionUrl")
            conditions = {"lambda:FunctionUrlAuthType": auth, "lambda:InvokedViaFunctionUrl": via and "true"}
            kept = tuple((key, str(value)) for key, value in conditions.items() if value)
            yield "*", one["Action"], named(one["FunctionName"]), kept
    for name, policy in template.of("IAM::ManagedPolicy"):
        for statement in policy["PolicyDocument"]["Statement"]:
            for action in listed(statement["Action"]):
                if action.startswith("lambda:"):
                    kept = tuple(pair for each in statement.get("Condition", {}).values() for pair in each.items())
                    yield name, action, named(statement["Resource"]), kept


def may(template: Expanded, actions: tuple[str, ...], **context: str) -> set[tuple[str, str]]:
    """Who may call which function: all the actions are granted, and their conditions hold."""
    holds = {f"lambda:{key}": value for key, value in context.items()}
    grants = [
        {
            (who, function)
            for who, one, function, needs in granted(template)
            if one == action and set(needs) <= holds.items()
        }
        for action in actions
    ]
    return set.intersection(*grants)


@pytest.mark.parametrize(
    ("parameters", "auth", "callers"),
    [({}, "", set()), (SIGNED_URL, "AWS_IAM", {"FunctionUrlPolicy"}), (OPEN_URL, "NONE", {"*"})],
    ids=["none", "iam", "open"],
)
def test_who_may_read_at_the_function_url_may_do_nothing_else(
    parameters: dict[str, str], auth: str, callers: set[str]
) -> None:
    """Without its condition, the second action would let anyone invoke the function with a payload of their own."""
    stack, readers = deployed(**parameters), {(who, "QueryFunction") for who in callers}

    assert [url["AuthType"] for _, url in stack.of("Lambda::Url")] == [auth] * len(callers)
    assert may(stack, AT_THE_URL, FunctionUrlAuthType=auth, InvokedViaFunctionUrl="true") == readers
    assert {(who, function) for who, _, function, _ in granted(stack)} == readers
    assert may(stack, AT_THE_URL[1:], InvokedViaFunctionUrl="false") == set()
    # If somebody changes the address, the grants end.
    assert may(stack, AT_THE_URL[:1], FunctionUrlAuthType="another") == set()


@pytest.mark.parametrize(("function", "reads"), [("projector", False), ("announcer", True)])
def test_it_touches_records_of_boards_alone_among_scores(watch: Watch, function: str, reads: bool) -> None:
    """Its statement on Scores allows only keys that are `#boards` or `#deleted`; the projector reads members too."""
    touched = [
        key["pk"]["S"]
        for acting, operation, request in watch.requests
        if acting == function and (reads or operation != "batch_get_item")
        for key in _keys_of_scores(operation, request)
    ]

    assert {"#boards"} <= set(touched) <= {"#boards", "#deleted"}


def _keys_of_scores(operation: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    if operation == "batch_get_item":
        found: list[dict[str, Any]] = request["RequestItems"].get("Scores", {}).get("Keys", [])
        return found
    return [request["Item"]] if operation == "put_item" and request["TableName"] == "Scores" else []
