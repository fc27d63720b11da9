"""Bugs that were found by attacks over HTTP, each in its smallest form."""

from typing import Any

import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.read import cursors
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, http_event, running
from tests.support.builders.over_http import ALL, BOARDS, MEMBER, NOW, post
from tests.support.builders.stages.streaming import project


def test_the_dense_rank_of_a_score_after_shards_were_lowered(engine: Any) -> None:
    """The root names more shards than boards.toml does."""
    scores = {f"m{number}": 1_000 * number for number in range(50)}
    with running(engine, ManualClock(NOW), BOARDS.format(7)) as before:
        post(before, scores)
    with running(engine, ManualClock(NOW), BOARDS.format(1)) as after:
        status, answer = after.get(f"{ALL}/rank", score=0, method="dense")

    assert (status, answer["rank"]) == (200, 50)


@pytest.mark.parametrize("name", ["", "x" * 1_025], ids=["empty", "long"])
def test_a_forged_cursor_of_boards_is_no_failure(stack: Stack, name: str) -> None:
    """The store rejects such a key."""
    status, answer = stack.get("/boards", cursor=cursors.encode_name(name, ""))

    assert (status, answer["type"]) == (400, "urn:standings:bad-argument")


@pytest.mark.parametrize(("window", "back"), [("year", 2_027), ("year", 99_999), ("month", 24_400)])
def test_a_forged_cursor_before_all_calendars_is_no_failure(stack: Stack, window: str, back: int) -> None:
    """Python has no dates for them."""
    family = parse_boards(BOARDS.format(1)).family("b")
    assert family is not None
    metric = family.metrics["points"]
    ranked = metric.window(window)
    assert ranked is not None
    period = metric.timetable.current(ranked, NOW) - back
    forged = cursors.encode_cursor(
        cursors.Cursor(period, True, "", "competition"), Ranking("b", metric, ranked, period)
    )
    status, answer = stack.get(f"/boards/b/points/{window}", cursor=forged)

    assert (status, answer["type"]) == (400, "urn:standings:bad-argument")


def test_an_id_that_is_not_utf_8_names_no_member(stack: Stack) -> None:
    """Decoded as U+FFFD, which is a valid member id, they would remove another member."""
    post(stack, {"\ufffd": 5})
    answer = stack.command(http_event(MEMBER, "id=%FF", "DELETE"), None)
    project(stack)

    assert answer["statusCode"] in {400, 404}
    assert [entry["member"] for entry in stack.entries(ALL)] == ["\ufffd"]


def test_an_emptied_ranking_has_no_previous_page(stack: Stack) -> None:
    """Its root exists, but all counters are 0."""
    post(stack, {"a": 5})
    assert stack.delete(MEMBER, id="a")[0] == 204
    project(stack)
    status, page = stack.get(ALL, rank=2)

    assert (status, page["total"], page["entries"]) == (200, 0, [])
    assert (page["next"], page["previous"]) == (None, None)


def test_a_refused_event_is_answered_with_its_id(stack: Stack) -> None:
    """The answer has the event's id although the amount is beyond a float."""
    body = '{"id": "x", "board": "b", "member": "m", "metrics": {"points": 1e400}}'
    status, answer = stack.post("/events", body)

    assert (status, answer["results"][0]["status"]) == (202, "refused")
    assert answer["results"][0]["id"] == "x"
    assert "JSONDecodeError" not in answer["results"][0]["detail"]


def test_a_cursor_keeps_the_method_of_its_page(stack: Stack) -> None:
    """The client need not repeat the method."""
    post(stack, {"a": 5, "b": 5, "c": 3, "d": 1})
    _, page = stack.get(ALL, limit=2, method="dense")
    status, following = stack.get(ALL, limit=2, cursor=page["next"])

    assert (status, following["method"]) == (200, "dense")
    assert [entry["rank"] for entry in following["entries"]] == [2, 3]
