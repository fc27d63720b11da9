"""The live page, which exists where reads are open; and 304 for reads that the client already has."""

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, http_event, running
from tests.support.builders.stages.streaming import apply, project
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

NOW = 1_795_256_100_000


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Stack]:
    engine = Engine()
    create_tables(engine)
    monkeypatch.setitem(ENVIRONMENT, "OPEN_READS", getattr(request, "param", "true"))
    with running(engine, ManualClock(NOW)) as deployed:
        yield deployed


def read(stack: Stack, path: str, query: str = "", **headers: str) -> dict[str, Any]:
    event = http_event(path, query)
    event["headers"] |= headers
    return stack.query(event, None)


def page_with(monkeypatch: pytest.MonkeyPatch, name: str, value: str | None) -> dict[str, Any]:
    """The page of a stack with a variable of its environment; None leaves it out."""
    monkeypatch.setitem(ENVIRONMENT, "OPEN_READS", "true")
    if value is not None:
        monkeypatch.setitem(ENVIRONMENT, name, value)
    engine = Engine()
    create_tables(engine)
    with running(engine, ManualClock(NOW)) as deployed:
        return read(deployed, "/")


def policy_of(answer: dict[str, Any]) -> dict[str, str]:
    return dict(part.split(" ", 1) for part in answer["headers"]["Content-Security-Policy"].split("; "))


def post(stack: Stack, event_id: str, points: int) -> None:
    event = {"id": event_id, "board": "b", "member": "m", "at": "2026-11-21T10:15:00Z", "metrics": {"points": points}}
    apply(stack, [event])
    project(stack)


def test_the_page_may_do_nothing_but_run_its_own_script_and_ask_its_own_origin(stack: Stack) -> None:
    answer = read(stack, "/", "board=b&kiosk")

    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (200, "text/html; charset=utf-8")
    policy = policy_of(answer)
    for element in ("script", "style"):
        (content,) = re.findall(f"<{element}>(.*?)</{element}>", answer["body"], re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert policy[f"{element}-src"] == f"'sha256-{digest}'"
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"


def test_the_page_requests_no_other_origin_and_never_parses_text_as_html(stack: Stack) -> None:
    body = read(stack, "/")["body"]

    assert set(re.findall(r"https?://[^'\"\s]+", body)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"innerHTML|outerHTML\s*=|insertAdjacentHTML|document\.write|\bon[a-z]+=|style=", body)


@pytest.mark.parametrize(
    ("hosts", "sources", "named"),
    [
        ("", "data:", ""),
        ("a.example", "data: https://a.example", "a.example"),
        ("a.example,b.example:8443", "data: https://a.example https://b.example:8443", "a.example b.example:8443"),
    ],
)
def test_pictures_come_from_the_named_hosts_alone(
    monkeypatch: pytest.MonkeyPatch, hosts: str, sources: str, named: str
) -> None:
    answer = page_with(monkeypatch, "PICTURE_ORIGINS", hosts)

    assert policy_of(answer)["img-src"] == sources
    assert f'<meta name="picture-hosts" content="{named}">' in answer["body"]


@pytest.mark.parametrize(
    ("origins", "ancestors"),
    [
        (None, "'none'"),
        ("", "'none'"),
        ("https://club.example", "'self' https://club.example"),
        ("https://a.example:8443,http://localhost:8000", "'self' https://a.example:8443 http://localhost:8000"),
    ],
)
def test_pages_of_the_named_origins_alone_may_show_it_in_a_frame(
    monkeypatch: pytest.MonkeyPatch, origins: str | None, ancestors: str
) -> None:
    answer = page_with(monkeypatch, "EMBED_ORIGINS", origins)

    assert policy_of(answer)["frame-ancestors"] == ancestors
    # It would forbid what the policy allows, and it cannot name an origin.
    assert "X-Frame-Options" not in answer["headers"]


@pytest.mark.parametrize("stack", ["false", ""], indirect=True)
def test_there_is_no_page_where_reads_are_not_open(stack: Stack) -> None:
    answer = read(stack, "/")

    assert answer["statusCode"] == 404
    assert "no-such-path" in answer["body"]


def test_a_read_that_has_not_changed_comes_without_its_body(stack: Stack) -> None:
    post(stack, "1", 3)
    path = "/boards/b/points/all"
    first = read(stack, path)
    tag = first["headers"]["ETag"]
    assert first["statusCode"] == 200

    for known in (tag, f'"other", {tag}', f"W/{tag}"):
        again = read(stack, path, **{"if-none-match": known})
        assert (again["statusCode"], again["body"], again["headers"]["ETag"]) == (304, "", tag)

    post(stack, "2", 4)
    changed = read(stack, path, **{"if-none-match": tag})
    assert changed["statusCode"] == 200
    assert '"score":7' in changed["body"]
    assert changed["headers"]["ETag"] != tag


def test_an_error_has_no_tag(stack: Stack) -> None:
    answer = read(stack, "/boards/b/other/all")

    assert answer["statusCode"] == 404
    assert "ETag" not in answer["headers"]
