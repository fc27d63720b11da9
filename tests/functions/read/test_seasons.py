"""Seasons through the real functions: reads, gaps, late events, changed definitions, rebuilds and deletion."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.domain.windows.late_and_keep import SEASON_KEPT
from standings.read import cursors
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries, entries, rows
from tests.support.builders.stages.streaming import apply

SPRING = '{ name = "spring", starts = "2026-03-01", ends = "2026-06-01" }'
AUTUMN = '{ name = "autumn", starts = "2026-09-01", ends = "2026-11-01" }'
WINTER = '{ name = "winter", starts = "2026-11-01", ends = "2027-03-01" }'
SUMMER = '{ name = "summer", starts = "2027-06-01", ends = "2027-09-01" }'
LIST = "/boards/b/points/season"


def boards(*seasons: str) -> str:
    return (
        f'[boards."*"]\ntimezone = "Europe/Berlin"\nseasons = [{", ".join(seasons)}]\n'
        'metrics.points = { aggregate = "sum", windows = ["all", "season"] }\n'
    )


FOUR = boards(SPRING, AUTUMN, WINTER, SUMMER)


def milliseconds(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    clock = ManualClock(milliseconds("2026-10-20T10:00"))
    # Whatever is remembered of boards goes by the same clock.
    monkeypatch.setattr("time.monotonic", lambda: clock() / 1000)
    return clock


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock, FOUR) as deployed:
        yield deployed


def at(stack: Stack, text: str) -> None:
    stack.clock.milliseconds = milliseconds(text)


def post(stack: Stack, when: str, **scores: int) -> None:
    body = {"board": "b", "at": f"{when}:00Z"}
    apply(
        stack,
        [
            {"id": f"{when}{name}{stack.clock()}", **body, "member": name, "metrics": {"points": score}}
            for name, score in scores.items()
        ],
    )


def scores(stack: Stack, period: str | None = None) -> dict[str, int]:
    return {entry["member"]: entry["score"] for entry in stack.entries(LIST, period=period)}


def problem(stack: Stack, path: str = LIST, **arguments: Any) -> tuple[int, str]:
    status, answer = stack.get(path, **arguments)
    return status, answer["type"].removeprefix("urn:standings:")


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


def test_a_season_that_is_added_later_lets_the_one_before_be_read_again(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, boards(AUTUMN)) as stack:
        post(stack, "2026-10-20T09:00", a=5, b=7)
        at(stack, "2027-05-20T10:00")
        assert problem(stack) == (404, "period-gone")
        assert stack.put("/boards/b/member", {"hidden": True}, id="b")[0] == 200
        apply(stack, [])
    with running(engine, clock, boards(AUTUMN, SUMMER)) as stack:
        at(stack, "2027-06-01T10:00")
        assert (scores(stack), scores(stack, "autumn")) == ({}, {"a": 5})
        (expiry,) = {
            int(row["e"]["N"]) for row in rows(engine, "Rankings") if row["pk"]["S"].endswith("#a") and "e" in row
        }
        assert expiry * 1000 >= milliseconds("2026-10-31T23:00") + SEASON_KEPT


def test_a_season_added_before_it_begins_needs_no_rebuild_even_if_the_board_rests(
    engine: Any, clock: ManualClock
) -> None:
    with running(engine, clock, boards(AUTUMN)) as stack:
        post(stack, "2026-10-20T09:00", a=5)
    clock.milliseconds = milliseconds("2026-10-31T22:40")
    with running(engine, clock, boards(AUTUMN, WINTER)) as stack:
        at(stack, "2026-12-24T10:00")
        assert scores(stack) == {}
        post(stack, "2026-12-24T09:00", a=7)
        assert (scores(stack), scores(stack, "autumn")) == ({"a": 7}, {"a": 5})


def test_a_season_added_after_it_began_is_not_built_and_no_rebuild_makes_up_lost_events(
    engine: Any, clock: ManualClock
) -> None:
    clock.milliseconds = milliseconds("2026-12-01T10:00")
    with running(engine, clock, boards(AUTUMN)) as stack:
        post(stack, "2026-12-01T09:00", a=5)
    with running(engine, clock, FOUR) as stack:
        assert problem(stack) == (404, "not-built")
        post(stack, "2026-12-01T09:30", a=6)
        finish(stack, "rebuild")
        assert problem(stack) == (404, "not-built")
        at(stack, "2027-06-01T10:00")
        post(stack, "2027-06-01T09:00", a=7)
        assert scores(stack) == {"a": 7}


def test_the_window_itself_is_added_by_a_rebuild_and_shows_what_has_not_begun(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }') as stack:
        post(stack, "2026-10-20T09:00", a=5)
    with running(engine, clock, FOUR) as stack:
        assert problem(stack) == (404, "not-built")
        finish(stack, "rebuild")
        assert problem(stack) == (404, "not-built")
        at(stack, "2026-11-20T10:00")
        post(stack, "2026-11-20T09:00", a=7)
        assert scores(stack) == {"a": 7}


def test_a_changed_season_is_another_ranking_and_the_old_one_comes_back_unharmed(
    engine: Any, clock: ManualClock
) -> None:
    longer = AUTUMN.replace("2026-11-01", "2026-11-02")
    with running(engine, clock, boards(AUTUMN)) as stack:
        post(stack, "2026-10-20T09:00", a=5)
    with running(engine, clock, boards(longer)) as stack:
        assert problem(stack) == (404, "not-built")
    with running(engine, clock, boards(AUTUMN)) as stack:
        assert scores(stack) == {"a": 5}  # nobody was active meanwhile


def test_a_record_of_a_board_is_written_once_on_a_day(stack: Stack, engine: Any) -> None:
    def version() -> int:
        (record,) = (row for row in rows(engine, "Scores") if row["pk"]["S"] == "#boards")
        return int(record["v"]["N"])

    post(stack, "2026-10-20T09:00", a=5)
    at(stack, "2026-10-20T12:00")
    post(stack, "2026-10-20T09:30", a=5)
    assert version() == 1
    at(stack, "2026-10-21T12:00")
    post(stack, "2026-10-21T09:30", a=5)
    post(stack, "2026-10-21T09:40", a=5)
    at(stack, "2026-10-21T12:30")
    post(stack, "2026-10-21T09:50", a=5)
    assert version() == 2


def test_rebuild_audit_and_deletion_know_all_seasons(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, FOUR) as stack:
        post(stack, "2026-10-20T09:00", a=5, b=7)
        at(stack, "2026-11-05T10:00")
        post(stack, "2026-11-05T09:00", a=1, c=2)
        finish(stack, "rebuild")
        assert (scores(stack, "autumn"), scores(stack, "winter")) == ({"b": 7, "a": 5}, {"c": 2, "a": 1})
        assert {key.partition("~")[2] for key in entries(engine)} == {"1"}
        assert_tiers_count_the_entries(engine)
        assert audit(stack) == {"members": 3, "rankings": 4, "drift": 0}  # all, winter, autumn and still spring

        (lost,) = (row for row in rows(engine, "Rankings") if row["pk"]["S"].endswith("#b") and _is_of_a_season(row))
        engine.delete_item(TableName="Rankings", Key={"pk": lost["pk"]})
        assert audit(stack)["drift"] > 0
        finish(stack, "rebuild")
        assert audit(stack)["drift"] == 0
    with running(engine, clock, boards(SUMMER)) as stack:  # which does not know the others any more
        finish(stack, "delete")
        assert not [row for row in rows(engine, "Rankings") if "r" in row or "/" in row["pk"]["S"]]


def _is_of_a_season(row: Any) -> bool:
    return len(row["pk"]["S"].split("#")[1]) > 10


def audit(stack: Stack) -> dict[str, int]:
    """What an audit read, and how many differences it found."""
    answer = stack.maintenance({"audit": {"board": "b"}}, Context())
    (report,) = answer["boards"]
    looked_at = report["looked_at"]
    return {"members": looked_at["members"], "rankings": looked_at["rankings"], "drift": answer["drift"]}


def finish(stack: Stack, task: str) -> None:
    """Run a job of the board to its end."""
    answer = stack.maintenance({task: {"board": "b"}}, Context())
    while not answer["done"]:
        apply(stack, [])
        stack.clock.milliseconds += round(answer["wait"] * 1000)
        answer = stack.maintenance({task: {"board": "b", "begin": False}}, Context())
