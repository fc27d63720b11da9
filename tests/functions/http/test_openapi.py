"""The OpenAPI description is valid, and the functions answer as it says: every call and argument, answers, limits."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote, urlencode

import jsonschema_rs
import orjson
import pytest
import schemathesis

from tests.support.aws.stack import Stack, apply, http_event
from tests.support.builders.querying import DAY, MEMBER, NOW, deployed
from tests.support.documents.openapi import DESCRIPTION, OPERATIONS, assert_valid, described, resolved

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
CUP, CUP_MEMBER, GOLF = "/boards/cup/best/all", "/boards/cup/member", "/boards/golf-1/strokes"
MEMBERS = ["a", "b", "images/1.jpg", "用户", "a,b"]


def events() -> Iterator[dict[str, Any]]:
    for number, member in enumerate(MEMBERS):
        amounts: dict[str, dict[str, float]] = {
            "b": {"points": number % 3 - 1, "runs": 1},
            "golf-1": {"strokes": number + 0.25},
            "cup": {"best": 7.5},
        }
        for board, metrics in amounts.items():
            for days_ago in (0, 1):
                at = (NOW - timedelta(days=days_ago)).isoformat()
                note = {"note": {"video": "v1"}} if board == "cup" and member == "a" else {}
                event_id = f"{board}-{member}-{days_ago}"
                yield {"id": event_id, "board": board, "member": member, "at": at, "metrics": metrics, **note}


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with deployed(BOARDS) as stack:
        apply(stack, list(events()))
        yield stack


def parts_of(node: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in the description, with its place."""
    if isinstance(node, dict):
        yield where, node
        for name, value in node.items():
            yield from parts_of(value, f"{where}/{name}")


def test_it_is_a_valid_description_and_uses_all_that_it_defines() -> None:
    schemathesis.openapi.from_dict(DESCRIPTION).validate()
    used = set(re.findall(r'"#/components/([a-z]+/[A-Za-z]+)"', orjson.dumps(DESCRIPTION).decode(), re.IGNORECASE))
    components = {kind: parts for kind, parts in DESCRIPTION["components"].items() if kind != "securitySchemes"}

    assert used == {f"{kind}/{name}" for kind, parts in components.items() for name in parts}
    assert len(OPERATIONS) == len(list(described()))


def test_every_schema_is_one_and_every_example_is_of_its_schema() -> None:
    for name, schema in DESCRIPTION["components"]["schemas"].items():
        jsonschema_rs.meta.validate(schema)
        assert schema["description"], name
    media = [(where, one) for where, part in parts_of(DESCRIPTION) for one in part.get("content", {}).values()]
    arguments = [("argument", one) for operation in OPERATIONS.values() for one in operation.arguments.values()]
    examples = [(where, one, one["example"]) for where, one in (*media, *arguments) if "example" in one]
    examples += [(where, one, each["value"]) for where, one in media for each in one.get("examples", {}).values()]
    for where, one, example in examples:
        assert_valid(one["schema"], example, where)
    assert len(examples) > 30


def call(stack: Stack, method: str, path: str, arguments: dict[str, Any], body: Any = None) -> tuple[int, str, Any]:
    """The status, the type and the content of an answer."""
    event = http_event(path, urlencode(arguments, quote_via=quote), method, body)
    writes = path == "/events" or method in {"PUT", "DELETE"}
    answer = (stack.command if writes else stack.query)(event, None)
    content = orjson.loads(answer["body"]) if answer.get("body") else None
    return answer["statusCode"], answer["headers"].get("Content-Type", ""), content


def test_it_is_served_as_it_is(stack: Stack) -> None:
    assert call(stack, "GET", "/openapi.json", {}) == (200, "application/json", DESCRIPTION)


EVENT: Final = {"id": "1", "board": "b", "member": "a", "metrics": {"points": 1}}
NOTED: Final = {"id": "9", "board": "cup", "member": "a", "metrics": {"best": 9.5}, "note": {"seed": 7}}
READS: Final[list[tuple[str, str, dict[str, Any]]]] = [
    ("listBoards", "/boards", {"prefix": "golf-", "limit": 1}),
    ("getBoard", "/boards/golf-nobody", {}),
    ("getBoard", "/boards/cup", {}),
    ("listRanking", DAY, {}),
    ("listRanking", f"{GOLF}/day", {"period": "2026-11-20", "limit": 2}),
    ("listRanking", "/boards/nobody/points/all", {}),
    ("listRanking", "/boards/b/points/hour", {"period": "2026-11-21T10", "method": "ordinal"}),
    ("listRanking", DAY, {"method": "dense", "rank": 2, "limit": 3}),
    ("listRanking", DAY, {"rank": 1000}),
    ("listRanking", DAY, {"around": "a,b", "radius": 1}),
    ("listRanking", DAY, {"score": 2, "limit": 1}),
    ("listRanking", DAY, {"rank": -1, "limit": 1}),
    ("listRanking", DAY, {"me": "用户", "rank": 3, "method": "dense"}),
    ("listRanking", DAY, {"me": "nobody", "profiles": "true"}),
    ("listRanking", CUP, {"notes": "true", "me": "b", "profiles": "true"}),
    ("listRanking", CUP, {"notes": "false", "around": "b"}),
    ("getRank", f"{DAY}/rank", {"member": "a", "previous": "true", "period": "2026-11-21", "method": "dense"}),
    ("getRank", f"{DAY}/rank", {"member": "images/1.jpg", "previous": "false", "profiles": "true"}),
    ("getRank", f"{GOLF}/all/rank", {"score": "1.25"}),
    ("getRank", f"{CUP}/rank", {"member": "a", "notes": "true"}),
    ("getHistory", f"{DAY}/history", {"member": "a", "periods": 2, "period": "2026-11-20", "method": "dense"}),
    ("getHistory", "/boards/b/points/last-7-days/history", {"member": "a,b"}),
    ("getHistory", f"{GOLF}/all/history", {"member": "a"}),
    ("getPercentile", f"{DAY}/percentile", {"p": "0.5", "period": "2026-11-20", "method": "dense"}),
    ("getPercentile", "/boards/nobody/points/all/percentile", {"p": 100}),
    ("getDistribution", f"{DAY}/distribution", {"buckets": 2, "period": "2026-11-20", "method": "dense"}),
    ("getDistribution", "/boards/nobody/points/all/distribution", {}),
    ("getMember", MEMBER, {"id": "用户"}),
    ("getMember", MEMBER, {"id": "a,b", "ranks": "true", "method": "ordinal", "profiles": "true"}),
    ("getMember", CUP_MEMBER, {"id": "a", "notes": "true"}),
    ("getMember", CUP_MEMBER, {"id": "b", "notes": "true", "ranks": "true"}),
    ("getProfile", "/members", {"id": "b"}),
    ("getProfile", "/members", {"name": "ad", "board": "b", "limit": 1}),
    ("getDescription", "/openapi.json", {}),
    ("getEvent", "/events", {"id": "cup-a-0"}),
]
WITH_BODIES: Final[list[tuple[str, str, dict[str, Any], Any]]] = [
    ("putProfile", "/members", {"id": "b"}, {"name": "Ada", "picture": "https://a.example/1", "data": {"x": [1.5]}}),
    ("rankGroup", f"{DAY}/ranks", {"profiles": "true"}, {"members": ["a", "nobody", "b"]}),
    (
        "rankGroup",
        f"{DAY}/ranks",
        {"previous": "true", "period": "2026-11-21", "method": "ordinal"},
        {"members": ["b"]},
    ),
    ("rankGroup", f"{CUP}/ranks", {"notes": "true"}, {"members": ["b", "nobody", "a"]}),
    ("putMember", MEMBER, {"id": "new"}, None),
    ("putMember", MEMBER, {"id": "new"}, {"hidden": True}),
    ("getMember", MEMBER, {"id": "new", "ranks": "true"}, None),
    ("deleteMember", MEMBER, {"id": "new"}, None),
    ("postEvents", "/events", {}, NOTED),
    ("postEvents", "/events", {}, [{**EVENT, "board": ["b", "c"]}, {}, 7]),
]
LAST: Final[list[tuple[str, str, dict[str, Any], Any]]] = [("deleteProfile", "/members", {"id": "b"}, None)]
SUCCESS: Final = {"postEvents": 202, "deleteMember": 204, "deleteProfile": 204}


def test_what_is_described_is_accepted_and_answered_as_described(stack: Stack) -> None:
    tried: dict[str, set[str]] = {name: set() for name in OPERATIONS}
    reads = [*READS]
    for name, path in (("listRanking", DAY), ("listBoards", "/boards")):
        cursor = call(stack, "GET", path, {"limit": 1})[2]["next"]
        reads.append((name, path, {"limit": 1, "cursor": cursor}))
    for name, path, arguments, body in [*WITH_BODIES, *((*read, None) for read in reads), *LAST]:
        operation = OPERATIONS[name]
        tried[name] |= arguments.keys()
        status, kind, answer = call(stack, operation.method, path, arguments, body)
        what = f"{operation.method} {path} {arguments}: {answer}"

        assert status == SUCCESS.get(name, 200), what
        response = operation.definition["responses"][str(status)]
        if "content" in response:
            assert_valid(response["content"][kind]["schema"], answer, what)
        else:
            assert answer is None, what
    assert tried == {name: set(operation.arguments) for name, operation in OPERATIONS.items()}


NEEDED: Final[dict[str, dict[str, Any]]] = {
    "radius": {"around": "a"},
    "periods": {"member": "a"},
    "limit of getProfile": {"name": "ad", "board": "b"},
}
"""The arguments without which another is refused."""


def test_whole_numbers_have_the_described_limits(stack: Stack) -> None:
    found = 0
    for name, operation in OPERATIONS.items():
        path = operation.path.format(board="b", metric="points", window="day")
        for argument, definition in operation.arguments.items():
            schema = resolved(definition["schema"])
            if schema.get("type") != "integer":
                continue
            found += 1
            more = NEEDED.get(f"{argument} of {name}", NEEDED.get(argument, {}))
            for value, status in (
                (schema["minimum"], 200),
                (schema["maximum"], 200),
                (schema["minimum"] - 1, 400),
                (schema["maximum"] + 1, 400),
            ):
                assert call(stack, "GET", path, {**more, argument: value})[0] == status, (name, argument, value)
    assert found == 7


def shares(count: int) -> list[dict[str, Any]]:
    return [{"board": f"b{number}", "member": "a", "metrics": {"points": 1}} for number in range(count)]


SIZED: Final[list[tuple[str, str, dict[str, Any], Callable[[int], Any], int]]] = [
    ("putProfile", "/members", {"id": "c"}, lambda n: {"name": "é" * n}, 64),
    ("putProfile", "/members", {"id": "c"}, lambda n: {"picture": "https://a.example/".ljust(n, "x")}, 512),
    ("rankGroup", f"{DAY}/ranks", {}, lambda n: {"members": [str(k) for k in range(n)]}, 100),
    ("rankGroup", f"{DAY}/ranks", {}, lambda n: {"members": ["x" * n]}, 256),
    ("postEvents", "/events", {}, lambda n: [{**EVENT, "id": str(k)} for k in range(n)], 100),
    ("postEvents", "/events", {}, lambda n: {**EVENT, "id": "x" * n}, 128),
    ("postEvents", "/events", {}, lambda n: {**EVENT, "board": "x" * n}, 128),
    ("postEvents", "/events", {}, lambda n: {**EVENT, "board": [f"b{k}" for k in range(n)]}, 10),
    ("postEvents", "/events", {}, lambda n: {**EVENT, "member": "x" * n}, 256),
    ("postEvents", "/events", {}, lambda n: {"id": "1", "updates": shares(n)}, 20),
]


@pytest.mark.parametrize(("name", "path", "arguments", "sized", "most"), SIZED, ids=range(len(SIZED)))
def test_bodies_have_the_described_limits(
    stack: Stack, name: str, path: str, arguments: dict[str, Any], sized: Callable[[int], Any], most: int
) -> None:
    operation = OPERATIONS[name]
    schema = operation.definition["requestBody"]["content"]["application/json"]["schema"]
    validator = jsonschema_rs.Draft202012Validator({**schema, "components": DESCRIPTION["components"]})
    for size, expected in ((1, True), (most, True), (most + 1, False)):
        body = sized(size)
        status, _, answer = call(stack, operation.method, path, arguments, body)
        accepted = status < 300 and all(one["status"] == "queued" for one in answer.get("results", ()))

        assert (accepted, validator.is_valid(body)) == (expected, expected), (size, answer)
