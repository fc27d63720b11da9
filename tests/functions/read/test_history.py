"""A member's history over HTTP: its rank in every period that can be read, newest first, and what it costs."""

from random import Random
from typing import Any

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.read.reader import OPEN, Limits
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.querying import DAY, post

ROLLING = "/boards/b/points/last-7-days"
LONG = '[boards."*"]\nlate = "100 days"\nkeep = "200 days"\nmetrics.points = { aggregate = "sum", windows = ["%s"] }'
Row = tuple[str, int | None, int | None, int]
"""The first day or hour of a period, the member's rank and score, and how many members are ranked."""


def rows(stack: Stack, path: str, member: str = "a", **arguments: Any) -> list[Row]:
    status, answer = stack.get(f"{path}/history", member=member, **arguments)
    assert status == 200, answer
    return [(each["period"]["start"], each["rank"], each["score"], each["total"]) for each in answer["periods"]]


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
    assert OPEN.shared(100) == Limits(10, 50, 50, 4)
