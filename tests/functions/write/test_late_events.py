"""Events whose day or hour has closed count in the periods of rolling windows that are still open, and nowhere else."""

from typing import Any

import pytest

from standings.domain.windows import instant
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.stages.streaming import deliver, project

HOUR = 60 * 60 * 1000
DAY = 24 * HOUR


def boards(late: str, windows: str, aggregate: str = "sum") -> str:
    metric = f'{{ aggregate = "{aggregate}", windows = ["all", {windows}] }}'
    return f'[boards."*"]\nlate = "{late}"\nmetrics.points = {metric}\n'


def post(stack: Stack, event_id: str, ago: int, points: int = 1) -> None:
    """Post an event that happened so many milliseconds ago."""
    about = {"board": "b", "member": "m", "metrics": {"points": points}}
    deliver(stack, [{"id": event_id, "at": instant(stack.clock() - ago), **about}])
    project(stack)


def scores(stack: Stack, *windows: str, ago: int = 0) -> list[int | None]:
    """The member's score in the period of each window that was the current one so many milliseconds ago."""
    period = str(instant(stack.clock() - ago))[:10]
    found = [stack.entries(f"/boards/b/points/{window}", period=period if ago else None) for window in windows]
    assert all([one["member"] for one in entries] in ([], ["m"]) for entries in found)
    return [entries[0]["score"] if entries else None for entries in found]


def attributes(engine: Any) -> list[str]:
    (item,) = (one for one in engine.scan(TableName="Scores")["Items"] if one["sk"]["S"] == "m")
    return [name for name in item if len(name) > 4 and "N" in item[name]]


@pytest.mark.parametrize("aggregate", ["sum", "max", "last"])
def test_an_event_of_eight_days_ago_counts_in_the_last_30_days(engine: Any, clock: ManualClock, aggregate: str) -> None:
    with running(engine, clock, boards("7 days", '"day", "last-7-days", "last-30-days"', aggregate)) as stack:
        post(stack, "first", 8 * DAY, points=5)

        assert scores(stack, "all", "last-7-days", "last-30-days") == [5, None, 5]
        # That day has closed.
        assert scores(stack, "day", ago=8 * DAY) == [None]
        # The 30 days that ended six days ago are open.
        assert scores(stack, "last-7-days", "last-30-days", ago=6 * DAY) == [5, 5]

        post(stack, "second", 8 * DAY, points=7)
        post(stack, "third", 0, points=6)
        expected = {"sum": 18, "max": 7, "last": 6}[aggregate]
        assert scores(stack, "last-30-days", "last-7-days", "day") == [expected, 6, 6]

        # It leaves with its day.
        clock.milliseconds += 21 * DAY
        assert scores(stack, "last-30-days") == [expected]
        clock.milliseconds += DAY
        assert scores(stack, "last-30-days") == [6]


def test_a_closed_period_stays_as_it_is_while_it_can_be_read(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, boards("0 days", '"day", "last-7-days"')) as stack:
        post(stack, "before", 0, points=1)
        for day in range(4):
            clock.milliseconds += DAY
            post(stack, f"late-{day}", 3 * DAY, points=10)
            # Yesterday ended less than a day ago, so its seven days can be read. They take no events any more.
            earlier = 1 + 10 * day
            assert scores(stack, "last-7-days", ago=DAY) == [earlier]
            assert scores(stack, "last-7-days", "day") == [earlier + 10, None]
    # Those of the first day and of each day that a late event was of.
    assert len(attributes(engine)) == 1 + 4


def test_late_events_of_one_day_stay_few_attributes(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, boards("1 hour", '"last-30-days"')) as stack:
        start = stack.clock()
        for hours in range(0, 20 * 24, 5):
            clock.milliseconds = start + hours * HOUR
            post(stack, f"e{hours}", hours * HOUR)
            assert len(attributes(engine)) <= 4
        assert scores(stack, "last-30-days") == [96]


def test_an_event_that_no_open_period_contains_counts_in_all_alone(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, boards("7 days", '"hour", "last-24-hours"')) as stack:
        for number, ago in enumerate((2 * DAY, 10 * DAY, 40 * 365 * DAY)):
            post(stack, f"old-{number}", ago)
        assert [len(name) for name in attributes(engine)] == []

        post(stack, "late", 47 * HOUR)
        before = str(instant(clock.milliseconds - 24 * HOUR))[:13]  # For hours `late` is a day at most
        assert stack.entries("/boards/b/points/last-24-hours", period=before)[0]["score"] == 1
        assert scores(stack, "all", "last-24-hours", "hour") == [4, None, None]
