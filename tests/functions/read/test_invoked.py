"""The query function invoked without the API, by the event that `docs/how-to/invoke-directly.md` shows."""

import json
import re
from typing import Any, Final

import pytest

from tests.support.aws.documented import documented
from tests.support.aws.stack import Stack, apply, http_event
from tests.support.awslambda.pollers import Context
from tests.support.documents.pages import PROJECT

PAGE: Final = (PROJECT / "docs" / "how-to" / "invoke-directly.md").read_text(encoding="utf-8")
BOARDS: Final = """
[boards."berlin-*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
"""
RANKING: Final = "/boards/berlin-2026/points/all"


@pytest.fixture
def event(stack: Stack) -> dict[str, Any]:
    """The event of the page. Its board has the member, and one with a name that has to be encoded."""
    for number, (member, points) in enumerate({"u123": 5, "a&b c": 9}.items()):
        counted = {"id": f"e{number}", "board": "berlin-2026", "member": member, "metrics": {"points": points}}
        apply(stack, [{**counted, "at": "2026-11-21T10:00:00Z"}])
    (shown,) = re.findall(r"<!-- event: .*? -->\n```json\n(.*?)```", PAGE, re.DOTALL)
    event: dict[str, Any] = json.loads(shown)
    return event


def test_the_event_of_the_page_is_part_of_what_the_api_sends(event: dict[str, Any]) -> None:
    def fields(value: Any, where: str = "") -> set[str]:
        inner = value.items() if isinstance(value, dict) else ()
        return {where}.union(*(fields(one, f"{where}.{name}") for name, one in inner))

    sent = documented("http-iam")

    assert fields(event) <= fields(sent)
    for name in ("version", "rawPath", "rawQueryString"):
        assert event[name] == sent[name], name


def test_the_answer_is_that_of_the_api_and_mistakes_are_problems(stack: Stack, event: dict[str, Any]) -> None:
    """Arguments are encoded, and bodies are texts."""
    path, query = event["rawPath"], event["rawQueryString"]
    invoked = stack.query(event, Context())

    assert invoked == stack.query(http_event(path, query), Context())
    assert (invoked["statusCode"], json.loads(invoked["body"])["rank"]) == (200, 2)
    again = stack.query({**event, "headers": {"if-none-match": invoked["headers"]["ETag"]}}, Context())
    assert (again["statusCode"], again["body"]) == (304, "")
    group = {**event, "rawPath": f"{RANKING}/ranks", "rawQueryString": "", "body": json.dumps({"members": ["u123"]})}
    group["requestContext"] = {"stage": "$default", "http": {"method": "POST"}}
    first = stack.query({**event, "rawQueryString": "member=a%26b%20c"}, Context())
    unknown = stack.query({**event, "rawQueryString": "member=nobody"}, Context())

    assert json.loads(first["body"])["rank"] == 1
    assert [one["rank"] for one in json.loads(stack.query(group, Context())["body"])["entries"]] == [2]
    assert (unknown["statusCode"], json.loads(unknown["body"])["status"]) == (404, 404)


def test_a_caller_without_a_token_is_an_administrator_for_the_command_function(stack: Stack) -> None:
    """So the page says that nobody should get a permission to invoke that one."""
    event = {"rawPath": "/members", "rawQueryString": "id=u123", "body": '{"name": "Ada"}', "headers": {}}
    written = stack.command({**event, "requestContext": {"stage": "$default", "http": {"method": "PUT"}}}, Context())

    assert written["statusCode"] == 200
    assert "takes a caller without a token for an administrator" in " ".join(PAGE.split())
