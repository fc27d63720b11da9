"""Seasons are settled under their names, by hand and by schedule."""

import pytest

from standings.domain.errors import InvalidArgumentError
from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context
from tests.support.builders.settling.leagues import FINAL, lines_in, play, post, settle_whole, sorted_lines

CUP = {"board": "cup-1", "window": "season"}
FILES = "results/cup-1/points/season/autumn-2026/"


def test_a_season_is_settled_by_its_name_or_a_day_in_it_and_is_the_latest_that_is_final(stack: Stack) -> None:
    scores = play(stack, 1, board="cup-1")
    (early,) = settle_whole(stack, **CUP, period="autumn-2026")["rankings"]
    assert early["why"] == "the period is final at 2026-11-22T00:05:00.000Z: settle it then"
    stack.clock.milliseconds = FINAL

    answers = [settle_whole(stack, **CUP, period=period) for period in ("autumn-2026", "2026-11-12", None)]

    assert answers[0] == answers[1] == answers[2]
    (told,) = answers[0]["rankings"]
    assert (told["settled"], told["period"], told["prefix"]) == (True, "autumn-2026", FILES)
    assert lines_in(stack.bucket.results, FILES) == sorted_lines(scores)
    won = [event for event in stack.bus.events if event["type"] == "Prize Won"]
    best = max(scores.values())
    assert {event["member"] for event in won} == {member for member, points in scores.items() if points == best}
    assert {(event["prize"], event["period"]) for event in won} == {("cup", "autumn-2026")}


def test_a_schedule_settles_a_season_once(stack: Stack) -> None:
    play(stack, 2, board="cup-1")
    stack.clock.milliseconds = FINAL

    first, second = (stack.maintenance({"settlements": {"next": {}}}, Context(seconds=900)) for _ in range(2))

    assert [(told["board"], told["period"], told["settled"]) for told in first["rankings"]] == [
        ("cup-1", "autumn-2026", True)
    ]
    assert second["rankings"] == []


def test_a_season_that_is_running_or_not_there_is_not_settled(stack: Stack) -> None:
    play(stack, 3, board="cup-1")
    stack.clock.milliseconds = FINAL

    (running,) = settle_whole(stack, **CUP, period="winter-2026")["rankings"]

    assert (running["settled"], running["why"]) == (
        False,
        "the period is final at 2026-12-21T00:05:00.000Z: settle it then",
    )
    with pytest.raises(ValueError, match="seasons: autumn-2026, winter-2026"):
        settle_whole(stack, **CUP, period="spring-2026")
    post(stack, "later-1", {"m": 1})
    with pytest.raises(InvalidArgumentError, match="board 'later-1' has had no season yet"):
        settle_whole(stack, board="later-1", window="season", period=None)
    assert stack.bucket.results == {}
