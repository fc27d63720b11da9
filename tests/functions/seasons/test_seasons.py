"""Seasons: read by name or day, in gaps, while kept; added, changed and dropped; rebuilt and deleted."""

from typing import Any

import pytest

from standings.domain.boards import Ranking
from standings.domain.boards_toml import parse_boards
from standings.domain.windows import SEASON_KEPT
from standings.read import cursors
from tests.support.aws.stack import ManualClock, Stack, apply, running
from tests.support.builders.checks import rows
from tests.support.builders.maintenance import finish
from tests.support.builders.seasons import AUTUMN, FOUR, LIST, SUMMER, WINTER, at, boards, milliseconds, post


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    clock = ManualClock(milliseconds("2026-10-20T10:00"))
    # Whatever is remembered of boards goes by the same clock.
    monkeypatch.setattr("time.monotonic", lambda: clock() / 1000)
    return clock


def scores(stack: Stack, period: str | None = None) -> dict[str, int]:
    """The list of a season: scores by member."""
    return {entry["member"]: entry["score"] for entry in stack.entries(LIST, period=period)}


def problem(stack: Stack, path: str = LIST, **arguments: Any) -> tuple[int, str]:
    """The status and the type of a problem that is answered."""
    status, answer = stack.get(path, **arguments)
    return status, answer["type"].removeprefix("urn:standings:")


BOARDS = FOUR
BAD = (400, "bad-argument")
GONE = (404, "period-gone")


def test_a_season_by_its_name_a_day_in_it_or_none(stack: Stack) -> None:
    post(stack, "2026-10-20T09:00", a=5, b=7)

    status, page = stack.get(LIST)
    assert status == 200
    starts, ends = "2026-09-01T00:00:00+02:00", "2026-11-01T00:00:00+01:00"
    instants = {"starts": starts, "ends": ends, "start": starts, "end": ends}
    assert page["period"] == {"name": "autumn", **instants, "previous": "spring", "next": None}
    assert scores(stack) == scores(stack, "autumn") == scores(stack, "2026-10-31") == {"b": 7, "a": 5}
    for period in ("winter", "2026-08-31", "fall"):
        assert problem(stack, period=period) == BAD


def test_before_the_first_season(stack: Stack) -> None:
    at(stack, "2026-02-01T10:00")
    post(stack, "2026-02-01T09:00", a=5)

    assert stack.get(LIST)[1]["detail"] == "the first season of board 'b', 'spring', has not begun"
    assert problem(stack) == (404, "no-season-yet")
    assert problem(stack, f"{LIST}/rank", member="a") == (404, "no-season-yet")
    assert problem(stack, period="spring") == BAD
    (_, season) = stack.get("/boards/b/member", id="a", ranks="true")[1]["metrics"][0]["windows"]
    nothing = {"score": None, "rank": None, "percentile": None, "total": None}
    assert season == {"window": "season", "period": dict.fromkeys(season["period"]), **nothing}


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
    cursor = cursors.Cursor(period, True, "", "competition")

    assert problem(stack, cursor=cursors.encode_cursor(cursor, Ranking("b", metric, window, period))) == BAD


def test_a_season_that_is_added_later_lets_the_one_before_be_read_again(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, boards(AUTUMN)) as stack:
        post(stack, "2026-10-20T09:00", a=5, b=7)
        at(stack, "2027-05-20T10:00")
        assert problem(stack) == GONE
        assert stack.put("/boards/b/member", {"hidden": True}, id="b")[0] == 200
        apply(stack, [])
    with running(engine, clock, boards(AUTUMN, SUMMER)) as stack:
        at(stack, "2027-06-01T10:00")
        assert (scores(stack), scores(stack, "autumn")) == ({}, {"a": 5})
        mine = [row for row in rows(engine, "Rankings") if row["pk"]["S"].endswith("#a") and "e" in row]
        (expiry,) = {int(row["e"]["N"]) for row in mine}
        assert expiry * 1000 >= milliseconds("2026-10-31T23:00") + SEASON_KEPT


def test_a_record_of_a_board_is_written_once_on_a_day(stack: Stack, engine: Any) -> None:
    def version() -> int:
        (record,) = (row for row in rows(engine, "Scores") if row["pk"]["S"] == "#boards")
        return int(record["v"]["N"])

    post(stack, "2026-10-20T09:00", a=5)
    at(stack, "2026-10-20T12:00")
    post(stack, "2026-10-20T09:30", a=5)
    assert version() == 1
    at(stack, "2026-10-21T12:00")
    for minutes in (30, 40):
        post(stack, f"2026-10-21T09:{minutes}", a=5)
    at(stack, "2026-10-21T12:30")
    post(stack, "2026-10-21T09:50", a=5)
    assert version() == 2


def test_a_deletion_knows_the_seasons_of_earlier_definitions(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, FOUR) as stack:
        post(stack, "2026-10-20T09:00", a=5, b=7)
        at(stack, "2026-11-05T10:00")
        post(stack, "2026-11-05T09:00", a=1, c=2)
        finish(stack, "rebuild", board="b")
        assert (scores(stack, "autumn"), scores(stack, "winter")) == ({"b": 7, "a": 5}, {"c": 2, "a": 1})
    with running(engine, clock, boards(SUMMER)) as stack:
        finish(stack, "delete", board="b")
        assert not [row for row in rows(engine, "Rankings") if "r" in row or "/" in row["pk"]["S"]]
