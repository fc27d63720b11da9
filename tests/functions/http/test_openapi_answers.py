"""The functions answer as the OpenAPI description says: paths, arguments, answers, problems."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import FunctionType
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
import pytest
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver

from tests.support.aws.stack import Handler, Stack, http_event
from tests.support.documents.openapi import DESCRIPTION, OPERATIONS, assert_valid, resolved

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)


BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "hour", "last-7-days"] }
metrics.runs = { aggregate = "sum" }
[boards."golf-*"]
timezone = "Europe/Berlin"
metrics.strokes = { aggregate = "sum", order = "ascending", precision = 2, windows = ["all", "day"] }
[boards."cup"]
metrics.best = { aggregate = "max", notes = true, least = 0, most = 9.5, precision = 1, windows = ["all", "day"] }
"""


MEMBERS = ["a", "b", "images/1.jpg", "用户", "a,b"]


DAY = "/boards/b/points/day"
CUP = "/boards/cup/best/all"


@pytest.fixture
def content() -> tuple[str, list[dict[str, Any]]]:
    return BOARDS, list(events())


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
    for member, note in (("a", {"video": "v1"}), ("b", None)):
        best = {
            "id": f"cup-{member}",
            "board": "cup",
            "member": member,
            "at": NOW.isoformat(),
            "metrics": {"best": 7.5},
        }
        yield best if note is None else {**best, "note": note}


def routes(handler: Handler) -> set[tuple[str, str]]:
    """The methods and paths that a function has routes for."""
    assert isinstance(handler, FunctionType)
    candidates = [one for value in handler.__globals__.values() for one in (value, getattr(value, "_app", None))]
    (app,) = {one for one in candidates if isinstance(one, APIGatewayHttpResolver)}
    return {
        (route.method, re.sub("<([a-z]+)>", r"{\1}", route.path)) for route in app._static_routes + app._dynamic_routes
    }


def routed(stack: Stack) -> set[tuple[str, str]]:
    return routes(stack.query) | routes(stack.command)


def call(
    stack: Stack, method: str, path: str, arguments: Mapping[str, Any], body: Any = None
) -> tuple[int, dict[str, str], Any]:
    query = urlencode([(name, str(value)) for name, value in arguments.items()], quote_via=quote)
    event = http_event(path, query, method)
    if body is not None:
        event["headers"]["content-type"] = "application/json"
        event["body"] = orjson.dumps(body).decode()
    writes = path == "/events" or method in {"PUT", "DELETE"}
    handler = stack.command if writes else stack.query
    answer = handler(event, None)
    return answer["statusCode"], answer["headers"], orjson.loads(answer["body"]) if answer.get("body") else None


def test_it_is_served_as_it_is(stack: Stack) -> None:
    answer = stack.query(http_event("/openapi.json"), None)

    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (200, "application/json")
    assert orjson.loads(answer["body"]) == DESCRIPTION


def test_every_call_is_described_and_every_description_is_of_a_call(stack: Stack) -> None:
    assert {(operation.method, operation.path) for operation in OPERATIONS.values()} == routed(stack)


def test_arguments_are_those_that_the_functions_know(stack: Stack) -> None:
    for name, operation in OPERATIONS.items():
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
    ("listRanking", DAY, {"me": "a", "limit": 1}, None),
    ("listRanking", DAY, {"me": "用户", "rank": 3, "method": "dense"}, None),
    ("listRanking", DAY, {"me": "nobody"}, None),
    ("getRank", DAY + "/rank", {"member": "images/1.jpg"}, None),
    ("getRank", DAY + "/rank", {"member": "a", "previous": "true", "period": "2026-11-21", "method": "dense"}, None),
    ("getRank", DAY + "/rank", {"member": "a", "previous": "false"}, None),
    ("getRank", "/boards/golf-1/strokes/all/rank", {"score": "1.25"}, None),
    ("getHistory", DAY + "/history", {"member": "用户"}, None),
    ("getHistory", DAY + "/history", {"member": "a", "periods": 2, "period": "2026-11-20", "method": "dense"}, None),
    ("getHistory", "/boards/b/points/last-7-days/history", {"member": "a,b", "method": "ordinal"}, None),
    ("getHistory", "/boards/golf-1/strokes/all/history", {"member": "a"}, None),
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
    ("putProfile", "/members", {"id": "a"}, {"name": "Ada", "picture": "https://a.example/1", "data": {"x": [1.5]}}),
    ("getProfile", "/members", {"id": "a"}, None),
    ("getProfile", "/members", {"name": "ad"}, None),
    ("getProfile", "/members", {"name": "ad", "board": "b", "limit": 1}, None),
    ("listRanking", DAY, {"profiles": "true"}, None),
    ("getRank", DAY + "/rank", {"member": "b", "profiles": "true"}, None),
    ("rankGroup", DAY + "/ranks", {"profiles": "true"}, {"members": ["a", "nobody"]}),
    ("getMember", "/boards/b/member", {"id": "a", "profiles": "true"}, None),
    ("deleteProfile", "/members", {"id": "a"}, None),
    ("getBoard", "/boards/cup", {}, None),
    ("listRanking", CUP, {"notes": "true", "limit": 1}, None),
    ("listRanking", CUP, {"notes": "true", "me": "b", "profiles": "true"}, None),
    ("listRanking", CUP, {"notes": "false", "around": "b"}, None),
    ("getRank", CUP + "/rank", {"member": "a", "notes": "true"}, None),
    ("rankGroup", CUP + "/ranks", {"notes": "true"}, {"members": ["b", "nobody", "a"]}),
    ("getMember", "/boards/cup/member", {"id": "a", "notes": "true"}, None),
    ("getMember", "/boards/cup/member", {"id": "b", "notes": "true", "ranks": "true"}, None),
    (
        "postEvents",
        "/events",
        {},
        {"id": "9", "board": "cup", "member": "a", "metrics": {"best": 9.5}, "note": {"seed": 7}},
    ),
    ("deleteProfile", "/members", {"id": "a"}, None),
    ("getDescription", "/openapi.json", {}, None),
]


SUCCESS: Final = {"postEvents": 202, "deleteMember": 204, "deleteProfile": 204}


def test_what_is_described_is_accepted_and_answered_as_described(stack: Stack) -> None:
    tried: dict[str, set[str]] = {name: set() for name in OPERATIONS}
    for name, path, arguments, body in ACCEPTED:
        operation = OPERATIONS[name]
        tried[name] |= arguments.keys()
        status, headers, answer = call(stack, operation.method, path, arguments, body)
        what = f"{operation.method} {path} {arguments}: {answer}"

        assert status == SUCCESS.get(name, 200), what
        response = operation.definition["responses"][str(status)]
        if "content" in response:
            assert_valid(response["content"][headers["Content-Type"]]["schema"], answer, what)
        else:
            assert answer is None, what
    for name, cursors in (("listRanking", DAY), ("listBoards", "/boards")):
        tried[name].add("cursor")
        _, _, first = call(stack, "GET", cursors, {"limit": 1})
        status, _, _ = call(stack, "GET", cursors, {"limit": 1, "cursor": first["next"]})
        assert status == 200

    assert tried == {name: set(operation.arguments) for name, operation in OPERATIONS.items()}


PROBLEMS: Final[list[tuple[str, int, str, dict[str, Any], Any]]] = [
    ("listRanking", 400, DAY, {"limit": 0}, None),
    ("listRanking", 400, DAY, {"me": "x" * 257}, None),
    ("listRanking", 404, "/boards/b/goals/day", {}, None),
    ("listRanking", 404, "/boards/b/runs/all", {}, None),
    ("listRanking", 404, DAY, {"period": "2020-01-01"}, None),
    ("getRank", 404, DAY + "/rank", {"member": "nobody"}, None),
    ("getHistory", 404, DAY + "/history", {"member": "nobody"}, None),
    ("getHistory", 400, DAY + "/history", {"member": "a", "periods": 101}, None),
    ("getMember", 404, "/boards/b/member", {"id": "nobody"}, None),
    ("rankGroup", 400, DAY + "/ranks", {}, {"members": ["a", "a"]}),
    ("rankGroup", 400, DAY + "/ranks", {}, None),
    ("postEvents", 400, "/events", {}, []),
    ("putMember", 400, "/boards/b/member", {"id": "a"}, {"hidden": "yes"}),
    ("deleteMember", 404, "/boards/b/member", {"id": "nobody"}, None),
    ("getProfile", 404, "/members", {"id": "nobody"}, None),
    ("getProfile", 400, "/members", {"name": "a"}, None),
    ("putProfile", 400, "/members", {"id": "a"}, {"name": 7}),
]


def test_problems_are_as_described(stack: Stack) -> None:
    for name, expected, path, arguments, body in PROBLEMS:
        operation = OPERATIONS[name]
        status, headers, answer = call(stack, operation.method, path, arguments, body)

        assert (status, headers["Content-Type"]) == (expected, "application/problem+json"), (path, answer)
        response = resolved(operation.definition["responses"][str(status)])
        assert_valid(response["content"]["application/problem+json"]["schema"], answer, path)
