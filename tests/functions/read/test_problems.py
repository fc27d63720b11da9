"""Every problem of the query function says what is wrong and how to correct it."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.support.aws.stack import Stack, http_event
from tests.support.builders.querying import ALL, post

PROBLEMS = [
    (404, "no-such-board", "/boards/a%20b/points/all", {}, "'a b'"),
    (404, "no-such-metric", "/boards/b/goals/all", {}, "no metric 'goals'; there are: points"),
    (404, "no-such-window", "/boards/b/points/year", {}, "windows: all, day"),
    (404, "no-such-window", "/boards/golf-1/rounds/all", {}, "windows: none"),
    (404, "no-such-member", f"{ALL}/rank", {"member": "nobody"}, "no member 'nobody'"),
    (404, "not-ranked", "/boards/b/points/day/rank", {"member": "old"}, "'old' has no event in this period"),
    (
        404,
        "period-gone",
        "/boards/b/points/day",
        {"period": "2026-01-01"},
        "could be read until 2026-02-06T00:00:00.000Z",
    ),
    (404, "no-such-path", "/", {}, "at /"),
    (404, "no-such-path", "/boards/b/points", {}, "/boards/b/points"),
    (404, "no-such-path", "/boards/b/points/all/rank/x", {}, ""),
    (400, "bad-argument", ALL, {"limit": 0}, "limit: expected from 1 to 1000, got 0"),
    (400, "bad-argument", ALL, {"limit": 1001}, "limit: expected from 1 to 1000"),
    (400, "bad-argument", ALL, {"limit": "ten"}, "limit: expected a whole number of up to 15 digits, got 'ten'"),
    (400, "bad-argument", ALL, {"limit": "9" * 5000}, "limit: expected a whole number"),
    (400, "bad-argument", ALL, {"limit": "²"}, "limit: expected a whole number"),
    (400, "bad-argument", ALL, {"colour": "red"}, "colour: no such argument; there are period, method, limit"),
    (400, "bad-argument", ALL, {"method": "magic"}, "method: "),
    (400, "bad-argument", ALL, {"period": "2026-11-20"}, "period: the window 'all' has no periods"),
    (400, "bad-argument", "/boards/b/points/day", {"period": "yesterday"}, "period: expected a day such as 2026-11-20"),
    (400, "bad-argument", "/boards/b/points/day", {"period": "2026-11-22"}, "period: 2026-11-22 has not begun"),
    (400, "bad-argument", "/boards/b/points/hour", {"period": "2026-11-20"}, "an hour such as 2026-11-20T15"),
    (400, "bad-argument", f"{ALL}/rank", {}, "member: is missing"),
    (400, "bad-argument", f"{ALL}/rank", {"member": ""}, "member: expected 1 to 256 bytes"),
    (400, "bad-argument", f"{ALL}/rank", {"member": "x" * 5000}, "member: expected 1 to 256 bytes"),
    (404, "no-such-board", "/boards/../points/all", {}, "expected a board name of 1 to 128 of"),
    (404, "no-such-board", "/boards/" + "b" * 129 + "/points/all", {}, "expected a board name"),
    (400, "bad-argument", ALL, {"rank": 2, "around": "a"}, "around: a page begins at one place"),
    (400, "bad-argument", ALL, {"cursor": "x", "rank": 1}, "rank: a page begins at one place"),
    (400, "bad-argument", ALL, {"rank": 0}, "rank: expected at least 1"),
    (400, "bad-argument", ALL, {"around": "a", "limit": 5}, "limit: around a member"),
    (400, "bad-argument", ALL, {"around": "a", "radius": 101}, "radius: expected from 0 to 100"),
    (400, "bad-argument", ALL, {"radius": 5}, "radius: is that of the neighbours"),
    (400, "bad-argument", ALL, {"around": ""}, "around: expected 1 to 256 bytes"),
    (404, "no-such-member", ALL, {"around": "nobody"}, "no member 'nobody'"),
    (400, "bad-argument", f"{ALL}/rank", {"score": 1, "member": "a"}, "member: cannot go with score"),
    (400, "bad-argument", f"{ALL}/rank", {"score": 1, "previous": "true"}, "previous: cannot go with score"),
    (400, "bad-argument", f"{ALL}/rank", {"member": "a", "previous": "yes"}, "previous: expected true or false"),
    (400, "bad-argument", f"{ALL}/rank", {"score": "1.5"}, "score: expected a whole number"),
    (400, "bad-argument", f"{ALL}/rank", {"score": "1e16"}, "score: is beyond"),
    (400, "bad-argument", f"{ALL}/rank", {"score": "NaN"}, "score: expected a number"),
    (400, "bad-argument", f"{ALL}/percentile", {}, "p: is missing"),
    (400, "bad-argument", f"{ALL}/percentile", {"p": "0"}, "p: expected a number above 0"),
    (400, "bad-argument", f"{ALL}/percentile", {"p": "100.0000000001"}, "p: expected a number above 0 and at most 100"),
    (400, "bad-argument", f"{ALL}/distribution", {"buckets": 0}, "buckets: expected from 1 to 1000"),
    (400, "bad-argument", "/boards/b/member", {}, "id: is missing"),
    (400, "bad-argument", "/boards/b/member", {"id": "a", "method": "dense"}, "method: "),
    (404, "no-such-member", "/boards/b/member", {"id": "nobody"}, "no member 'nobody'"),
    (400, "bad-argument", "/boards", {"prefix": "a/b"}, "prefix: no name of a board begins"),
    (400, "bad-argument", "/boards", {"cursor": "x"}, "cursor: is altered"),
    (404, "no-such-board", "/boards/..", {}, "expected a board name"),
    (400, "bad-argument", ALL, {"cursor": "x"}, "cursor: is altered"),
    (400, "bad-argument", ALL, {"cursor": ""}, "cursor: is altered"),
    (400, "bad-argument", ALL, {"cursor": "ü"}, "cursor: is altered"),
]


@pytest.mark.parametrize(("status", "kind", "path", "arguments", "detail"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_every_problem_says_what_to_do(
    stack: Stack, status: int, kind: str, path: str, arguments: dict[str, Any], detail: str
) -> None:
    post(stack, {"old": 1}, days_ago=2)
    post(stack, {"old": 1}, board="golf-1", metric="rounds")
    answer = stack.query(
        http_event(path.replace("%20", " "), "&".join(f"{k}={quote(str(v))}" for k, v in arguments.items())), None
    )

    assert answer["statusCode"] == status
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    document = stack.get(path.replace("%20", " "), **arguments)[1]
    assert document["type"] == f"urn:standings:{kind}"
    assert document["status"] == status
    assert detail in document["detail"]


def test_an_argument_given_twice(stack: Stack) -> None:
    answer = stack.query(http_event(ALL, "limit=1&limit=2"), None)

    assert answer["statusCode"] == 400
    assert "limit: is given more than once" in answer["body"]
