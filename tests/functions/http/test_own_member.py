"""With `JwtMemberClaim` the bearer of a token writes for one member alone, unless it is an administrator."""

from collections.abc import Iterator
from typing import Any, Final

import orjson
import pytest

from tests.support.aws.stack import Stack, http_event
from tests.support.builders.querying import deployed
from tests.support.documents.openapi import OPERATIONS, assert_valid, resolved

WRITE: Final = "standings/write"
ADMIN: Final = "standings/write standings/admin"


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    monkeypatch.setenv("JWT_MEMBER_CLAIM", "sub")
    with deployed() as stack:
        yield stack


def event(member: Any = "u1", number: int = 1, **more: Any) -> dict[str, Any]:
    return {"id": f"e{number}", "board": "b", "member": member, "metrics": {"points": 1}, **more}


def updates(*members: str) -> dict[str, Any]:
    shares = [{"board": "b", "member": member, "metrics": {"points": 1}} for member in members]
    return {"id": "u", "updates": shares}


def call(stack: Stack, method: str, path: str, body: Any, query: str = "", **claims: str) -> tuple[int, Any]:
    request = http_event(path, query, method, body)
    request["requestContext"]["authorizer"] = {"jwt": {"claims": claims, "scopes": None}}
    answer = stack.command(request, None)
    content = orjson.loads(answer["body"])
    if answer["statusCode"] == 403:
        operation = OPERATIONS["postEvents" if method == "POST" else "putProfile"]
        response = resolved(operation.definition["responses"]["403"])
        assert_valid(response["content"]["application/problem+json"]["schema"], content, path)
        assert content["type"] == "urn:standings:not-your-member"
    return answer["statusCode"], content


def post(stack: Stack, body: Any, scope: str = WRITE, **claims: str) -> tuple[int, Any]:
    return call(stack, "POST", "/events", body, scope=scope, **claims)


@pytest.mark.parametrize("body", [event(), [event(), event(number=2)], updates("u1"), updates("u1", "u1")])
def test_ones_own_events_are_queued(stack: Stack, body: Any) -> None:
    status, answer = post(stack, body, sub="u1")

    assert (status, {result["status"] for result in answer["results"]}) == (202, {"queued"})
    assert stack.activity.messages


@pytest.mark.parametrize(
    "body",
    [
        event("u2"),
        [event(), event("u2", 2)],
        [event(), updates("u1", "u2")],
        updates("u2"),
        event("u2", metrics="none"),
        {**event(), **updates("u2")},
        event(["u1"]),
        b'[{"id": "\\ud800", "board": "b", "member": "u2", "metrics": {"points": 1}}]',
        b'{"id": "e", "board": "b", "member": "u1", "member": "u2", "metrics": {"points": 1}}',
    ],
)
def test_events_of_others_are_refused_whole(stack: Stack, body: Any) -> None:
    status, answer = post(stack, body, sub="u1")

    assert (status, stack.activity.messages) == (403, [])
    assert "u2" not in answer["detail"]


def test_an_administrator_posts_for_anyone_and_a_token_without_the_claim_for_nobody(stack: Stack) -> None:
    for scope in (ADMIN, "[standings/write standings/admin]"):
        assert post(stack, [event(), event("u2", 2)], scope, sub="u1")[0] == 202
    status, answer = post(stack, event())
    assert (status, answer["detail"].startswith("the token has no claim sub")) == (403, True)


def test_only_an_administrator_corrects_events(stack: Stack) -> None:
    for body in (event(correct="e0"), [event(), {"id": "r", "retract": "e0"}]):
        status, answer = post(stack, body, sub="u1")
        assert (status, stack.activity.messages) == (403, [])
        assert "a correction needs the scope standings/admin, so no event was posted" in answer["detail"]
        assert post(stack, body, ADMIN)[0] == 202
        stack.activity.messages.clear()


def test_ones_own_profile_can_be_written_and_no_other(stack: Stack) -> None:
    def put(member: str, scope: str = WRITE) -> int:
        return call(stack, "PUT", "/members", {"name": "Ada"}, f"id={member}", scope=scope, sub="u1")[0]

    assert (put("u1"), put("u2")) == (200, 403)
    assert stack.get("/members", id="u2")[0] == 404
    assert put("u2", ADMIN) == 200


@pytest.mark.parametrize("claim", ["", "sub"])
@pytest.mark.parametrize("path", ["PUT /boards/b/member", "DELETE /boards/b/member", "DELETE /members", "PUT /members"])
def test_a_route_without_a_scope_lets_nobody_but_administrators_change_members(
    monkeypatch: pytest.MonkeyPatch, path: str, claim: str
) -> None:
    """The gateway asks for the scope too. A route that somebody changed by hand does not."""
    monkeypatch.setenv("JWT_MEMBER_CLAIM", claim)
    method, path = path.split(" ")
    body = {"name": "Ada"} if (method, path) == ("PUT", "/members") else {}
    with deployed() as stack:
        # Without the parameter, claims do not matter.
        assert post(stack, event("u2"), sub="u1")[0] == (403 if claim else 202)
        status, answer = call(stack, method, path, body, "id=u2", scope=WRITE, sub="u1")
        assert status == 403
        if method == "PUT":
            assert call(stack, method, path, body, "id=u2", scope=ADMIN, sub="u1")[0] == 200
    assert claim or "lacks the scope standings/admin" in answer["detail"]
