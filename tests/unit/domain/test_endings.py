"""When a period is open, closing and final."""

import pytest

from standings.domain.windows.calendar import DAY, HOUR, MINUTE
from standings.domain.windows.endings import CLOCKS_DIFFER, final_at, state_of
from standings.domain.windows.late_and_keep import Timetable
from standings.domain.windows.window import parse_window

TABLE = Timetable("Europe/Berlin", 0, 2 * DAY, 35 * DAY)


@pytest.mark.parametrize(("name", "late"), [("hour", DAY), ("day", 2 * DAY), ("week", 2 * DAY), ("year", 2 * DAY)])
def test_a_period_is_final_once_no_writer_takes_late_events(name: str, late: int) -> None:
    window = parse_window(name)
    period = TABLE.current(window, 1_795_256_100_000)
    bounds = TABLE.bounds(window, period)
    assert bounds is not None
    end, final = bounds[1], bounds[1] + late + 5 * MINUTE

    states = [
        state_of(TABLE, window, period, now) for now in (end - HOUR, end - 1, end, final - 1, final, final + 400 * DAY)
    ]

    assert states == ["open", "open", "closing", "closing", "final", "final"]
    assert final_at(TABLE, window, period) == final


@pytest.mark.parametrize("now_behind", [0, CLOCKS_DIFFER])
def test_no_writer_counts_an_event_in_a_final_period(now_behind: int) -> None:
    period = TABLE.index("d", 1_795_256_100_000)
    final = final_at(TABLE, parse_window("day"), period)
    assert final is not None

    assert TABLE.accepts("d", TABLE.start("d", period), final - now_behind) is None
    assert TABLE.accepts("d", TABLE.start("d", period), final - CLOCKS_DIFFER - 1) == period


@pytest.mark.parametrize("name", ["all", "last-7-days", "last-24-hours"])
def test_what_never_ends_is_always_open(name: str) -> None:
    window = parse_window(name)
    period = TABLE.current(window, 1_795_256_100_000)

    assert final_at(TABLE, window, period) is None
    assert state_of(TABLE, window, period, 1_795_256_100_000 + 900 * DAY) == "open"
