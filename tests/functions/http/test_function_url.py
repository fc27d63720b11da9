"""Requests to a function URL: the query function answers each read byte for byte as over the API, and no write.

Both send payload format 2.0. But the API decodes the path, and a function URL does not:
https://github.com/middleapi/standard-server/pull/93 has captures of both.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import orjson
import pytest

from standings.calls import CALLS, READ
from tests.functions.http.test_refusals import REFUSED
from tests.support.aws.documented import documented
from tests.support.aws.stack import Stack, http_event, url_event
from tests.support.builders.checks import rows
from tests.support.builders.querying import deployed, post

BOARD: Final = "open:2026_1.a-b"
"""Clients encode the colon: a function URL passes `open%3A2026_1.a-b`."""
RANKING: Final = f"/boards/{BOARD}/points/all"
MEMBERS: Final = {"a&b c": 5, "用户/1": 7, "100%25": 9, "u+1": 11}
GROUP: Final = {"members": ["用户/1", "nobody"]}
READS: Final[list[tuple[str, str, Any, int]]] = [
    *((path, "", None, 200) for path in ("/", "/openapi.json", f"/boards/{BOARD}", f"{RANKING}/distribution")),
    ("/boards", "prefix=open%3A", None, 200),
    (f"/boards/{BOARD}/member", "id=a%26b%20c&ranks=true", None, 200),
    ("/members/boards", "id=u%2B1&ranks=true", None, 200),
    (RANKING, "limit=2&me=u%2B1", None, 200),
    (RANKING, "around=%E7%94%A8%E6%88%B7%2F1&radius=1", None, 200),
    (f"{RANKING}/rank", "member=100%2525", None, 200),
    (f"{RANKING}/rank", "member=u%2B1&member=u%2B1", None, 400),
    (f"{RANKING}/history", "member=u%2B1", None, 200),
    (f"{RANKING}/percentile", "p=50", None, 200),
    *((f"{RANKING}/ranks", "", body, 200) for body in (GROUP, orjson.dumps(GROUP))),
    *((f"{RANKING}/ranks", "", body, 400) for body in ("{", b"\xff")),
    ("/members", "name=ad&board=open%3A2026_1.a-b", None, 200),
    ("/members", "id=u%2B1", None, 200),
    *((path, "", None, 404) for path in ("/boards/a%3Ab", "/boards/a%2Fb", "/boards/b/", "//", "/用户")),
]
"""The decoded path, the arguments, the body and the status."""


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with deployed() as stack:
        post(stack, MEMBERS, board=BOARD)
        assert stack.put("/members", {"name": "Ada"}, id="u+1")[0] == 200
        yield stack


def both(stack: Stack, method: str, path: str, query: str, body: Any, **more: Any) -> list[dict[str, Any]]:
    """The answers to a request to the API, and to the same to a function URL."""
    return [stack.query({**event(path, query, method, body), **more}, None) for event in (http_event, url_event)]


def called(method: str, path: str) -> set[str]:
    """The names of the calls that a request is."""
    patterns = {name: re.sub("<[a-z]+>", "[^/]+", call.path) for name, call in CALLS.items() if call.method == method}
    return {name for name, pattern in patterns.items() if re.fullmatch(pattern, path)}


def test_each_read_is_among_them() -> None:
    asked = {name for path, _, body, _ in READS for name in called("GET" if body is None else "POST", path)}
    assert asked == {name for name, call in CALLS.items() if call.scope == READ}


@pytest.mark.parametrize(("path", "query", "body", "status"), READS, ids=lambda value: ascii(value)[:50])
def test_a_read_is_answered_as_over_the_api(stack: Stack, path: str, query: str, body: Any, status: int) -> None:
    method = "GET" if body is None else "POST"
    joined = {"queryStringParameters": {"member": "u+1,u+1"}, "cookies": ["member=a", "b=2"], "routeKey": "$default"}
    for more in ({}, joined):
        api, url = both(stack, method, path, query, body, **more)
        assert (url, url["statusCode"]) == (api, status)
    if method == "GET" and status == 200:
        api, url = both(stack, "GET", path, query, None, headers={"if-none-match": url["headers"]["ETag"]})
        assert (url, url["statusCode"]) == (api, 304)
    for other in ("HEAD", "OPTIONS", "PATCH"):
        api, url = both(stack, other, path, query, body)
        assert url == api


def test_a_refusal_is_the_same_as_over_the_api(stack: Stack) -> None:
    for one in REFUSED:
        request, body = str(one[0]), one[1]
        method, target = request.split(" ", 1) if request.startswith(("PUT ", "POST ", "DELETE ")) else ("GET", request)
        path, _, query = target.partition("?")
        if stack.function(method, path) is stack.query and "\ud800" not in path:
            api, url = both(stack, method, path, query, body)
            assert url == api, request


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if call.scope != READ])
def test_what_another_function_answers_is_sent_to_the_api(stack: Stack, name: str) -> None:
    tables = ("Scores", "Rankings", "Profiles", "Receipts")
    call, before = CALLS[name], [rows(stack.dynamodb, table) for table in tables]
    path = call.path.replace("<board>", BOARD)
    answer = stack.query(url_event(path, "id=u%2B1", call.method, None if call.method == "GET" else "{}"), None)
    problem = orjson.loads(answer["body"])

    assert (answer["statusCode"], problem["type"]) == (404, "urn:standings:no-such-path")
    sent = f"this address does not take {call.method} {path}: send it to the stack's API (ApiUrl)"
    assert problem["detail"].startswith(sent)
    assert [rows(stack.dynamodb, table) for table in tables] == before
    assert stack.activity.messages == []


def mapped(event: dict[str, Any], prefix: str, domain: str) -> dict[str, Any]:
    """A request below a path of a domain: what the domain maps to the API, or a CDN passes on, stays in the path."""
    path = f"{prefix}{event['rawPath']}"
    http = {**event["requestContext"]["http"], "path": path}
    return {**event, "rawPath": path, "requestContext": {**event["requestContext"], "domainName": domain, "http": http}}


@pytest.mark.parametrize("prefix", ["/ranks", "/games/v1.0/ranks"])
def test_a_path_of_a_domain_is_no_part_of_a_call(stack: Stack, prefix: str) -> None:
    """A custom domain of the API may map one, and a CDN may pass one on to the function URL."""
    documented_ones = [documented(name) for name in ("http-iam", "url-iam")]
    domains = ["api.example.com", documented_ones[1]["requestContext"]["domainName"]]
    for path, query, body, _ in READS:
        method = "GET" if body is None else "POST"
        for event, whole, domain in zip((http_event, url_event), documented_ones, domains, strict=True):
            plain = event(path, query, method, body)
            plain = {**whole, **plain, "requestContext": {**whole["requestContext"], **plain["requestContext"]}}
            at_root, below = stack.query(plain, None), stack.query(mapped(plain, prefix, domain), None)
            if at_root["statusCode"] == 404:
                assert below["statusCode"] == 404, path
            else:
                assert below == at_root, path
    # With a stage that has a name, a domain's request has that name instead.
    staged = mapped(http_event("/boards"), "/prod", domains[0])
    staged["requestContext"]["stage"] = "prod"
    assert stack.query(staged, None) == stack.query(http_event("/boards"), None)
    posted = http_event("/events", "", "POST", {"id": "1", "board": BOARD, "member": "u", "metrics": {"points": 1}})
    assert stack.command(mapped(posted, prefix, domains[0]), None)["statusCode"] == 202
    assert stack.query(mapped(url_event("/events", "", "POST", "{}"), prefix, domains[1]), None)["statusCode"] == 404


def test_an_address_without_a_domain_has_no_path_of_its_own(stack: Stack) -> None:
    of_api = documented("http-iam")["requestContext"]["domainName"]
    assert stack.query(mapped(http_event("/boards"), "/ranks", of_api), None)["statusCode"] == 404
    for path in ("/ranks", "/robots.txt", "/boards/b/", "/ranks//", "/boards/b/c/d/e/f"):
        assert stack.query(mapped(http_event(path), "", "api.example.com"), None)["statusCode"] == 404, path
