"""The OpenAPI description is valid, and the functions answer as it says: every call and argument, answers, limits.

Schemathesis sends valid and invalid requests, generated from the description.
"""

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import jsonschema_rs
import orjson
import pytest
import schemathesis

from tests.support.aws.gateway import serving
from tests.support.aws.stack import Stack, apply, http_event
from tests.support.builders.querying import DAY, MEMBER, deployed, post
from tests.support.documents.openapi import DESCRIPTION, OPERATIONS, assert_valid, described, resolved
from tests.support.thoroughness import TIMES

BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
[boards."cup"]
metrics.best = { aggregate = "max", notes = true, windows = ["all"] }
"""


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with deployed(BOARDS) as stack:
        post(stack, {"a": 1})
        yield stack


def parts_of(node: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in the description, with its place."""
    if isinstance(node, dict):
        yield where, node
        for name, value in node.items():
            yield from parts_of(value, f"{where}/{name}")


def test_it_is_a_valid_description_that_uses_all_that_it_defines_and_examples_are_of_their_schemas() -> None:
    schemathesis.openapi.from_dict(DESCRIPTION).validate()
    used = set(re.findall(r'"#/components/([a-z]+/[A-Za-z]+)"', orjson.dumps(DESCRIPTION).decode(), re.IGNORECASE))
    components = {kind: parts for kind, parts in DESCRIPTION["components"].items() if kind != "securitySchemes"}

    assert used == {f"{kind}/{name}" for kind, parts in components.items() for name in parts}
    assert len(OPERATIONS) == len(list(described()))
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
    answer = stack.function(method, path)(event, None)
    content = orjson.loads(answer["body"]) if answer.get("body") else None
    return answer["statusCode"], answer["headers"].get("Content-Type", ""), content


def test_it_is_served_as_it_is(stack: Stack) -> None:
    assert call(stack, "GET", "/openapi.json", {}) == (200, "application/json", DESCRIPTION)


SHARE: Final = {"board": "b", "member": "a", "metrics": {"points": 1}}
EVENT: Final = {"id": "1", **SHARE}
NOTED: Final = {"id": "9", "board": "cup", "member": "a", "metrics": {"best": 9.5}, "note": {"seed": 7}}
CARD: Final = {"id": "new", "ranks": "true", "method": "dense", "profiles": "true", "notes": "false"}
CALLS: Final[list[tuple[str, str, dict[str, Any], Any]]] = [
    ("putProfile", "/members", {"id": "b"}, {"name": "Ada", "picture": "https://a.example/1", "data": {"x": [1.5]}}),
    ("putMember", MEMBER, {"id": "new"}, None),
    ("putMember", MEMBER, {"id": "new"}, {"hidden": True}),
    ("getMember", MEMBER, CARD, None),
    ("deleteMember", MEMBER, {"id": "new"}, None),
    ("postEvents", "/events", {"dry_run": "false", "history": "true", "wait": 1}, NOTED),
    (
        "postEvents",
        "/events",
        {"dry_run": "true", "history": "false"},
        [{**EVENT, "board": ["b", "c"]}, {"id": "2", "retract": "1"}, {}, 7],
    ),
    ("deleteProfile", "/members", {"id": "b"}, None),
    ("deleteBoard", "/boards/b", {}, None),
    ("doTask", "/tasks", {}, {"boards": {"show": {"boards": ["b"]}}}),
]
"""What changes something. The client's tests compare its reads with the description."""
SUCCESS: Final = {"postEvents": 202, "deleteMember": 204, "deleteProfile": 204, "deleteBoard": 202}


def test_what_is_described_is_accepted_and_answered_as_described(stack: Stack) -> None:
    given: defaultdict[str, set[str]] = defaultdict(set)
    for name, path, arguments, body in CALLS:
        operation = OPERATIONS[name]
        given[name] |= arguments.keys()
        status, kind, answer = call(stack, operation.method, path, arguments, body)
        what = f"{operation.method} {path} {arguments}: {answer}"

        assert status == SUCCESS.get(name, 200), what
        response = operation.definition["responses"][str(status)]
        if "content" in response:
            assert_valid(response["content"][kind]["schema"], answer, what)
        else:
            assert answer is None, what
    assert given == {name: OPERATIONS[name].arguments.keys() for name in given}
    assert given.keys() >= {name for name in OPERATIONS if not name.startswith(("get", "list", "rank"))}


NEEDED: Final[dict[str, dict[str, Any]]] = {
    "radius": {"around": "a"},
    "periods": {"member": "a"},
    "limit of getProfile": {"name": "ad", "board": "b"},
    "limit of listMemberBoards": {"id": "a"},
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
            for bound, beyond in ((schema["minimum"], -1), (schema["maximum"], 1)):
                for value, is_refused in ((bound, False), (bound + beyond, True)):
                    status, *_ = call(stack, operation.method, path, {**more, argument: value}, EVENT)
                    assert (status == 400) == is_refused, (name, argument, value)
    assert found == 9


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
    ("postEvents", "/events", {}, lambda n: {"id": "1", "updates": [SHARE | {"board": f"b{k}"} for k in range(n)]}, 20),
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


ROOT = Path(__file__).parents[3]
SEASON = """
[boards."*"]
shards = 3
metrics.points = { aggregate = "sum", ties = "first", windows = ["all", "day", "hour", "last-7-days"] }
[boards."golf-*"]
timezone = "Europe/Berlin"
metrics.strokes = { aggregate = "sum", order = "ascending", precision = 2, windows = ["all", "day"] }
metrics.rounds = { aggregate = "sum" }
[boards.cup]
metrics.best = { aggregate = "max", precision = 1, least = -5, most = 99.5, notes = true, windows = ["all", "day"] }
"""
NAMED = ["m1", "m2", "images/1.jpg", "用户", "clan#7", "a,b", "x y+z&w=1"]


def events() -> Iterator[dict[str, Any]]:
    """A season of 150 members with many ties over several days, some golf, and a cup whose scores have notes."""
    for number, member in enumerate([*NAMED, *(f"m{number}" for number in range(3, 146))]):
        for day in (21, 20 - number % 5):
            yield event("season", member, day, {"points": number * number % 31 - 3})
    for number, member in enumerate(NAMED):
        yield event("golf-1", member, 21, {"strokes": 70.25 + number, "rounds": 1})
        note = {"note": {"video": f"v{number}", "seed": [number]}} if number % 3 else {}
        # Ids as the members': what the description calls `id` has one of these values.
        yield event("cup", member, 21, {"best": 7.5 - number // 2}) | note | {"id": member}


def event(board: str, member: str, day: int, metrics: dict[str, float]) -> dict[str, Any]:
    at = f"2026-11-{day}T09:00:00Z"
    return {"id": f"{board}-{member}-{day}", "board": board, "member": member, "at": at, "metrics": metrics}


@pytest.mark.parametrize(
    "options",
    [
        ("--phases", "examples,coverage,fuzzing", "--max-examples", "1"),
        pytest.param(("--max-examples", str(20 * TIMES)), marks=pytest.mark.thorough),
    ],
    ids=["some", "all phases"],
)
def test_every_call_does_what_the_description_says(options: tuple[str, ...]) -> None:
    """It prints its seed."""
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", "tests/support/fuzz/schemathesis.toml", "run"]
    # Whether valid data are accepted, other tests show: rules between arguments are not in the schema.
    command += ["--checks", "all", "--exclude-checks", "positive_data_acceptance", *options]
    command += ["--seed", "20261121", "--no-color", "--continue-on-failure"]
    with deployed(SEASON) as stack, serving(stack) as gateway:
        apply(stack, list(events()))
        for member in NAMED:  # Half of what a search looks for is there.
            assert stack.put("/members", {"name": f"Ada {member}", "data": {"x": 1}}, id=member)[0] == 200
        command.append(f"{gateway.address}/openapi.json")
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        print(" ".join(command))
        print(done.stdout[-20_000:], done.stderr[-20_000:])

        assert gateway.raised == []
        assert done.returncode == 0
