"""Both HTTP functions: paths, methods, arguments and bodies. Bad requests never get a 5xx."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import orjson
import pytest

from standings.domain.errors import no_such_member
from standings.members.register_hide_remove import MemberAdmin
from standings.ports.errors import StoreUnavailableError
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, http_event, running

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
ALL = "/boards/b/points/all"
MEMBER = "/boards/b/member"


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(NOW.timestamp() * 1000))) as deployed:
        yield deployed


@pytest.fixture
def care() -> Iterator[dict[str, mock.Mock]]:
    with mock.patch.multiple(MemberAdmin, put=mock.DEFAULT, remove=mock.DEFAULT) as methods:
        methods["put"].side_effect = lambda board, member, hidden: {
            "board": board,
            "member": member,
            "hidden": bool(hidden),
        }
        yield methods


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", ALL, "GET"),
        ("HEAD", ALL, "GET"),
        ("OPTIONS", ALL, "GET"),
        ("DELETE", f"{ALL}/rank", "GET"),
        ("GET", "/events", "POST"),
        ("HEAD", "/events", "POST"),
        ("DELETE", "/events", "POST"),
    ],
)
def test_a_known_path_with_another_method(stack: Stack, method: str, path: str, allowed: str) -> None:
    answer = stack.query(http_event(path, "what=ever", method, "{"), None)

    assert answer["statusCode"] == 405
    assert answer["headers"] == {
        "Allow": allowed,
        "Cache-Control": "no-cache",
        "Content-Type": "application/problem+json",
    }
    document = orjson.loads(answer["body"])
    assert (document["type"], document["status"]) == ("urn:standings:method-not-allowed", 405)
    assert document["detail"] == f"{path} does not know {method}, only {allowed}"


def test_a_path_of_both_functions_names_the_methods_of_both(stack: Stack) -> None:
    answer = stack.query(http_event(MEMBER, "id=m", "POST", "{}"), None)

    assert answer["statusCode"] == 405
    assert {"PUT", "DELETE"} <= set(answer["headers"]["Allow"].split(", "))


@pytest.mark.parametrize("function", ["query", "command"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "HEAD"])
@pytest.mark.parametrize(
    "path", ["/", "/event", "/events/", "/events/1", "/boards//member", "/boards/b/points", f"{ALL}/ranking", "//"]
)
def test_an_unknown_path(stack: Stack, function: str, method: str, path: str) -> None:
    answer = getattr(stack, function)(http_event(path, "", method), None)

    assert (answer["statusCode"], orjson.loads(answer["body"])["type"]) == (404, "urn:standings:no-such-path")
    assert "Allow" not in answer["headers"]


@pytest.mark.parametrize("board", ["😀", "a\nb", 'a"b', "\ud800", "a\\b", "x" * 5000])
def test_a_board_name_of_any_characters_gets_no_5xx(stack: Stack, board: str, care: Any) -> None:
    assert stack.get(f"/boards/{board}/points/all")[0] == 404
    assert stack.put(f"/boards/{board}/member", id="m")[0] in {200, 404}
    assert stack.delete(f"/boards/{board}/member", id="m")[0] in {204, 404}
    assert stack.query(http_event(f"/boards/{board}/points/all", "", "POST"), None)["statusCode"] == 405
    assert care


@pytest.mark.parametrize(
    ("body", "hidden"),
    [(None, None), ("", None), ({}, None), ({"hidden": True}, True), (b'{"hidden":false}', False)],
)
def test_a_member_is_put(stack: Stack, care: dict[str, mock.Mock], body: Any, hidden: bool | None) -> None:
    member = "用户/a+b&c,d"

    assert stack.put(MEMBER, body, id=member) == (200, {"board": "b", "member": member, "hidden": bool(hidden)})
    care["put"].assert_called_once_with("b", member, hidden)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("{", "expected JSON"),
        (b"\xff", "expected JSON"),
        ('"\ud800"', "cannot be read"),
        ("null", "expected an object"),
        ([], "expected an object"),
        ("true", "expected an object"),
        ({"hidden": 1}, "hidden: expected true or false"),
        ({"hidden": None}, "hidden: expected true or false"),
        ({"hidden": True, "banned": True}, "banned: no such field; there is hidden"),
        ({"x" * 10_000: 1}, "no such field"),
        ("[" * 100_000, "expected JSON"),
    ],
    ids=str,
)
def test_an_invalid_body_for_a_member(stack: Stack, care: dict[str, mock.Mock], body: Any, named: str) -> None:
    status, answer = stack.put(MEMBER, body, id="m")

    assert (status, answer["type"]) == (400, "urn:standings:bad-body")
    assert named in answer["detail"]
    assert len(answer["detail"]) < 300
    care["put"].assert_not_called()


def test_invalid_base_64(stack: Stack) -> None:
    event = http_event("/events", "", "POST", "{}") | {"isBase64Encoded": True}
    answer = stack.command(event, None)

    assert (answer["statusCode"], orjson.loads(answer["body"])["type"]) == (400, "urn:standings:bad-body")


def test_a_member_is_deleted(stack: Stack, care: dict[str, mock.Mock]) -> None:
    answer = stack.command(http_event(MEMBER, "id=a%2Fb", "DELETE"), None)

    assert (answer["statusCode"], answer["body"]) == (204, "")
    care["remove"].assert_called_once_with("b", "a/b")


def test_unknown_and_repeated_arguments_of_writes_are_rejected(stack: Stack, care: dict[str, mock.Mock]) -> None:
    assert stack.put(MEMBER)[1]["detail"] == "id: is missing: say which member"
    assert stack.delete(MEMBER, member="m")[1]["detail"] == "member: no such argument; there are id"
    twice = stack.command(http_event(MEMBER, "id=a&id=b", "DELETE"), None)
    assert orjson.loads(twice["body"])["detail"] == "id: is given more than once"
    care["put"].assert_not_called()
    care["remove"].assert_not_called()


def test_writes_answer_with_problems(stack: Stack, care: dict[str, mock.Mock]) -> None:
    care["remove"].side_effect = no_such_member("b", "m")
    assert stack.delete(MEMBER, id="m")[1]["type"] == "urn:standings:no-such-member"

    care["put"].side_effect = StoreUnavailableError("throttled")
    status, answer = stack.put(MEMBER, id="m")
    assert (status, answer["type"]) == (503, "urn:standings:unavailable")
