"""Seasons over HTTP: by name or a day, in gaps, before the first, and how long each can be read."""

from types import SimpleNamespace
from typing import Any

import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.read import cursors
from standings_cli.__main__ import main
from standings_cli.stack.api import Api
from standings_cli.stack.transport import Transport
from standings_cli.terminal.exit_status import OK
from tests.support.aws.gateway import serving
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.seasons import AUTUMN, FOUR, LIST, WINTER, at, boards, post, problem, scores


def test_a_season_by_its_name_a_day_in_it_or_none(stack: Stack) -> None:
    post(stack, "2026-10-20T09:00", a=5, b=7)

    status, page = stack.get(LIST)
    assert status == 200
    assert page["period"] == {
        "start": "2026-09-01T00:00:00+02:00",
        "end": "2026-11-01T00:00:00+01:00",
        "name": "autumn",
    }
    assert scores(stack) == scores(stack, "autumn") == scores(stack, "2026-10-31") == {"b": 7, "a": 5}
    assert problem(stack, period="winter") == (400, "bad-argument")
    assert problem(stack, period="2026-08-31") == (400, "bad-argument")
    assert problem(stack, period="fall") == (400, "bad-argument")


def test_an_event_counts_in_the_season_that_holds_it_and_in_a_gap_in_all_alone(stack: Stack) -> None:
    at(stack, "2026-11-05T10:00")
    post(stack, "2026-10-31T22:59", a=1)
    post(stack, "2026-10-31T23:00", b=2)  # midnight in Berlin
    post(stack, "2026-08-31T21:59", c=4)
    assert (scores(stack, "autumn"), scores(stack, "winter")) == ({"a": 1}, {"b": 2})

    at(stack, "2026-11-07T22:59")
    post(stack, "2026-10-31T10:00", a=8)
    at(stack, "2026-11-07T23:00")
    post(stack, "2026-10-31T10:00", a=16)
    assert (scores(stack, "autumn"), scores(stack, "winter")) == ({"a": 9}, {"b": 2})
    at(stack, "2027-03-10T10:00")
    post(stack, "2027-03-10T09:00", a=32)
    assert scores(stack) == scores(stack, "winter") == {"b": 2}
    assert {entry["member"]: entry["score"] for entry in stack.entries("/boards/b/points/all")} == {
        "a": 1 + 8 + 16 + 32,
        "b": 2,
        "c": 4,
    }


def test_the_season_before_in_ranks_and_history(stack: Stack) -> None:
    post(stack, "2026-10-20T09:00", a=5, b=7)
    at(stack, "2026-12-01T10:00")
    post(stack, "2026-12-01T09:00", a=9, b=1)

    rank = stack.get(f"{LIST}/rank", member="a", previous="true")[1]
    assert (rank["rank"], rank["previous_rank"]) == (1, 2)
    periods = stack.get(f"{LIST}/history", member="a")[1]["periods"]
    assert [(one["period"]["name"], one["rank"]) for one in periods] == [("winter", 1), ("autumn", 2)]


def test_before_the_first_season(stack: Stack) -> None:
    at(stack, "2026-02-01T10:00")
    post(stack, "2026-02-01T09:00", a=5)

    assert problem(stack) == (404, "no-season-yet")
    assert problem(stack, f"{LIST}/rank", member="a") == (404, "no-season-yet")
    assert problem(stack, period="spring") == (400, "bad-argument")
    (_, season) = stack.get("/boards/b/member", id="a", ranks="true")[1]["metrics"][0]["windows"]
    none = {"start": None, "end": None, "name": None}
    assert season == {
        "window": "season",
        "period": none,
        "score": None,
        "rank": None,
        "percentile": None,
        "total": None,
    }


def test_a_board_tells_its_seasons_by_start(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, boards(WINTER, AUTUMN)) as stack:
        definition = stack.get("/boards/b")[1]

    assert definition["seasons"] == [
        {"name": "autumn", "starts": "2026-09-01", "ends": "2026-11-01"},
        {"name": "winter", "starts": "2026-11-01", "ends": "2027-03-01"},
    ]
    assert definition["metrics"][0]["windows"][1]["period"]["name"] == "autumn"


@pytest.mark.parametrize("back", [1, 10**6, -(10**6), 10**13])
def test_a_forged_cursor_of_no_season_is_no_failure(stack: Stack, back: int) -> None:
    (family,) = parse_boards(FOUR).families
    metric = family.metrics["points"]
    (_, window) = metric.windows
    period = metric.timetable.current(window, stack.clock()) - back
    forged = cursors.encode_cursor(
        cursors.Cursor(period, True, "", "competition"), Ranking("b", metric, window, period)
    )

    assert problem(stack, cursor=forged) == (400, "bad-argument")


def test_a_season_is_kept_until_the_one_after_it_has_ended(stack: Stack) -> None:
    post(stack, "2026-10-20T09:00", a=5)
    at(stack, "2027-03-07T22:59")
    assert scores(stack, "autumn") == {"a": 5}
    at(stack, "2027-03-07T23:00")
    assert problem(stack, period="autumn") == (404, "period-gone")


def test_the_command_line_takes_names_of_seasons(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(stack) as gateway:
        connection = SimpleNamespace(api=Api(gateway.address, Transport(local=True)))
        post(stack, "2026-10-20T09:00", a=5)
        for more in ([], ["--period", "spring"]):
            assert main(["top", "b", "--window", "season", *more], lambda _: connection) == OK

    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("b · ")]
    assert lines[0].startswith("b · points · season · autumn, 2026-09-01 to 2026-10-31 · 1 member")
    assert lines[1].startswith("b · points · season · spring, 2026-03-01 to 2026-05-31 · 0 members")
