"""The live page, which exists where reads are open: what it may do, whose pictures it shows, who may embed it."""

import base64
import hashlib
import re
from typing import Any
from unittest import mock

import pytest

from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import http_event
from tests.support.builders.querying import deployed


def page(name: str = "OPEN_READS", value: str = "true") -> dict[str, Any]:
    """The page of a stack where reads are open, with a variable of its environment."""
    with mock.patch.dict(ENVIRONMENT, {"OPEN_READS": "true", name: value}), deployed() as stack:
        return stack.query(http_event("/", "board=b&kiosk"), None)


def policy_of(answer: dict[str, Any]) -> dict[str, str]:
    return dict(part.split(" ", 1) for part in answer["headers"]["Content-Security-Policy"].split("; "))


def test_the_page_may_do_nothing_but_run_its_own_script_and_ask_its_own_origin() -> None:
    answer = page()

    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (200, "text/html; charset=utf-8")
    policy = policy_of(answer)
    for element in ("script", "style"):
        (content,) = re.findall(f"<{element}>(.*?)</{element}>", answer["body"], re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert policy[f"{element}-src"] == f"'sha256-{digest}'"
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"


def test_the_page_requests_no_other_origin_and_never_parses_text_as_html() -> None:
    body = page()["body"]

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
def test_pictures_come_from_the_named_hosts_alone(hosts: str, sources: str, named: str) -> None:
    answer = page("PICTURE_ORIGINS", hosts)

    assert policy_of(answer)["img-src"] == sources
    assert f'<meta name="picture-hosts" content="{named}">' in answer["body"]


@pytest.mark.parametrize(
    ("origins", "ancestors"),
    [
        ("", "'none'"),
        ("https://club.example", "'self' https://club.example"),
        ("https://a.example:8443,http://localhost:8000", "'self' https://a.example:8443 http://localhost:8000"),
    ],
)
def test_pages_of_the_named_origins_alone_may_show_it_in_a_frame(origins: str, ancestors: str) -> None:
    answer = page("EMBED_ORIGINS", origins)

    assert policy_of(answer)["frame-ancestors"] == ancestors
    # It would forbid what the policy allows, and it cannot name an origin.
    assert "X-Frame-Options" not in answer["headers"]


@pytest.mark.parametrize("open_reads", ["false", ""])
def test_there_is_no_page_where_reads_are_not_open(open_reads: str) -> None:
    answer = page("OPEN_READS", open_reads)

    assert answer["statusCode"] == 404
    assert "no-such-path" in answer["body"]
