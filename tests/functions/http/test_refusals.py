"""What is refused over HTTP: each answer says what is wrong and how to correct it, as described, and writes nothing."""

import re
from collections.abc import Iterator
from typing import Any, Final

import orjson
import pytest

from tests.support.aws.stack import Stack, http_event, project
from tests.support.builders.checks import rows
from tests.support.builders.querying import ALL, DAY, MEMBER, deployed, post
from tests.support.documents.openapi import OPERATIONS, assert_valid, resolved

RANK, HISTORY, RANKS = f"{ALL}/rank", f"{DAY}/history", f"{ALL}/ranks"
LONG: Final = "用" * 86
"""A text of 258 bytes, two more than an id may have."""

BAD_ARGUMENTS: Final = {
    f"{ALL}?limit=0": "limit: expected from 1 to 1000, got 0",
    f"{ALL}?limit=ten": "limit: expected a whole number of up to 15 digits, got 'ten'",
    f"{ALL}?limit={'9' * 16}": "limit: expected a whole number of up to 15 digits",
    f"{ALL}?limit=²": "limit: expected a whole number",
    f"{ALL}?limit=1&limit=2": "limit: is given more than once",
    f"{ALL}?colour=red": "colour: no such argument; there are period, method, limit",
    f"{ALL}?method=magic": "method: expected one of competition, ordinal, dense, got 'magic'",
    f"{ALL}?period=2026-11-20": "period: the window 'all' has no periods",
    f"{DAY}?period=yesterday": "period: expected a day such as 2026-11-20",
    f"{DAY}?period=2026-11-22": "period: 2026-11-22 has not begun",
    "/boards/b/points/hour?period=2026-11-20": "period: expected an hour such as 2026-11-20T15",
    f"{ALL}?rank=2&around=a": "around: a page begins at one place: it cannot go with rank",
    f"{ALL}?cursor=x&rank=1": "rank: a page begins at one place: it cannot go with cursor",
    f"{ALL}?rank=0": "rank: expected a position from 1 on, or from -1 back, got 0",
    f"{ALL}?rank=--1": "rank: expected a whole number",
    f"{ALL}?score=1&rank=1": "score: a page begins at one place: it cannot go with rank",
    f"{ALL}?score=1.5": "score: expected a whole number, got '1.5'",
    f"{ALL}?around=a&limit=5&radius=2": "limit: cannot go with radius",
    f"{ALL}?radius=5": "radius: is only valid with around",
    f"{ALL}?around=": "around: expected 1 to 256 bytes of UTF-8, got 0",
    f"{ALL}?me={LONG}": "me: expected 1 to 256 bytes of UTF-8, got 258",
    f"{ALL}?cursor=x": "cursor: is altered, or of another list",
    f"{ALL}?cursor=": "cursor: is altered",
    f"{ALL}?cursor=ü": "cursor: is altered",
    f"{ALL}?profiles=yes": "profiles: expected true or false, got 'yes'",
    f"{ALL}?notes=true": "notes: metric 'points' keeps none",
    RANK: "member: is missing: say whose rank, or give a score",
    f"{RANK}?member={'x' * 257}": "member: expected 1 to 256 bytes of UTF-8, got 257",
    f"{RANK}?member=%FF": "query: expected UTF-8",
    f"{RANK}?score=1&member=a": "member: cannot go with score",
    f"{RANK}?score=1&previous=true": "previous: cannot go with score",
    f"{RANK}?score=1&profiles=true": "profiles: cannot go with score",
    f"{RANK}?score=1&notes=true": "notes: cannot go with score",
    f"{RANK}?score=1.5": "score: expected a whole number, got '1.5'",
    "/boards/golf-1/strokes/all/rank?score=0.001": "score: expected at most 2 decimals",
    f"{RANK}?score={2**53}": "score: expected at most ±(2^53 - 1) units",
    f"{RANK}?score=NaN": "score: expected a number such as 12 or -0.5, got 'NaN'",
    HISTORY: "member: is missing: say whose history",
    f"{HISTORY}?member={LONG}": "member: expected 1 to 256 bytes",
    f"{HISTORY}?member=a&period=2026-11-22": "period: 2026-11-22 has not begun",
    f"{ALL}/percentile": "p: is missing: say which percentile, such as 90",
    f"{ALL}/percentile?p=-1": "p: expected a number from 0 to 100, with at most 9 decimals, got '-1'",
    f"{ALL}/percentile?p=100.000000001": "p: expected a number from 0 to 100",
    f"{ALL}/percentile?p=0.0000000001": "p: expected a number from 0 to 100, with at most 9 decimals",
    MEMBER: "id: is missing: say which member",
    f"{MEMBER}?id=a&method=dense": "method: is only valid with ranks=true",
    f"{MEMBER}?id={LONG}": "id: expected 1 to 256 bytes",
    "/boards?prefix=a/b": "prefix: no name of a board begins with 'a/b'",
    "/boards?cursor=x": "cursor: is altered",
    "/boards/b?limit=1": "limit: no such argument; there are none",
    "/members": "id: is missing: say whose profile, or give the beginning of a name",
    f"/members?id={LONG}": "id: expected 1 to 256 bytes",
    "/members?id=u1&name=ad": "id: cannot go with name",
    "/members?id=u1&board=b": "board: is only valid with name",
    "/members?id=u1&limit=3": "limit: is only valid with name",
    "/members?name=a": "name: expected at least 2 letters, got 1",
    "/members?name=\u0301\u0301\u0301": "name: expected at least 2 letters, got 0",
    "/members?name=e\u0301": "name: expected at least 2 letters, got 1",
    f"PUT {MEMBER}": "id: is missing: say which member",
    f"PUT {MEMBER}?id=": "id: expected 1 to 256 bytes",
    f"DELETE {MEMBER}?member=m": "member: no such argument; there are id",
    f"DELETE {MEMBER}?id=a&id=b": "id: is given more than once",
    # Decoded as U+FFFD, which is a valid id, it would remove another member.
    f"DELETE {MEMBER}?id=%FF": "query: expected UTF-8",
    "PUT /members": "id: is missing",
    f"DELETE /members?id={LONG}": "id: expected 1 to 256 bytes",
    "POST /events?id=1": "id: no such argument; there are dry_run, history, wait",
    "/events": "id: is missing: say which event",
    "/events?id=": "id: expected 1 to 128 characters, got 0",
    f"/events?id={'x' * 129}": "id: expected 1 to 128 characters, got 129",
}

OF_BOARD: Final = ("/boards/{}/points/all", "PUT /boards/{}/member?id=m", "DELETE /boards/{}/member?id=m")
NO_BOARDS: Final = {
    "no-such-board: expected a board name": ("..", "b" * 129, "x" * 5000),
    "no-such-path: there is nothing at": ("😀", "a\nb", 'a"b', "\ud800", "a\\b"),
}
NOT_FOUND: Final = {
    "/boards/a b/points/all": "no-such-board: expected a board name of 1 to 128 of A-Z a-z 0-9 . _ : -",
    "/boards/..": "no-such-board: expected a board name",
    **{path.format(board): said for said, boards in NO_BOARDS.items() for board in boards for path in OF_BOARD},
    "/members?name=ad&board=a/b": "no-such-board: expected a board name",
    "/boards/b/goals/all": "no-such-metric: board 'b' has no metric 'goals'; there are: points",
    "/boards/b/points/year": "no-such-window: metric 'points' of board 'b' is not ranked in 'year'; windows: all, day",
    "/boards/golf-1/rounds/all": "no-such-window: metric 'rounds' of board 'golf-1' is not ranked in 'all'; windows: n",
    f"{RANK}?member=nobody": "no-such-member: board 'b' has no member 'nobody'",
    f"{ALL}?around=nobody": "no-such-member: board 'b' has no member 'nobody'",
    f"{HISTORY}?member=nobody": "no-such-member: board 'b' has no member 'nobody'",
    f"{MEMBER}?id=nobody": "no-such-member: board 'b' has no member 'nobody'",
    f"DELETE {MEMBER}?id=nobody": "no-such-member: board 'b' has no member 'nobody'",
    "/members?id=nobody": "no-such-member: 'nobody' has no profile",
    "/events?id=nobody": "no-such-event: nothing is known of the event 'nobody': it is on its way, or",
    f"{DAY}/rank?member=old": "not-ranked: 'old' has no event in this period of 'day'",
    f"{RANK}?member=hidden": "not-ranked: 'hidden' is hidden",
    f"{DAY}?period=2026-01-01": "period-gone: this period of 'day' could be read until 2026-02-06T00:00:00.000Z",
    "/boards/b/points": "no-such-path: there is nothing at /boards/b/points",
    f"{RANK}/x": "no-such-path: there is nothing at",
}

GROUP = 'expected an object such as {"members": ["u1", "u2"]}'
BAD_BODIES: Final[list[tuple[str, Any, str]]] = [
    *((f"POST {RANKS}", body, "expected JSON") for body in ("", b"\xed\xa0\x80")),
    (f"POST {RANKS}", [], GROUP),
    (f"POST {RANKS}", {}, GROUP),
    (f"POST {RANKS}", {"members": ["a"], "limit": 1}, GROUP),
    (f"POST {RANKS}", {"members": []}, "members: expected a list of 1 to 100 members"),
    *((f"POST {RANKS}", {"members": [m]}, "members: expected texts of 1 to 256 bytes of UTF-8") for m in (1, "")),
    *((f"PUT {MEMBER}?id=m", body, "expected JSON") for body in ("{", b"\xff", "[" * 100_000)),
    (f"PUT {MEMBER}?id=m", '"\ud800"', "cannot be read"),
    (f"PUT {MEMBER}?id=m", "null", 'expected an object such as {"hidden": true}, or nothing'),
    (f"PUT {MEMBER}?id=m", [], "expected an object such as"),
    *((f"PUT {MEMBER}?id=m", {"hidden": hidden}, "hidden: expected true or false") for hidden in (1, None)),
    (f"PUT {MEMBER}?id=m", {"hidden": True, "banned": True}, "banned: no such field; there is hidden"),
    (f"PUT {MEMBER}?id=m", {"x" * 10_000: 1}, "no such field"),
    *(
        ("PUT /members?id=u1", body, "expected JSON")
        for body in (None, "{", '{"data": {"x": 1e999}}', '{"name": "\\ud800"}', b'{"name": "\xed\xa0\x80"}')
    ),
    ("PUT /members?id=u1", {"hidden": True}, "hidden: no such field; there are name"),
    ("PUT /members?id=u1", {}, "expected at least one of name"),
    ("PUT /members?id=u1", [], "expected an object such as"),
]

REFUSED: Final = [
    *((request, None, "bad-argument", detail) for request, detail in BAD_ARGUMENTS.items()),
    *((request, None, *text.split(": ", 1)) for request, text in NOT_FOUND.items()),
    *((request, body, "bad-body", detail) for request, body, detail in BAD_BODIES),
    (f"PUT /members?id={LONG}", {"name": "Ada"}, "bad-argument", "id: expected 1 to 256 bytes"),
]


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with deployed() as stack:
        post(stack, {"old": 1, "hidden": 2}, days_ago=2)
        post(stack, {"old": 1}, board="golf-1", metric="rounds")
        assert stack.put(MEMBER, {"hidden": True}, id="hidden")[0] == 200
        project(stack)
        yield stack


@pytest.mark.parametrize(("request_", "body", "kind", "detail"), REFUSED, ids=lambda value: str(value)[:60])
def test_every_problem_says_what_to_do(stack: Stack, request_: str, body: Any, kind: str, detail: str) -> None:
    # GET needs no name.
    method, target = request_.split(" ", 1) if request_.startswith(("PUT ", "POST ", "DELETE ")) else ("GET", request_)
    path, _, query = target.partition("?")
    before = [rows(stack.dynamodb, table) for table in ("Scores", "Rankings", "Profiles")]
    answer = stack.function(method, path)(http_event(path, query, method, body), None)
    problem = orjson.loads(answer["body"])

    assert (problem["type"], detail in problem["detail"]) == (f"urn:standings:{kind}", True), problem
    assert answer["statusCode"] == problem["status"] == (400 if kind.startswith("bad-") else 404)
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    # An argument is named first, and what a client sent is cut short.
    assert kind != "bad-argument" or problem["detail"].startswith(detail)
    assert len(problem["detail"]) < 300
    for one in OPERATIONS.values():
        if one.method == method and re.fullmatch(re.sub("{[a-z]+}", "[^/]+", one.path), path):
            response = resolved(one.definition["responses"][str(answer["statusCode"])])
            assert_valid(response["content"]["application/problem+json"]["schema"], problem, request_)
    assert [rows(stack.dynamodb, table) for table in ("Scores", "Rankings", "Profiles")] == before
    assert stack.activity.messages == []


@pytest.mark.parametrize(
    ("request_", "allowed"),
    [
        (f"POST {ALL}", "GET, HEAD"),
        (f"DELETE {RANK}", "GET, HEAD"),
        (f"GET {RANKS}", "POST"),
        ("DELETE /events", "GET, HEAD, POST"),
        ("POST /members", "DELETE, GET, HEAD, PUT"),
        (f"POST {MEMBER}", "DELETE, GET, HEAD, PUT"),
        ("POST /boards/😀/points/all", "GET, HEAD"),
    ],
)
def test_a_known_path_with_another_method_names_those_that_it_has(stack: Stack, request_: str, allowed: str) -> None:
    method, path = request_.split(" ")
    answer = stack.query(http_event(path, "what=ever", method, "{"), None)
    document = orjson.loads(answer["body"])

    assert answer["statusCode"] == document["status"] == 405
    kept = {"Cache-Control": "no-cache", "Content-Type": "application/problem+json"}
    assert answer["headers"] == {"Allow": allowed, **kept}
    assert document["type"] == "urn:standings:method-not-allowed"
    assert document["detail"] == f"{path} takes {allowed}, not {method}"


@pytest.mark.parametrize(
    "path", ["/event", "/events/", "/events/1", "/boards//member", "/boards/b/points", f"{ALL}/ranking", "//"]
)
def test_an_unknown_path_is_none_whatever_the_method(stack: Stack, path: str) -> None:
    for function in (stack.query, stack.command):
        for method in ("GET", "POST", "PUT", "DELETE"):
            answer = function(http_event(path, "", method), None)

            assert (answer["statusCode"], orjson.loads(answer["body"])["type"]) == (404, "urn:standings:no-such-path")
            assert "Allow" not in answer["headers"]


@pytest.mark.parametrize("path", [ALL, RANK, "/boards", "/openapi.json", "/events", "/members", "/", "/nothing"])
def test_head_has_the_status_and_headers_of_get_and_no_body_and_preflight_is_allowed(stack: Stack, path: str) -> None:
    """A gateway with an authorizer on `$default` passes a preflight on, and browsers want a status of 2xx."""
    get, head, preflight = (stack.query(http_event(path, "", method), None) for method in ("GET", "HEAD", "OPTIONS"))

    assert get["body"]
    assert head == {**get, "body": ""}
    assert (preflight["statusCode"], preflight["body"]) == (204, "")
    if tag := get["headers"].get("ETag"):
        again = http_event(path, "", "HEAD") | {"headers": {"if-none-match": tag}}
        assert stack.query(again, None)["statusCode"] == 304


def test_invalid_base_64_is_a_bad_body(stack: Stack) -> None:
    answer = stack.command(http_event("/events", "", "POST", "{}") | {"isBase64Encoded": True}, None)

    assert (answer["statusCode"], orjson.loads(answer["body"])["type"]) == (400, "urn:standings:bad-body")


ODD: Final[tuple[Any, ...]] = (
    *(None, True, 0, 1.5, [], [1], {}, {"a": 1}, {"a": "\ud800"}),
    *("", "x" * 10_000, "a\0b", "\ud800", "id=\ud800"),
)
"""What no gateway sends, and who invokes a function may."""


def places(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield place
    for name, one in value.items() if isinstance(value, dict) else ():
        yield from places(one, (*place, name))


def with_odd(event: Any, place: tuple[str, ...], odd: Any) -> Any:
    return {**event, place[0]: with_odd(event[place[0]], place[1:], odd)} if place else odd


@pytest.mark.parametrize("request_", [f"GET {ALL}", f"POST {RANKS}", f"PUT {MEMBER}", "PUT /members", "POST /events"])
def test_no_event_of_any_shape_ends_a_function(stack: Stack, request_: str) -> None:
    method, path = request_.split(" ")
    whole = http_event(path, "id=a", method, "{}")
    whole["requestContext"] |= {"authorizer": {"jwt": {"claims": {"scope": "x"}}}}
    events = [with_odd(whole, place, odd) for place in places(whole) for odd in ODD]
    texts = ("me=\ud800", "around=\ud800", "cursor=\ud800", "period=\ud800", "method=\ud800", "\ud800=1")
    events += [http_event(path, query, method, "{}") for query in texts]
    for event in events:
        for function in (stack.query, stack.command):
            answer = function(event, None)
            assert answer["statusCode"] < 500
            answer["body"].encode()
    # Of what is no request, the answer names the field.
    for place, field in (((), "rawPath"), (("requestContext", "http"), "requestContext.http"), (("body",), "body")):
        problem = orjson.loads(stack.query(with_odd(whole, place, [1]), None)["body"])
        assert problem["detail"].endswith(f"; {field} is missing or of another type"), problem
