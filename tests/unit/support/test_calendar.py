"""The judge's calendar, by examples small enough to check by eye."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from tests.support.oracle.model import BoardModel, Calendar, Metric


def test_windows_in_a_time_zone() -> None:
    berlin = Calendar(ZoneInfo("Europe/Berlin"), 6, timedelta(days=2), timedelta(days=3))
    windows = ("all", "day", "week", "last-2-days", "last-2-hours")
    model = BoardModel({"points": Metric(windows=windows)}, berlin)
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
    assert berlin.bounds("day", now) == (
        datetime(2026, 10, 24, 22, tzinfo=UTC),
        datetime(2026, 10, 25, 23, tzinfo=UTC),
    )
    assert berlin.named("last-2-hours", now) == "2026-10-25T02+02:00"
    assert berlin.named("day", now) == "2026-10-25"


def test_periods_that_can_be_read() -> None:
    calendar = Calendar(late=timedelta(days=2), keep=timedelta(days=3))
    now = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)

    def names(window: str) -> list[str | None]:
        return [calendar.named(window, on) for on in calendar.earlier(window, now)]

    assert names("all") == []
    assert names("day") == ["2026-11-20", "2026-11-19", "2026-11-18"]
    assert names("month") == ["2026-10-31"]  # until November has ended and two days more
    assert names("last-7-days") == ["2026-11-20", "2026-11-19"]
    assert names("last-2-hours")[-1] == "2026-11-20T10+00:00"
    assert names("hour")[-1] == "2026-11-20T09+00:00"
