"""The judge and its calendar, where few boards of other tests would tell it from another one, by examples."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from tests.support.oracle.model import BoardModel, Calendar, Metric

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)


def board(metric: Metric, *events: tuple[str, int, int]) -> BoardModel:
    """A board with events as (member, minutes ago, units)."""
    model = BoardModel({"points": metric})
    for number, (member, ago, units) in enumerate(events):
        assert model.add(str(number), member, NOW - timedelta(minutes=ago), {"points": units}, NOW)
    return model


def test_percentiles_are_rounded_half_up_and_compared_unrounded() -> None:
    some = board(Metric(), *((f"m{n}", 0, n) for n in range(32))).listing("points", "all", NOW)
    assert some.percentile(0) == Decimal("3.13")  # 3.125
    more = board(Metric(), *((f"m{n}", 0, n) for n in range(48))).listing("points", "all", NOW)
    assert more.percentile(15) == Decimal("33.33")
    assert more.score_at(Decimal("33.34")) == 16
    assert more.score_at(Decimal("33.333333333")) == 15


@pytest.mark.parametrize(
    ("aggregate", "events", "expected"),
    [
        # the latest event of each: a now, b 1 minute ago, c 2
        ("sum", [("a", 0, 4), ("b", 1, 4), ("c", 2, 2), ("c", 9, 2)], "cba"),
        # what each says last: a 9 minutes ago, b and c 5
        ("last", [("c", 5, 4), ("b", 5, 4), ("a", 9, 4), ("a", 10, 8)], "abc"),
        # the first to reach 4: b 9 minutes ago; a and c 8
        ("max", [("a", 8, 4), ("b", 9, 4), ("b", 1, 4), ("c", 8, 4), ("c", 20, 3)], "bac"),
    ],
)
def test_the_first_among_equals(aggregate: str, events: list[tuple[str, int, int]], expected: str) -> None:
    placed = board(Metric(aggregate, ties="first"), *events).listing("points", "all", NOW).placed
    assert "".join(one.member for one in placed) == expected


def test_windows_in_a_time_zone() -> None:
    berlin = Calendar(ZoneInfo("Europe/Berlin"), 6, timedelta(days=2), timedelta(days=3))
    model = BoardModel({"points": Metric(windows=("all", "day", "week", "last-2-days", "last-2-hours"))}, berlin)
    now = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # Sunday, half past two, for the first time
    for number, hours in enumerate((0, 1, 2, 3, 25, 49, 75, 24 * 9)):
        assert model.add(str(number), "m", now - timedelta(hours=hours), {"points": 10**number}, now)

    def score(window: str, on: datetime) -> int:
        placed = model.score("points", window, on, "m")
        return placed.score if placed else 0

    assert score("all", now) == 11111111
    assert score("day", now) == 111  # begun at 22:00 UTC: 0, 1 and 2 hours ago
    assert score("last-2-days", now) == 11111
    assert score("week", now) == 111  # since Sunday; the week before holds the days before
    assert score("week", now - timedelta(days=1)) == 1111000
    assert score("day", now - timedelta(hours=75)) == 0  # that day ended more than `late` ago
    assert score("last-2-hours", now) == 11
    assert score("last-2-hours", now + timedelta(hours=1)) == 1
