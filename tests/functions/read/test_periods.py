"""Every answer names its period and those beside it: those that can be read, as a search of all texts shows."""

from datetime import date, datetime, timedelta
from json import dumps
from random import Random
from typing import Any, Final

import pytest

from tests.support.aws.stack import ManualClock, Stack, running
from tests.support.builders.querying import post
from tests.support.dynamodb.tables import engine_with_tables
from tests.support.thoroughness import seeds

CHANGES: Final = (
    ("UTC", "2026-11-21T10:15Z", ()),
    ("Europe/Berlin", "2026-10-25T01:00Z", ("+02:00", "+01:00")),
    ("Asia/Kathmandu", "2026-11-21T10:15Z", ()),
    ("Australia/Lord_Howe", "2026-10-03T15:30Z", ("+10:30", "+11:00")),
    ("Australia/Lord_Howe", "2026-04-04T15:00Z", ("+11:00", "+10:30")),
    ("Pacific/Chatham", "2026-09-26T14:00Z", ("+12:45", "+13:45")),  # at a quarter to three
    ("Pacific/Chatham", "2026-04-04T14:00Z", ("+13:45", "+12:45")),
    ("Atlantic/Azores", "2026-10-25T01:00Z", ("+00:00", "-01:00")),  # two midnights
    ("Antarctica/Troll", "2026-10-25T01:00Z", ("+02:00", "+00:00")),  # two hours
    ("Africa/Cairo", "2026-04-23T22:00Z", ()),  # no midnight
    ("Pacific/Apia", "2011-12-30T10:00Z", ("-10:00", "+14:00")),  # no 30 December
)
"""Time zones, an instant at which the clocks change there, and their offsets before and after."""
WINDOWS: Final = ("hour", "day", "week", "month", "season", "last-2-hours", "last-3-days")
SKIPPED: Final = "2011-12-30"
Period = dict[str, Any]


def boards(rng: Random, zone: str, day: date) -> str:
    """One board, whose seasons begin every third day."""
    late, seasons = rng.randint(1, 50), []
    for starts in (day + timedelta(days=3 * number) for number in range(-5, 5)):
        ends = starts + timedelta(days=rng.choice([2, 3]))
        seasons.append(f'{{ name = "s-{starts}", starts = "{starts}", ends = "{ends}" }}')
    return f"""
        [boards."b"]
        timezone = "{zone}"
        late = "{late} hours"
        keep = "{late + rng.randint(0, 100)} hours"
        week_start = "{rng.choice(["monday", "friday", "sunday"])}"
        seasons = [{", ".join(seasons)}]
        metrics.points = {{ aggregate = "max", windows = {dumps(WINDOWS)} }}
    """


def readable(stack: Stack, window: str, texts: list[str]) -> list[Period]:
    """The periods that one of the texts reads, the latest first."""
    answers = [stack.get(f"/boards/b/points/{window}", period=text, limit=1) for text in texts]
    assert {status for status, _ in answers} <= {200, 400, 404}
    found = {answer["period"]["name"]: answer["period"] for status, answer in answers if status == 200}
    if "day" in window:
        found.pop(SKIPPED, None)
    return sorted(found.values(), key=lambda one: datetime.fromisoformat(one["ends"]), reverse=True)


def walked(stack: Stack, window: str) -> list[Period]:
    """The periods from the current one back, each by its name."""
    status, answer = stack.get(f"/boards/b/points/{window}")
    assert (status, answer["period"]["next"]) == (200, None)
    found = [answer["period"]]
    while (name := found[-1]["previous"]) is not None:
        status, answer = stack.get(f"/boards/b/points/{window}", period=name)
        assert (status, answer["period"]["name"], answer["period"]["next"]) == (200, name, found[-1]["name"])
        found.append(answer["period"])
    return found


@pytest.mark.parametrize("seed", seeds(1, 6))
@pytest.mark.parametrize(("zone", "change", "offsets"), CHANGES)
def test_a_walk_by_names_meets_all_periods(zone: str, change: str, offsets: tuple[str, ...], seed: int) -> None:
    rng = Random(f"{zone} {change} {seed}")
    far = rng.choice([200, 9_000])
    now = datetime.fromisoformat(change) + timedelta(minutes=rng.randint(-far, far))
    days = [f"{now.date() + timedelta(days=back)}" for back in range(2, -75, -1)]
    hours = [f"{day}T{hour:02}{offset}" for day in days[1:6] for hour in range(24) for offset in ("", *offsets)]
    clock = ManualClock(round(now.timestamp() * 1000))
    with running(engine_with_tables(), clock, boards(rng, zone, now.date())) as stack:
        post(stack, {"ann": 1})
        windows = stack.get("/boards/b")[1]["metrics"][0]["windows"]
        mine = stack.get("/boards/b/member", id="ann")[1]["metrics"][0]["windows"]
        for window, current, own in zip(WINDOWS, windows, mine, strict=True):
            found = walked(stack, window)
            texts = [f"s-{day}" for day in days] if window == "season" else hours if "hour" in window else days
            assert found == readable(stack, window, texts), (zone, seed, now, window)
            assert current["period"] == own["period"] == found[0]
            history = stack.get(f"/boards/b/points/{window}/history", member="ann", periods=100)[1]["periods"]
            assert [one["period"] for one in history] == found
