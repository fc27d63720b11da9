"""A member's history over HTTP: its rank in every period that can be read, newest first."""

from datetime import datetime
from random import Random
from typing import Any

import pytest

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.domain.windows.calendar import DAY
from standings.read.reader import OPEN, Limits
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.querying import ALL, BOARDS, post
from tests.support.builders.stages.streaming import apply

DAYS = "/boards/b/points/day/history"
ROLLING = "/boards/b/points/last-7-days/history"
BERLIN = '[boards."*"]\ntimezone = "Europe/Berlin"\nmetrics.points = { aggregate = "sum", windows = ["day", "hour"] }'
Row = tuple[str, int | None, int | None, int]
"""The first day or hour of a period, the member's rank and score, and how many members are ranked."""


def rows(stack: Stack, path: str, member: str = "a", **arguments: Any) -> list[Row]:
    status, answer = stack.get(path, member=member, **arguments)
    assert status == 200, answer
    return [(each["period"]["start"], each["rank"], each["score"], each["total"]) for each in answer["periods"]]


def refused(stack: Stack, path: str, **arguments: Any) -> tuple[int, str]:
    status, answer = stack.get(path, **arguments)
    return status, answer["type"].removeprefix("urn:standings:")


def test_days_newest_first(stack: Stack) -> None:
    post(stack, {"a": 5, "b": 7})
    post(stack, {"b": 1}, days_ago=1)
    post(stack, {"a": 9}, days_ago=2)

    assert rows(stack, DAYS, periods=4) == [
        ("2026-11-21T00:00:00Z", 2, 5, 2),
        ("2026-11-20T00:00:00Z", None, None, 1),
        ("2026-11-19T00:00:00Z", 1, 9, 1),
        ("2026-11-18T00:00:00Z", None, None, 0),
    ]
    assert len(rows(stack, DAYS)) == 14
    assert [row[1:] for row in rows(stack, ROLLING, periods=3)] == [(1, 14, 2), (1, 9, 2), (1, 9, 1)]
    assert [row[1:] for row in rows(stack, f"{ALL}/history", periods=5)] == [(1, 14, 2)]
    head = stack.get(DAYS, member="a")[1]
    rank = stack.get("/boards/b/points/day/rank", member="a")[1]
    assert all(head[name] == rank[name] for name in head.keys() - {"periods"})


def test_from_another_period_on(stack: Stack) -> None:
    post(stack, {"a": 5})
    post(stack, {"a": 9}, days_ago=2)

    assert [row[:3] for row in rows(stack, DAYS, periods=2, period="2026-11-20")] == [
        ("2026-11-20T00:00:00Z", None, None),
        ("2026-11-19T00:00:00Z", 1, 9),
    ]


def test_a_late_event_changes_the_day_it_falls_in(stack: Stack) -> None:
    post(stack, {"a": 5, "b": 7})
    post(stack, {"b": 4}, days_ago=3)
    before = rows(stack, DAYS, periods=5)
    post(stack, {"a": 6}, days_ago=3)
    after = rows(stack, DAYS, periods=5)

    assert (before[3][1:], after[3][1:]) == ((None, None, 1), (1, 6, 2))
    assert [row for row in after if row not in before] == [after[3]]


def test_periods_that_are_no_longer_kept_are_left_out(stack: Stack) -> None:
    post(stack, {"a": 5})
    stack.clock.milliseconds += 10 * DAY
    later = {"id": "later", "board": "b", "member": "a", "at": "2026-12-01T10:00:00Z", "metrics": {"points": 8}}
    apply(stack, [later])
    kept = rows(stack, DAYS, periods=100)

    # A day can be read for 35 days after its end, a rolling period for as long as it takes late events.
    assert (kept[0][0], kept[-1][0]) == ("2026-12-01T00:00:00Z", "2026-10-27T00:00:00Z")
    assert [row[2] for row in kept if row[2] is not None] == [8, 5]
    assert [row[2] for row in rows(stack, ROLLING, periods=100)] == [8, None, None, None, 5, 5, 5, 5]
    stack.clock.milliseconds += 26 * DAY
    assert rows(stack, DAYS, periods=100)[-1][0] == "2026-11-22T00:00:00Z"
    assert {row[2] for row in rows(stack, DAYS, periods=100)} == {8, None}


def test_days_on_which_the_clocks_change(engine: Any) -> None:
    def at(text: str) -> int:
        return int(datetime.fromisoformat(text).timestamp() * 1000)

    with running(engine, ManualClock(at("2026-10-26T01:30:00+01:00")), BERLIN) as stack:
        hours = ("2026-10-24T23:59:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00")
        for number, hour in enumerate((*hours, "2026-10-26T00:00:00+01:00")):
            metrics = {"points": 10**number}
            apply(stack, [{"id": hour, "board": "b", "member": "a", "at": hour, "metrics": metrics}])

        assert [row[::2] for row in rows(stack, DAYS, periods=3)] == [
            ("2026-10-26T00:00:00+01:00", 1000),
            ("2026-10-25T00:00:00+02:00", 110),
            ("2026-10-24T00:00:00+02:00", 1),
        ]
        by_hour = rows(stack, "/boards/b/points/hour/history", periods=3, period="2026-10-25T03+01:00")
        assert [row[::2] for row in by_hour] == [
            ("2026-10-25T03:00:00+01:00", None),
            ("2026-10-25T02:00:00+01:00", 100),
            ("2026-10-25T02:00:00+02:00", 10),
        ]


def test_a_hidden_member_is_ranked_in_no_period_and_an_unknown_one_is_not_found(stack: Stack) -> None:
    post(stack, {"a": 5, "b": 7})
    stack.put("/boards/b/member", {"hidden": True}, id="a")
    apply(stack, [])

    assert {row[1:3] for row in rows(stack, DAYS)} == {(None, None)}
    assert refused(stack, DAYS, member="nobody") == (404, "no-such-member")
    stack.delete("/boards/b/member", id="a")
    apply(stack, [])
    assert refused(stack, DAYS, member="a") == (404, "no-such-member")
    assert refused(stack, "/boards/nobody/points/day/history", member="a") == (404, "no-such-member")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "member: is missing"),
        ({"member": ""}, "member: "),
        ({"member": "用" * 86}, "member: "),
        ({"member": "a", "periods": 0}, "periods: expected from 1 to 100, got 0"),
        ({"member": "a", "periods": 101}, "periods: expected from 1 to 100, got 101"),
        ({"member": "a", "periods": "-1"}, "periods: expected a whole number"),
        ({"member": "a", "period": "2026-11-22"}, "period: 2026-11-22 has not begun"),
        ({"member": "a", "method": "best"}, "method: "),
        ({"member": "a", "limit": 5}, "limit: no such argument; there are period, method, member, periods"),
    ],
)
def test_bad_arguments(stack: Stack, arguments: dict[str, Any], words: str) -> None:
    status, answer = stack.get(DAYS, **arguments)

    assert (status, answer["type"]) == (400, "urn:standings:bad-argument")
    assert answer["detail"].startswith(words)


def test_a_window_that_is_not_built_has_no_history(engine: Any) -> None:
    clock = ManualClock(population.NOW)
    with running(engine, clock, BOARDS) as before:
        post(before, {"a": 1})
    with running(engine, clock, BOARDS.replace('"hour"', '"hour", "month"')) as after:
        assert refused(after, "/boards/b/points/month/history", member="a") == (404, "not-built")


@pytest.mark.parametrize("periods", [1, 2, 14, 100])
def test_a_calendar_window_costs_three_units_a_period(engine: Any, periods: int) -> None:
    """Scores are below 2^28 units and few members share one, so each rank takes as many nodes as any."""
    text = '[boards."*"]\nkeep = "200 days"\nmetrics.points = { aggregate = "sum", windows = ["day"] }'
    family = parse_boards(text).family("b")
    assert family is not None
    (metric,) = family.metrics.values()
    today = metric.timetable.current(metric.windows[0], population.NOW)
    for day in range(100):
        scores = population.finegrained(Random(day), 200)
        population.place_members(engine, Ranking("b", metric, metric.windows[0], today - day), scores)
    meter = Meter(engine)
    with running(meter, ManualClock(population.NOW), text) as stack:
        stack.get("/boards/b/points/day")  # the board's record is read once a minute
        for number in range(20):
            before = meter.snapshot()
            found = rows(stack, DAYS, population.member(number), periods=periods)
            assert (meter.snapshot() - before).total.read <= 3 * periods
            assert all(row[1] is not None for row in found)
            assert len(found) == periods


def test_a_rolling_window_costs_six_units_a_period(engine: Any) -> None:
    """One period costs what a rank costs; the row and the log are read once for all periods."""
    meter = Meter(engine)
    metrics = 'metrics.points = { aggregate = "sum", windows = ["last-7-days"] }'
    text = f'[boards."*"]\nlate = "100 days"\nkeep = "100 days"\n{metrics}'
    with running(meter, ManualClock(population.NOW), text) as stack:
        rng = Random(1)
        for days_ago in (0, 3, 40):
            post(stack, population.finegrained(rng, 200), days_ago=days_ago)
        for periods in (2, 14, 100):
            stack.get(ROLLING, member="a")
            before = meter.snapshot()
            found = rows(stack, ROLLING, population.member(7), periods=periods)
            assert len(found) == periods
            assert (meter.snapshot() - before).total.read <= 6 * periods
        before = meter.snapshot()
        stack.get("/boards/b/points/last-7-days/rank", member=population.member(7))
        rank = meter.snapshot()
        rows(stack, ROLLING, population.member(7), periods=1)
        assert meter.snapshot() - rank == rank - before


def test_the_periods_share_the_limits_of_a_request(stack: Stack) -> None:
    """Else a history of a hundred periods would read a hundred times what one rank may."""
    post(stack, {f"m{n:02}": 5 for n in range(31)})
    stack.query.__globals__["_reader"].limits = Limits(equals=60, scores=60, entries=60)

    assert refused(stack, DAYS, member="m30", method="ordinal", periods=3) == (400, "too-far")
    assert rows(stack, DAYS, "m30", method="ordinal", periods=2)[0][1] == 31
    assert OPEN.shared(100) == Limits(10, 50, 50)
