"""Windows, periods, lateness and reading time, by the calendar of a zone with daylight saving."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standings.domain.windows.calendar import DAY, HOUR
from standings.domain.windows.late_and_keep import Timetable
from standings.domain.windows.window import parse_window

BERLIN = ZoneInfo("Europe/Berlin")
UNITS = ("h", "d", "w", "m", "y")


def ms(*when: int, zone: ZoneInfo | None = None) -> int:
    return int(datetime(*when, tzinfo=zone or UTC).timestamp() * 1000)  # type: ignore[misc, arg-type]


def utc(late: int = 7 * DAY, keep: int = 35 * DAY) -> Timetable:
    return Timetable("UTC", 0, late, keep)


@pytest.mark.parametrize("name", ["last-0-days", "last-91-days", "last-7-weeks", "Day", "", "last-07-days", "minute"])
def test_no_other_windows(name: str) -> None:
    with pytest.raises(
        ValueError, match="expected all, hour, day, week, month, year, season, last-N-hours or last-N-days"
    ):
        parse_window(name)


@given(
    st.sampled_from(["UTC", "Europe/Berlin", "America/Havana", "Asia/Kathmandu", "Australia/Lord_Howe", "Asia/Beirut"]),
    st.sampled_from(UNITS),
    st.integers(0, 6),
    st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1)),  # noqa: DTZ001 - made aware below
)
def test_every_instant_is_in_exactly_one_period_of_each_kind(
    zone: str, unit: str, week_start: int, when: datetime
) -> None:
    table = Timetable(zone, week_start, DAY, DAY)
    at = int(when.replace(tzinfo=UTC).timestamp() * 1000)
    index = table.index(unit, at)  # type: ignore[arg-type]

    assert table.start(unit, index) <= at < table.end(unit, index)  # type: ignore[arg-type]
    assert table.end(unit, index - 1) == table.start(unit, index)  # type: ignore[arg-type]


def test_a_day_of_25_hours_and_one_of_23() -> None:
    table = Timetable("Europe/Berlin", 0, DAY, DAY)
    long, short = ms(2026, 10, 25, 12), ms(2026, 3, 29, 12)

    assert table.end("d", table.index("d", long)) - table.start("d", table.index("d", long)) == 25 * HOUR
    assert table.end("d", table.index("d", short)) - table.start("d", table.index("d", short)) == 23 * HOUR
    assert table.start("d", table.index("d", long)) == ms(2026, 10, 25, zone=BERLIN)


def test_a_midnight_that_the_clocks_skip() -> None:
    table = Timetable("Asia/Beirut", 0, DAY, DAY)
    day = table.index("d", ms(2022, 3, 27, 10))

    assert table.local(table.start("d", day)).isoformat() == "2022-03-27T01:00:00+03:00"


@pytest.mark.parametrize(("week_start", "first"), [(0, 16), (6, 15), (3, 19)])
def test_weeks_begin_where_the_board_says(week_start: int, first: int) -> None:
    table = Timetable("UTC", week_start, DAY, DAY)

    assert table.start("w", table.index("w", ms(2026, 11, 21, 10))) == ms(2026, 11, first)


def test_an_event_counts_in_what_ended_less_than_late_ago() -> None:
    table = utc(late=7 * DAY)
    at = ms(2026, 11, 1, 12)
    end = ms(2026, 11, 2)

    assert table.accepts("d", at, end + 7 * DAY - 1) == table.index("d", at)
    assert table.accepts("d", at, end + 7 * DAY) is None
    assert table.accepts("m", at, end + 7 * DAY) == table.index("m", at)
    assert table.accepts("d", ms(1850, 1, 1), end) is None


def test_hours_are_late_after_a_day_at_most() -> None:
    table = utc(late=7 * DAY)
    at = ms(2026, 11, 1, 12, 30)

    assert table.accepts("h", at, ms(2026, 11, 2, 13) - 1) is not None
    assert table.accepts("h", at, ms(2026, 11, 2, 13)) is None


@pytest.mark.parametrize(
    ("window", "on", "until"),
    [
        ("day", (2026, 11, 1), (2026, 12, 7)),  # keep: 35 days
        ("week", (2026, 11, 2), (2026, 12, 14)),
        ("month", (2026, 11, 1), (2027, 1, 8)),  # its successor has ended and its late events are in
        ("year", (2026, 11, 1), (2028, 1, 8)),
        ("last-7-days", (2026, 11, 1), (2026, 11, 9)),  # late: 7 days
        ("hour", (2026, 11, 1, 12), (2026, 11, 2, 14)),
        ("last-24-hours", (2026, 11, 1, 12), (2026, 11, 2, 13)),
    ],
)
def test_how_long_a_period_can_be_read(window: str, on: tuple[int, ...], until: tuple[int, ...]) -> None:
    parsed = parse_window(window)
    table = utc()

    assert table.readable_until(parsed, table.current(parsed, ms(*on))) == ms(*until)


def test_a_rolling_period_is_readable_for_a_bucket_at_least() -> None:
    window = parse_window("last-7-days")
    table = Timetable("UTC", 0, 0, 0)

    assert table.readable_until(window, table.current(window, ms(2026, 11, 1))) == ms(2026, 11, 3)


def test_all_is_always_readable_and_has_no_bounds() -> None:
    window = parse_window("all")

    assert utc().readable_until(window, 0) is None
    assert utc().bounds(window, 0) is None


def test_a_rolling_period_spans_its_buckets() -> None:
    window = parse_window("last-7-days")
    table = Timetable("Europe/Berlin", 0, DAY, DAY)

    assert table.bounds(window, table.current(window, ms(2026, 10, 26, 12))) == (
        ms(2026, 10, 20, zone=BERLIN),
        ms(2026, 10, 27, zone=BERLIN),
    )


@pytest.mark.parametrize(
    ("window", "text", "start"),
    [
        ("day", "2026-11-20", (2026, 11, 20)),
        ("week", "2026-11-21", (2026, 11, 16)),
        ("month", "2026-11-20", (2026, 11, 1)),
        ("year", "2026-11-20", (2026, 1, 1)),
        ("last-7-days", "2026-11-20", (2026, 11, 14)),
        ("hour", "2026-11-20T15", (2026, 11, 20, 15)),
    ],
)
def test_a_period_is_named_by_a_day_in_it(window: str, text: str, start: tuple[int, ...]) -> None:
    parsed = parse_window(window)
    bounds = utc().bounds(parsed, utc().parse_period(parsed, text))

    assert bounds is not None
    assert bounds[0] == ms(*start)


def test_an_hour_that_the_clocks_show_twice() -> None:
    table = Timetable("Europe/Berlin", 0, DAY, DAY)
    window = parse_window("hour")
    first = table.parse_period(window, "2026-10-25T02")

    assert table.start("h", first) == ms(2026, 10, 25, 0)
    assert table.parse_period(window, "2026-10-25T02+01:00") == first + 1


@pytest.mark.parametrize(
    ("window", "text"),
    [
        ("day", "2026-02-30"),
        ("day", "20261120"),
        ("day", "2026-W47-1"),
        ("day", "0001-01-01"),
        ("day", "9999-12-31"),
        ("day", "2026-11-20T15"),
        ("hour", "2026-11-20"),
        ("hour", "2026-11-20T25"),
        ("hour", "9999-12-31T23"),
        ("month", "2026-11"),
        ("day", ""),
        ("all", "2026-11-20"),
    ],
)
def test_what_is_no_period(window: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"expected an? (hour|day) such as|no periods"):
        utc().parse_period(parse_window(window), text)


def test_hours_of_a_half_hour_zone_begin_on_its_full_hours() -> None:
    table = Timetable("Asia/Kolkata", 0, DAY, DAY)
    start = table.local(table.start("h", table.index("h", ms(2026, 11, 21, 10, 15))))

    assert (start.hour, start.minute) == (15, 30 - 30)
    assert start + timedelta(hours=1) > table.local(ms(2026, 11, 21, 10, 15))
