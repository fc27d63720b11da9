"""`ReadsMaxAge`: which answers browsers and a CDN may give again, and which they must ask for each time."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, http_event, running
from tests.support.builders.querying import ALL, BOARDS, NOW, post
from tests.support.builders.stages.streaming import project

RANKINGS = [
    (ALL, ""),
    (ALL, "around=a"),
    (ALL, "me=a"),
    (f"{ALL}/rank", "member=a"),
    (f"{ALL}/rank", "score=1"),
    (f"{ALL}/history", "member=a"),
    (f"{ALL}/percentile", "p=50"),
    (f"{ALL}/distribution", ""),
]
OTHER_READS = [("/", ""), ("/boards", ""), ("/boards/b", ""), ("/boards/b/member", "id=a"), ("/openapi.json", "")]
KEPT, ASKED = "public, max-age=30", "no-cache"


@pytest.fixture
def stack(engine: Any, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Stack]:
    reads, max_age = getattr(request, "param", ("true", "30"))
    monkeypatch.setitem(ENVIRONMENT, "OPEN_READS", reads)
    monkeypatch.setitem(ENVIRONMENT, "READS_MAX_AGE", max_age)
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as deployed:
        post(deployed, {"a": 3, "b": 2})
        project(deployed)
        yield deployed


def read(stack: Stack, path: str, query: str, **headers: str) -> tuple[int, str | None, str | None]:
    """The status of the answer, how it may be kept, and its tag."""
    event = http_event(path, query)
    event["headers"] |= headers
    answer = stack.query(event, None)
    return answer["statusCode"], answer["headers"].get("Cache-Control"), answer["headers"].get("ETag")


@pytest.mark.parametrize(("path", "query"), RANKINGS)
def test_the_read_of_a_ranking_is_kept(stack: Stack, path: str, query: str) -> None:
    status, kept, tag = read(stack, path, query)
    assert (status, kept) == (HTTPStatus.OK, KEPT)
    assert tag

    # A cache that asks again learns for how long it may keep what it has.
    assert read(stack, path, query, **{"if-none-match": tag}) == (HTTPStatus.NOT_MODIFIED, KEPT, tag)


def test_what_is_kept_for_a_page_of_one_origin_is_not_given_to_one_of_another(stack: Stack) -> None:
    # The gateway names in each answer the one origin that asked, and a browser refuses an answer that names another.
    answer = stack.query(http_event(ALL, ""), None)
    assert answer["headers"]["Vary"] == "Origin"
    known = http_event(ALL, "")
    known["headers"]["if-none-match"] = answer["headers"]["ETag"]
    assert stack.query(known, None)["headers"]["Vary"] == "Origin"


@pytest.mark.parametrize(("path", "query"), OTHER_READS)
def test_other_reads_are_asked_for_each_time(stack: Stack, path: str, query: str) -> None:
    status, kept, tag = read(stack, path, query)

    assert (status, kept) == (HTTPStatus.OK, ASKED)
    assert tag
    assert read(stack, path, query, **{"if-none-match": tag}) == (HTTPStatus.NOT_MODIFIED, ASKED, tag)


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/boards/other/goals/all", "", HTTPStatus.NOT_FOUND),
        (f"{ALL}/rank", "member=nobody", HTTPStatus.NOT_FOUND),
        (ALL, "limit=0", HTTPStatus.BAD_REQUEST),
        (f"{ALL}/ranks", "", HTTPStatus.METHOD_NOT_ALLOWED),
        ("/nothing", "", HTTPStatus.NOT_FOUND),
    ],
)
def test_nobody_keeps_an_error(stack: Stack, path: str, query: str, status: HTTPStatus) -> None:
    assert read(stack, path, query) == (status, ASKED, None)


def test_nobody_keeps_the_answer_to_a_post(stack: Stack) -> None:
    answer = stack.query(http_event(f"{ALL}/ranks", method="POST", body={"members": ["a"]}), None)

    assert answer["statusCode"] == HTTPStatus.OK
    assert not answer["headers"].keys() & {"Cache-Control", "ETag"}


@pytest.mark.parametrize("stack", [("true", "0"), ("false", "30"), ("", "30")], indirect=True)
@pytest.mark.parametrize(("path", "query"), RANKINGS)
def test_nobody_keeps_a_read_by_default_or_where_reads_are_not_open(stack: Stack, path: str, query: str) -> None:
    assert read(stack, path, query)[:2] == (HTTPStatus.OK, ASKED)
