"""The description of the API against what the functions do: paths, arguments, answers."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FunctionType
from typing import Any, Final, NamedTuple, cast
from urllib.parse import quote, urlencode

import jsonschema_rs
import orjson
import pytest
import schemathesis
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver

from tests.support.aws.stack import Handler, ManualClock, Stack, http_event, running
from tests.support.builders.streaming import apply

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
DESCRIPTION: Final[dict[str, Any]] = orjson.loads(
    (Path(__file__).parents[3] / "functions" / "query" / "openapi.json").read_bytes()
)
BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "hour", "last-7-days"] }
metrics.runs = { aggregate = "sum" }
[boards."golf-*"]
timezone = "Europe/Berlin"
metrics.strokes = { aggregate = "sum", order = "ascending", precision = 2, windows = ["all", "day"] }
"""
MEMBERS = ["a", "b", "images/1.jpg", "用户", "a,b"]
DAY = "/boards/b/points/day"


class Operation(NamedTuple):
    """A call as it is described."""

    method: str
    path: str
    said: dict[str, Any]
    arguments: dict[str, dict[str, Any]]


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    """What a node says, or what it refers to says."""
    if "$ref" not in node:
        return node
    found: Any = DESCRIPTION
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return cast("dict[str, Any]", found)


def described() -> Iterator[Operation]:
    for path, item in DESCRIPTION["paths"].items():
        for method in item.keys() & {"get", "put", "post", "delete"}:
            parameters = [resolved(one) for one in item.get("parameters", []) + item[method].get("parameters", [])]
            arguments = {one["name"]: one for one in parameters if one["in"] == "query"}
            yield Operation(method.upper(), path, item[method], arguments)


OPERATIONS: Final = {operation.said["operationId"]: operation for operation in described()}


def schema_of(node: dict[str, Any]) -> dict[str, Any]:
    return {**node, "components": DESCRIPTION["components"]}


def assert_valid(node: dict[str, Any], value: Any, what: str) -> None:
    errors = jsonschema_rs.Draft202012Validator(schema_of(node), validate_formats=True).iter_errors(value)
    assert [f"{error.instance_path}: {error.message}" for error in errors] == [], what


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as deployed:
        apply(deployed, list(events()))
        yield deployed


def events() -> Iterator[dict[str, Any]]:
    for number, member in enumerate(MEMBERS):
        for days_ago in (0, 1):
            at = (NOW - timedelta(days=days_ago)).isoformat()
            amounts = {"points": number % 3 - 1, "runs": 1}
            yield {"id": f"{member}-{days_ago}", "board": "b", "member": member, "at": at, "metrics": amounts}
        yield {
            "id": f"golf-{member}",
            "board": "golf-1",
            "member": member,
            "at": NOW.isoformat(),
            "metrics": {"strokes": number + 0.25},
        }


def commanding(stack: Stack) -> Handler | None:
    """The command function, if there is one."""
    return cast("Handler | None", getattr(stack, "command", None))


def routes(handler: Handler) -> set[tuple[str, str]]:
    """The calls that a function has routes for."""
    assert isinstance(handler, FunctionType)
    there = [one for value in handler.__globals__.values() for one in (value, getattr(value, "_app", None))]
    (app,) = {one for one in there if isinstance(one, APIGatewayHttpResolver)}
    return {
        (route.method, re.sub("<([a-z]+)>", r"{\1}", route.path)) for route in app._static_routes + app._dynamic_routes
    }


def routed(stack: Stack) -> set[tuple[str, str]]:
    command = commanding(stack)
    return routes(stack.query) | (routes(command) if command else set())


def call(
    stack: Stack, method: str, path: str, arguments: Mapping[str, Any], body: Any = None
) -> tuple[int, dict[str, str], Any]:
    given = urlencode([(name, str(value)) for name, value in arguments.items()], quote_via=quote)
    event = http_event(path, given, method)
    if body is not None:
        event["headers"]["content-type"] = "application/json"
        event["body"] = orjson.dumps(body).decode()
    writes = path == "/events" or method in {"PUT", "DELETE"}
    handler = commanding(stack) if writes else stack.query
    assert handler is not None
    answer = handler(event, None)
    return answer["statusCode"], answer["headers"], orjson.loads(answer["body"]) if answer.get("body") else None


def test_it_is_served_as_it_is(stack: Stack) -> None:
    answer = stack.query(http_event("/openapi.json"), None)

    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (200, "application/json")
    assert orjson.loads(answer["body"]) == DESCRIPTION


def test_it_is_a_valid_description() -> None:
    schemathesis.openapi.from_dict(DESCRIPTION).validate()
    text = orjson.dumps(DESCRIPTION).decode()
    used = set(re.findall(r'"#/components/([a-z]+/[A-Za-z]+)"', text, re.IGNORECASE))
    there = {
        f"{kind}/{name}"
        for kind, parts in DESCRIPTION["components"].items()
        if kind != "securitySchemes"
        for name in parts
    }

    assert used == there
    assert len(OPERATIONS) == len(list(described()))


def test_every_schema_is_one_and_every_example_is_of_its_schema() -> None:
    for name, schema in DESCRIPTION["components"]["schemas"].items():
        jsonschema_rs.meta.validate(schema)
        assert schema["description"], name
    count = 0
    for where, media in media_types(DESCRIPTION):
        for example in (
            [media["example"]] if "example" in media else [e["value"] for e in media.get("examples", {}).values()]
        ):
            assert_valid(media["schema"], example, where)
            count += 1
    for operation in OPERATIONS.values():
        for argument in operation.arguments.values():
            if "example" in argument:
                assert_valid(argument["schema"], argument["example"], argument["name"])
    assert count > 20


def media_types(node: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "content":
                yield from ((where, media) for media in value.values())
            yield from media_types(value, f"{where}/{name}")


def test_every_call_is_described_and_every_description_is_of_a_call(stack: Stack) -> None:
    assert {(operation.method, operation.path) for operation in OPERATIONS.values()} == routed(stack)


def test_arguments_are_those_that_the_functions_know(stack: Stack) -> None:
    for name, operation in OPERATIONS.items():
        if (operation.method, operation.path) not in routed(stack):
            continue
        path = operation.path.format(board="b", metric="points", window="day")
        status, _, answer = call(stack, operation.method, path, {"colour": "red"})

        assert (status, answer["detail"].partition(":")[0]) == (400, "colour"), name
        known = answer["detail"].partition("there are ")[2]
        assert {*known.split(", ")} - {"none"} == operation.arguments.keys(), name


ACCEPTED: Final[list[tuple[str, str, dict[str, Any], Any]]] = [
    ("listBoards", "/boards", {}, None),
    ("listBoards", "/boards", {"prefix": "golf-", "limit": 1}, None),
    ("getBoard", "/boards/b", {}, None),
    ("getBoard", "/boards/golf-nobody", {}, None),
    ("listRanking", DAY, {}, None),
    ("listRanking", "/boards/golf-1/strokes/day", {}, None),
    ("listRanking", "/boards/nobody/points/all", {}, None),
    ("listRanking", DAY, {"period": "2026-11-20", "limit": 2}, None),
    ("listRanking", "/boards/b/points/hour", {"period": "2026-11-21T10"}, None),
    ("listRanking", DAY, {"method": "ordinal"}, None),
    ("listRanking", DAY, {"method": "dense", "rank": 2, "limit": 3}, None),
    ("listRanking", DAY, {"rank": 1000}, None),
    ("listRanking", DAY, {"around": "用户"}, None),
    ("listRanking", DAY, {"around": "a,b", "radius": 1}, None),
    ("getRank", DAY + "/rank", {"member": "images/1.jpg"}, None),
    ("getRank", DAY + "/rank", {"member": "a", "previous": "true", "period": "2026-11-21", "method": "dense"}, None),
    ("getRank", DAY + "/rank", {"member": "a", "previous": "false"}, None),
    ("getRank", "/boards/golf-1/strokes/all/rank", {"score": "1.25"}, None),
    ("rankGroup", DAY + "/ranks", {}, {"members": ["a", "nobody"]}),
    (
        "rankGroup",
        DAY + "/ranks",
        {"previous": "true", "period": "2026-11-21", "method": "ordinal"},
        {"members": ["nobody", "b"]},
    ),
    ("getPercentile", DAY + "/percentile", {"p": 90}, None),
    ("getPercentile", DAY + "/percentile", {"p": "0.5", "period": "2026-11-20", "method": "dense"}, None),
    ("getPercentile", "/boards/nobody/points/all/percentile", {"p": 100}, None),
    ("getDistribution", DAY + "/distribution", {}, None),
    ("getDistribution", DAY + "/distribution", {"buckets": 2, "period": "2026-11-20", "method": "dense"}, None),
    ("getDistribution", "/boards/nobody/points/all/distribution", {}, None),
    ("getMember", "/boards/b/member", {"id": "用户"}, None),
    ("getMember", "/boards/b/member", {"id": "a,b", "ranks": "true", "method": "ordinal"}, None),
    ("getMember", "/boards/b/member", {"id": "a", "ranks": "false"}, None),
    ("putMember", "/boards/b/member", {"id": "new"}, None),
    ("putMember", "/boards/b/member", {"id": "a"}, {}),
    ("putMember", "/boards/b/member", {"id": "a"}, {"hidden": True}),
    ("getMember", "/boards/b/member", {"id": "a", "ranks": "true"}, None),
    ("rankGroup", DAY + "/ranks", {}, {"members": ["a"]}),
    ("deleteMember", "/boards/b/member", {"id": "new"}, None),
    ("postEvents", "/events", {}, {"id": "1", "board": "b", "member": "a", "metrics": {"points": 1}}),
    ("postEvents", "/events", {}, [{"id": "1", "board": ["b", "c"], "member": "a", "metrics": {"points": 1.5}}, {}, 7]),
    ("getDescription", "/openapi.json", {}, None),
]
SUCCESS: Final = {"postEvents": 202, "deleteMember": 204}


def test_what_is_described_is_accepted_and_answered_as_described(stack: Stack) -> None:
    given: dict[str, set[str]] = {name: set() for name in OPERATIONS}
    for name, path, arguments, body in ACCEPTED:
        operation = OPERATIONS[name]
        given[name] |= arguments.keys()
        if (operation.method, operation.path) not in routed(stack) or not _supported(arguments):
            continue
        status, headers, answer = call(stack, operation.method, path, arguments, body)
        what = f"{operation.method} {path} {arguments}: {answer}"

        assert status == SUCCESS.get(name, 200), what
        said = operation.said["responses"][str(status)]
        if "content" in said:
            assert_valid(said["content"][headers["Content-Type"]]["schema"], answer, what)
        else:
            assert answer is None, what
    for name, cursors in (("listRanking", DAY), ("listBoards", "/boards")):
        given[name].add("cursor")
        if (OPERATIONS[name].method, OPERATIONS[name].path) in routed(stack):
            _, _, first = call(stack, "GET", cursors, {"limit": 1})
            status, _, _ = call(stack, "GET", cursors, {"limit": 1, "cursor": first["next"]})
            assert status == 200

    assert given == {name: set(operation.arguments) for name, operation in OPERATIONS.items()}


def _supported(arguments: Mapping[str, Any]) -> bool:
    """Until every argument that is described is there."""
    return not arguments.keys() & {"method", "rank", "around", "previous", "score"}


PROBLEMS: Final[list[tuple[str, int, str, dict[str, Any], Any]]] = [
    ("listRanking", 400, DAY, {"limit": 0}, None),
    ("listRanking", 404, "/boards/b/goals/day", {}, None),
    ("listRanking", 404, "/boards/b/runs/all", {}, None),
    ("listRanking", 404, DAY, {"period": "2020-01-01"}, None),
    ("getRank", 404, DAY + "/rank", {"member": "nobody"}, None),
    ("getMember", 404, "/boards/b/member", {"id": "nobody"}, None),
    ("rankGroup", 400, DAY + "/ranks", {}, {"members": ["a", "a"]}),
    ("rankGroup", 400, DAY + "/ranks", {}, None),
    ("postEvents", 400, "/events", {}, []),
    ("putMember", 400, "/boards/b/member", {"id": "a"}, {"hidden": "yes"}),
    ("deleteMember", 404, "/boards/b/member", {"id": "nobody"}, None),
]


def test_problems_are_as_described(stack: Stack) -> None:
    for name, expected, path, arguments, body in PROBLEMS:
        operation = OPERATIONS[name]
        if (operation.method, operation.path) not in routed(stack):
            continue
        status, headers, answer = call(stack, operation.method, path, arguments, body)

        assert (status, headers["Content-Type"]) == (expected, "application/problem+json"), (path, answer)
        said = resolved(operation.said["responses"][str(status)])
        assert_valid(said["content"]["application/problem+json"]["schema"], answer, path)
