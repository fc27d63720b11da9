"""A member's history over HTTP: its rank in every period that can be read, newest first, and what it costs."""

from random import Random
from typing import Any

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.domain.windows.calendar import DAY as A_DAY
from standings.read.reader import OPEN, Limits
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.querying import ALL, DAY, MEMBER, post
from tests.support.builders.stages.streaming import apply

ROLLING = "/boards/b/points/last-7-days"
LONG = '[boards."*"]\nlate = "100 days"\nkeep = "200 days"\nmetrics.points = { aggregate = "sum", windows = ["%s"] }'
Row = tuple[str, int | None, int | None, int]
"""The first day or hour of a period, the member's rank and score, and how many members are ranked."""


def rows(stack: Stack, path: str, member: str = "a", **arguments: Any) -> list[Row]:
    status, answer = stack.get(f"{path}/history", member=member, **arguments)
    assert status == 200, answer
    return [(each["period"]["start"], each["rank"], each["score"], each["total"]) for each in answer["periods"]]


def test_days_newest_first(stack: Stack) -> None:
    post(stack, {"a": 5, "b": 7})
    post(stack, {"b": 1}, days_ago=1)
    post(stack, {"a": 9}, days_ago=2)
    days = [
        ("2026-11-21T00:00:00Z", 2, 5, 2),
        ("2026-11-20T00:00:00Z", None, None, 1),
        ("2026-11-19T00:00:00Z", 1, 9, 1),
        ("2026-11-18T00:00:00Z", None, None, 0),
    ]

    assert rows(stack, DAY, periods=4) == days
    assert rows(stack, DAY, periods=2, period="2026-11-20") == days[1:3]
    assert len(rows(stack, DAY)) == 14
    assert [row[1:] for row in rows(stack, ROLLING, periods=3)] == [(1, 14, 2), (1, 9, 2), (1, 9, 1)]
    assert [row[1:] for row in rows(stack, ALL, periods=5)] == [(1, 14, 2)]
    head = stack.get(f"{DAY}/history", member="a")[1]
    rank = stack.get(f"{DAY}/rank", member="a")[1]
    assert all(head[name] == rank[name] for name in head.keys() - {"periods"})


def test_periods_that_are_no_longer_kept_are_left_out(stack: Stack) -> None:
    post(stack, {"a": 5})
    stack.clock.milliseconds += 10 * A_DAY
    post(stack, {"a": 8})
    kept = rows(stack, DAY, periods=100)

    # A day can be read for 35 days after its end, a rolling period for as long as it takes late events.
    assert (kept[0][0], kept[-1][0]) == ("2026-12-01T00:00:00Z", "2026-10-27T00:00:00Z")
    assert [row[2] for row in kept if row[2] is not None] == [8, 5]
    assert [row[2] for row in rows(stack, ROLLING, periods=100)] == [8, None, None, None, 5, 5, 5, 5]
    stack.clock.milliseconds += 26 * A_DAY
    assert rows(stack, DAY, periods=100)[-1][0] == "2026-11-22T00:00:00Z"
    assert {row[2] for row in rows(stack, DAY, periods=100)} == {8, None}


def test_a_hidden_member_is_ranked_in_no_period_and_a_removed_one_is_not_found(stack: Stack) -> None:
    post(stack, {"a": 5, "b": 7})
    stack.put(MEMBER, {"hidden": True}, id="a")
    apply(stack, [])
    assert {row[1:3] for row in rows(stack, DAY)} == {(None, None)}
    stack.delete(MEMBER, id="a")
    apply(stack, [])
    status, problem = stack.get(f"{DAY}/history", member="a")
    assert (status, problem["type"]) == (404, "urn:standings:no-such-member")


def test_a_calendar_window_costs_three_units_a_period(engine: Any) -> None:
    """Scores are below 2^28 units and few members share one, so each rank takes as many nodes as any."""
    text = LONG % "day"
    family = parse_boards(text).family("b")
    assert family is not None
    (metric,) = family.metrics.values()
    today = metric.timetable.current(metric.windows[0], population.NOW)
    for day in range(100):
        scores = population.finegrained(Random(day), 50)
        population.place_members(engine, Ranking("b", metric, metric.windows[0], today - day), scores)
    meter = Meter(engine)
    with running(meter, ManualClock(population.NOW), text) as stack:
        stack.get(DAY)  # the board's record is read once a minute
        for periods in (1, 2, 14, 100):
            for number in range(5):
                before = meter.snapshot()
                found = rows(stack, DAY, population.member(number), periods=periods)
                assert (meter.snapshot() - before).total.read <= 3 * periods
                assert len([row for row in found if row[1] is not None]) == periods


def test_a_rolling_window_costs_six_units_a_period(engine: Any) -> None:
    """One period costs what a rank costs; the row and the log are read once for all periods."""
    meter = Meter(engine)
    with running(meter, ManualClock(population.NOW), LONG % "last-7-days") as stack:
        for days_ago in (0, 3, 40):
            post(stack, population.finegrained(Random(1), 70), days_ago=days_ago)
        member = population.member(7)
        for periods in (2, 14, 100):
            stack.get(ROLLING)
            before = meter.snapshot()
            assert len(rows(stack, ROLLING, member, periods=periods)) == periods
            assert (meter.snapshot() - before).total.read <= 6 * periods
        before = meter.snapshot()
        stack.get(f"{ROLLING}/rank", member=member)
        rank = meter.snapshot()
        rows(stack, ROLLING, member, periods=1)
        assert meter.snapshot() - rank == rank - before


def test_the_periods_share_the_limits_of_a_request(stack: Stack) -> None:
    """Else a history of a hundred periods would read a hundred times what one rank may."""
    post(stack, {f"m{n:02}": 5 for n in range(31)})
    stack.query.__globals__["_reader"].limits = Limits(equals=60, scores=60, entries=60)

    status, problem = stack.get(f"{DAY}/history", member="m30", method="ordinal", periods=3)
    assert (status, problem["type"]) == (400, "urn:standings:too-far")
    assert rows(stack, DAY, "m30", method="ordinal", periods=2)[0][1] == 31
    assert OPEN.shared(100) == Limits(10, 50, 50)
