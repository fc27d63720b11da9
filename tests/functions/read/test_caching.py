"""What browsers and caches get: 304 for a read that has not changed, what `ReadsMaxAge` lets caches give again, and the
live page, which exists where reads are open: what it may do, whose pictures it shows, who may embed it."""

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
import tzdata

from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import Stack, http_event
from tests.support.builders.querying import ALL, deployed, post

RANKINGS = [
    *(ALL, f"{ALL}?around=a", f"{ALL}?me=a", f"{ALL}/rank?member=a", f"{ALL}/rank?score=1"),
    *(f"{ALL}/history?member=a", f"{ALL}/percentile?p=50", f"{ALL}/distribution"),
]
OTHER_READS = ["/", "/boards", "/boards/b", "/boards/b/member?id=a", "/openapi.json"]
ERRORS = {
    "/boards/other/goals/all": 404,
    f"{ALL}/rank?member=nobody": 404,
    f"{ALL}?limit=0": 400,
    f"{ALL}/ranks": 405,
    "/nothing": 404,
}
KEPT, ASKED = "public, max-age=30", "no-cache"


@pytest.fixture(scope="module", params=[("true", "30")], ids=str)
def stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """The functions with values of `OpenReads` and `ReadsMaxAge`."""
    open_reads, max_age = request.param
    with mock.patch.dict(ENVIRONMENT, {"OPEN_READS": open_reads, "READS_MAX_AGE": max_age}), deployed() as stack:
        post(stack, {"a": 3, "b": 2})
        yield stack


def read(stack: Stack, target: str, known: str | None = None) -> tuple[int, str | None, str | None]:
    """The status of the answer, how it may be kept, and its tag."""
    path, _, query = target.partition("?")
    event = http_event(path, query)
    event["headers"] |= {"if-none-match": known} if known else {}
    answer = stack.query(event, None)
    assert (answer["statusCode"] == 304) == (answer["body"] == "")
    # The gateway names in each answer the one origin that asked; a browser refuses one that names another.
    assert answer["headers"].get("Vary") == ("Origin" if answer["headers"]["Cache-Control"] == KEPT else None)
    return answer["statusCode"], answer["headers"]["Cache-Control"], answer["headers"].get("ETag")


@pytest.mark.parametrize(
    ("target", "kept"), [*((target, KEPT) for target in RANKINGS), *((target, ASKED) for target in OTHER_READS)]
)
def test_the_read_of_a_ranking_is_kept_and_others_are_asked_for_each_time(stack: Stack, target: str, kept: str) -> None:
    status, found, tag = read(stack, target)

    assert (status, found) == (200, kept)
    assert tag is not None
    # A cache that asks again learns for how long it may keep what it has. A gateway marks tags as weak.
    for known in (tag, f'"other", {tag}', f"W/{tag}"):
        assert read(stack, target, known) == (304, kept, tag)


@pytest.mark.parametrize(("target", "status"), ERRORS.items())
def test_nobody_keeps_an_error(stack: Stack, target: str, status: int) -> None:
    assert read(stack, target) == (status, ASKED, None)


def test_nobody_keeps_the_answer_to_a_post(stack: Stack) -> None:
    answer = stack.query(http_event(f"{ALL}/ranks", method="POST", body={"members": ["a"]}), None)

    assert answer["statusCode"] == 200
    assert not answer["headers"].keys() & {"Cache-Control", "ETag"}


@pytest.mark.parametrize("stack", [("true", "0"), ("false", "30"), ("", "30")], indirect=True)
@pytest.mark.parametrize("target", RANKINGS)
def test_nobody_keeps_a_read_by_default_or_where_reads_are_not_open(stack: Stack, target: str) -> None:
    assert read(stack, target)[:2] == (200, ASKED)


def test_a_read_that_has_changed_has_another_tag(stack: Stack) -> None:
    tag = read(stack, ALL)[2]
    post(stack, {"a": 1}, days_ago=1)
    status, _, other = read(stack, ALL, tag)

    assert (status, other != tag) == (200, True)


def page(name: str = "OPEN_READS", value: str = "true") -> dict[str, Any]:
    """The page of a stack where reads are open, with a variable of its environment."""
    with mock.patch.dict(ENVIRONMENT, {"OPEN_READS": "true", name: value}), deployed() as stack:
        return stack.query(http_event("/", "board=b&kiosk"), None)


def policy_of(answer: dict[str, Any]) -> dict[str, str]:
    return dict(part.split(" ", 1) for part in answer["headers"]["Content-Security-Policy"].split("; "))


@pytest.mark.parametrize(
    ("opened", "accept", "kind"),
    [
        ("true", "application/json", "application/json"),
        ("true", "text/html,application/json;q=0.9,*/*;q=0.8", "text/html"),
        ("true", None, "text/html"),
        ("false", "text/html", "application/json"),
        ("false", None, "application/json"),
    ],
)
def test_the_root_names_the_version_of_the_time_zones(opened: str, accept: str | None, kind: str) -> None:
    with mock.patch.dict(ENVIRONMENT, {"OPEN_READS": opened}), deployed() as stack:
        event = http_event("/")
        answer = stack.query(event | {"headers": event["headers"] | ({"accept": accept} if accept else {})}, None)

    assert (answer["statusCode"], answer["headers"]["Content-Type"].partition(";")[0]) == (200, kind)
    html = f'<meta name="time-zones" content="{tzdata.IANA_VERSION}">'
    assert (html in answer["body"]) if kind == "text/html" else (tzdata.IANA_VERSION in answer["body"])


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
    # Nor does it read a time zone.
    assert re.findall(r"time_?zone\b[^,}]*", body, re.IGNORECASE) == ['timeZone: "UTC"']


@pytest.mark.parametrize(
    ("named", "sources"),
    [("", "data:"), ("a.example b.example:8443", "data: https://a.example https://b.example:8443")],
)
def test_pictures_come_from_the_named_hosts_alone(named: str, sources: str) -> None:
    answer = page("PICTURE_ORIGINS", named.replace(" ", ","))

    assert policy_of(answer)["img-src"] == sources
    assert f'<meta name="picture-hosts" content="{named}">' in answer["body"]


@pytest.mark.parametrize(
    ("named", "ancestors"),
    [("", "'none'"), ("https://a.example:8443 http://b", "'self' https://a.example:8443 http://b")],
)
def test_pages_of_the_named_origins_alone_may_show_it_in_a_frame(named: str, ancestors: str) -> None:
    answer = page("EMBED_ORIGINS", named.replace(" ", ","))

    assert policy_of(answer)["frame-ancestors"] == ancestors
    # It would forbid what the policy allows, and it cannot name an origin.
    assert "X-Frame-Options" not in answer["headers"]


@pytest.mark.parametrize("open_reads", ["false", ""])
def test_there_is_no_page_where_reads_are_not_open(open_reads: str) -> None:
    answer = page("OPEN_READS", open_reads)

    assert (answer["statusCode"], "no-such-path" in answer["body"]) == (404, True)
