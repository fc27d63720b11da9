"""Seasons that are added, changed and dropped; rebuilds, audits and deletion of boards with seasons."""

from typing import Any

from standings.domain.windows.late_and_keep import SEASON_KEPT
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries, entries, rows
from tests.support.builders.seasons import AUTUMN, FOUR, SUMMER, WINTER, at, boards, milliseconds, post, problem, scores
from tests.support.builders.stages.streaming import apply


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
