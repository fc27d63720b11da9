"""Windows, periods and seasons, lateness, reading time and final periods, by the clocks of zones with summer time."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Family
from standings.domain.members.open_rankings import open_rankings
from standings.domain.windows.calendar import DAY, HOUR, MINUTE, parse_day
from standings.domain.windows.endings import CLOCKS_DIFFER, final_at, state_of
from standings.domain.windows.late_and_keep import SEASON_KEPT, Timetable
from standings.domain.windows.seasons import NO_SEASON, Season, Seasons
from standings.domain.windows.window import Unit, parse_window

UNITS: tuple[Unit, ...] = ("h", "d", "w", "m", "y")


def ms(*when: int, zone: str = "UTC") -> int:
    return int(datetime(*when, tzinfo=ZoneInfo(zone)).timestamp() * 1000)  # type: ignore[misc, arg-type]


def berlin(*when: int) -> int:
    return ms(*when, zone="Europe/Berlin")


def utc(late: int = 7 * DAY, keep: int = 35 * DAY) -> Timetable:
    return Timetable("UTC", 0, late, keep)


@pytest.mark.parametrize("name", ["last-0-days", "last-91-days", "last-7-weeks", "Day", "", "last-07-days", "minute"])
def test_no_other_windows(name: str) -> None:
    assert parse_window("last-90-days").size == 90
    with pytest.raises(
        ValueError,
        match="expected all, hour, day, week, month, year, season, last-N-hours or last-N-days with N from 1",
    ):
        parse_window(name)


@given(
    st.sampled_from(["UTC", "Europe/Berlin", "America/Havana", "Asia/Kathmandu", "Australia/Lord_Howe", "Asia/Beirut"]),
    st.sampled_from(UNITS),
    st.integers(0, 6),
    st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1)).map(lambda when: when.replace(tzinfo=UTC)),  # noqa: DTZ001
)
def test_every_instant_is_in_exactly_one_period_of_each_kind(
    zone: str, unit: Unit, week_start: int, when: datetime
) -> None:
    table = Timetable(zone, week_start, DAY, DAY)
    at = int(when.timestamp() * 1000)
    index = table.index(unit, at)

    assert table.start(unit, index) <= at < table.end(unit, index)
    assert table.end(unit, index - 1) == table.start(unit, index)


@pytest.mark.parametrize(
    ("zone", "week_start", "unit", "at", "start", "hours"),
    [
        ("Europe/Berlin", 0, "d", ms(2026, 10, 25, 12), berlin(2026, 10, 25), 25),
        ("Europe/Berlin", 0, "d", ms(2026, 3, 29, 12), berlin(2026, 3, 29), 23),
        # The clocks skip this midnight.
        ("Asia/Beirut", 0, "d", ms(2022, 3, 27, 10), ms(2022, 3, 26, 22), 23),
        ("UTC", 0, "w", ms(2026, 11, 21, 10), ms(2026, 11, 16), 7 * 24),
        ("UTC", 6, "w", ms(2026, 11, 21, 10), ms(2026, 11, 15), 7 * 24),
        ("UTC", 3, "w", ms(2026, 11, 21, 10), ms(2026, 11, 19), 7 * 24),
        # Hours of a half-hour zone begin on its full hours.
        ("Asia/Kolkata", 0, "h", ms(2026, 11, 21, 10, 15), ms(2026, 11, 21, 9, 30), 1),
        ("UTC", 0, "m", ms(2026, 2, 21), ms(2026, 2, 1), 28 * 24),
        ("UTC", 0, "y", ms(2028, 2, 21), ms(2028, 1, 1), 366 * 24),
    ],
)
def test_where_a_bucket_begins_and_ends(
    zone: str, week_start: int, unit: Unit, at: int, start: int, hours: int
) -> None:
    table = Timetable(zone, week_start, DAY, DAY)
    index = table.index(unit, at)

    assert (table.start(unit, index), table.end(unit, index)) == (start, start + hours * HOUR)


def test_an_event_counts_in_what_ended_less_than_late_ago() -> None:
    table = utc(late=7 * DAY)
    at, end = ms(2026, 11, 1, 12), ms(2026, 11, 2)

    assert table.accepts("d", at, end + 7 * DAY - 1) == table.index("d", at)
    assert table.accepts("d", at, end + 7 * DAY) is None
    assert table.accepts("m", at, end + 7 * DAY) == table.index("m", at)
    assert table.accepts("d", ms(1850, 1, 1), end) is None
    # Hours take late events for a day at most.
    assert table.accepts("h", at, ms(2026, 11, 2, 13) - 1) == table.index("h", at)
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

    assert utc().readable_until(parsed, utc().current(parsed, ms(*on))) == ms(*until)


def test_a_rolling_period_is_readable_for_a_bucket_at_least() -> None:
    window, table = parse_window("last-7-days"), utc(late=0, keep=0)

    assert table.readable_until(window, table.current(window, ms(2026, 11, 1))) == ms(2026, 11, 3)


def test_all_is_always_readable_and_has_no_bounds() -> None:
    assert utc().readable_until(parse_window("all"), 0) is None
    assert utc().bounds(parse_window("all"), 0) is None


@pytest.mark.parametrize(
    ("zone", "window", "text", "bounds"),
    [
        ("UTC", "day", "2026-11-20", (ms(2026, 11, 20), ms(2026, 11, 21))),
        ("UTC", "week", "2026-11-21", (ms(2026, 11, 16), ms(2026, 11, 23))),
        ("UTC", "month", "2026-11-20", (ms(2026, 11, 1), ms(2026, 12, 1))),
        ("UTC", "year", "2026-11-20", (ms(2026, 1, 1), ms(2027, 1, 1))),
        ("UTC", "hour", "2026-11-20T15", (ms(2026, 11, 20, 15), ms(2026, 11, 20, 16))),
        # A rolling period spans its buckets.
        ("Europe/Berlin", "last-7-days", "2026-10-26", (berlin(2026, 10, 20), berlin(2026, 10, 27))),
        # The clocks show this hour twice.
        ("Europe/Berlin", "hour", "2026-10-25T02", (ms(2026, 10, 25, 0), ms(2026, 10, 25, 1))),
        ("Europe/Berlin", "hour", "2026-10-25T02+01:00", (ms(2026, 10, 25, 1), ms(2026, 10, 25, 2))),
    ],
)
def test_a_period_is_named_by_a_day_or_an_hour_in_it(
    zone: str, window: str, text: str, bounds: tuple[int, int]
) -> None:
    table, parsed = Timetable(zone, 0, DAY, DAY), parse_window(window)

    assert table.bounds(parsed, table.parse_period(parsed, text)) == bounds


@pytest.mark.parametrize(
    ("window", "text"),
    [
        ("day", "2026-02-30"),
        ("day", "20261120"),
        ("day", "2026-W47-1"),
        ("day", "0001-01-01"),
        ("day", "1969-12-31"),
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


NOW = 1_795_256_100_000  # 2026-11-21T10:15:00Z
TWO_DAYS = Timetable("Europe/Berlin", 0, 2 * DAY, 35 * DAY)


@pytest.mark.parametrize(("name", "late"), [("hour", DAY), ("day", 2 * DAY), ("week", 2 * DAY), ("year", 2 * DAY)])
def test_a_period_is_final_once_no_writer_takes_late_events(name: str, late: int) -> None:
    window = parse_window(name)
    period = TWO_DAYS.current(window, NOW)
    bounds = TWO_DAYS.bounds(window, period)
    assert bounds is not None
    end, final = bounds[1], bounds[1] + late + 5 * MINUTE

    instants = (end - HOUR, end - 1, end, final - 1, final, final + 400 * DAY)
    states = ["open", "open", "closing", "closing", "final", "final"]
    assert [state_of(TWO_DAYS, window, period, now) for now in instants] == states
    assert final_at(TWO_DAYS, window, period) == final


@pytest.mark.parametrize("now_behind", [0, CLOCKS_DIFFER])
def test_no_writer_counts_an_event_in_a_final_period(now_behind: int) -> None:
    period = TWO_DAYS.index("d", NOW)
    final = final_at(TWO_DAYS, parse_window("day"), period)
    assert final is not None

    assert TWO_DAYS.accepts("d", TWO_DAYS.start("d", period), final - now_behind) is None
    assert TWO_DAYS.accepts("d", TWO_DAYS.start("d", period), final - CLOCKS_DIFFER - 1) == period


@pytest.mark.parametrize("name", ["all", "last-7-days", "last-24-hours"])
def test_what_never_ends_is_always_open(name: str) -> None:
    window = parse_window(name)
    period = TWO_DAYS.current(window, NOW)

    assert final_at(TWO_DAYS, window, period) is None
    assert state_of(TWO_DAYS, window, period, NOW + 900 * DAY) == "open"


SEASON = parse_window("season")


def season(name: str, starts: str, ends: str) -> Season:
    return Season(name, parse_day(starts), parse_day(ends))


AUTUMN = season("autumn", "2026-09-01", "2026-11-01")  # the clocks go back in it
WINTER = season("winter", "2026-12-01", "2027-03-01")
SPRING = season("spring", "2027-03-01", "2027-06-01")
AGES = season("ages", "2028-01-01", "2038-01-01")
NEXT_DAY = season("next-day", "2026-11-01", "2026-11-02")


def timetable(*seasons: Season) -> Timetable:
    return Timetable("Europe/Berlin", 0, 7 * DAY, 35 * DAY, Seasons(seasons))


YEAR = timetable(SPRING, AUTUMN, WINTER)


def test_bounds_of_a_season_are_days_in_the_zone() -> None:
    assert YEAR.bounds(SEASON, AUTUMN.index) == (berlin(2026, 9, 1), berlin(2026, 11, 1))
    assert YEAR.bounds(SEASON, NO_SEASON) is None


@pytest.mark.parametrize(
    ("now", "current"),
    [
        (berlin(2026, 9, 1) - 1, NO_SEASON),
        (berlin(2026, 9, 1), AUTUMN.index),
        (berlin(2026, 11, 15), AUTUMN.index),  # in the gap
        (berlin(2026, 12, 1), WINTER.index),
        (berlin(2027, 3, 1) - 1, WINTER.index),
        (berlin(2027, 3, 1), SPRING.index),
        (berlin(2030, 1, 1), SPRING.index),
    ],
)
def test_the_current_season_is_the_latest_that_has_begun(now: int, current: int) -> None:
    assert YEAR.current(SEASON, now) == current


@pytest.mark.parametrize(
    ("seasons", "at", "now", "counts"),
    [
        (YEAR, berlin(2026, 9, 1), berlin(2026, 11, 5), AUTUMN),
        (YEAR, berlin(2026, 11, 1) - 1, berlin(2026, 11, 5), AUTUMN),
        (YEAR, berlin(2026, 11, 1), berlin(2026, 11, 5), None),  # in the gap
        (YEAR, berlin(2026, 9, 1) - 1, berlin(2026, 11, 5), None),
        (YEAR, berlin(2026, 11, 1) - 1, berlin(2026, 11, 8), None),  # too late
        (YEAR, ms(1850, 1, 1), berlin(2026, 11, 5), None),
        # The first day of a season of years counts as long as the season lasts.
        (timetable(AGES), berlin(2028, 1, 1), berlin(2038, 1, 7), AGES),
    ],
)
def test_an_event_counts_in_the_season_that_holds_it(
    seasons: Timetable, at: int, now: int, counts: Season | None
) -> None:
    assert seasons.accepts("s", at, now) == (counts and counts.index)


@pytest.mark.parametrize(
    ("seasons", "until"),
    [
        ([AUTUMN], berlin(2026, 11, 1) + 35 * DAY),
        ([AUTUMN, WINTER], berlin(2027, 3, 1) + 7 * DAY),  # the next has ended, and its late events are in
        ([AUTUMN, NEXT_DAY], berlin(2026, 11, 1) + 35 * DAY),
        ([AUTUMN, AGES], berlin(2026, 11, 1) + SEASON_KEPT),
    ],
)
def test_how_long_a_season_can_be_read(seasons: list[Season], until: int) -> None:
    assert timetable(*seasons).readable_until(SEASON, AUTUMN.index) == until
    assert timetable(*seasons).kept_until(SEASON, AUTUMN.index) == berlin(2026, 11, 1) + SEASON_KEPT


@pytest.mark.parametrize(
    ("text", "found"),
    [("winter", WINTER), ("2026-12-01", WINTER), ("2027-02-28", WINTER), ("2027-03-01", SPRING)],
)
def test_a_season_is_named_by_its_name_or_a_day_in_it(text: str, found: Season) -> None:
    assert YEAR.parse_period(SEASON, text) == found.index


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["2026-11-15", "2026-08-31", "Winter", ""],
            r"expected a season or a day in one, got .* seasons: autumn, winter, spring",
        ),
        (["0001-01-01", "2026-12-01T10"], "expected a day such as 2026-11-20, got"),
        (["2026-02-30"], "day"),
    ],
)
def test_what_is_no_season(texts: list[str], message: str) -> None:
    for text in texts:
        with pytest.raises(ValueError, match=message):
            YEAR.parse_period(SEASON, text)


def seasonal(*seasons: tuple[str, str, str]) -> Family:
    tables = (f'{{ name = "{name}", starts = "{starts}", ends = "{ends}" }}' for name, starts, ends in seasons)
    metric = 'metrics.points = { aggregate = "sum", windows = ["season"] }'
    (parsed,) = parse_boards(f'[boards."*"]\n{metric}\nseasons = [{", ".join(tables)}]').families
    return parsed


def test_a_number_of_a_season_that_a_definition_does_not_know_is_none_of_its_own() -> None:
    one = seasonal(("one", "2026-12-01", "2027-03-01"))
    longer = seasonal(("one", "2026-12-01", "2027-03-02"))
    (index,) = one.timetable.seasons.indexes
    attribute, end = one.metrics["points"].bucket("s", index), one.timetable.end("s", index)

    assert one.accumulator(attribute) is not None
    assert longer.accumulator(attribute) is None
    assert not one.has_expired(attribute, end + SEASON_KEPT - 1)
    assert one.has_expired(attribute, end + SEASON_KEPT)
    assert not longer.has_expired(attribute, end + SEASON_KEPT - 1)
    assert longer.has_expired(attribute, end + SEASON_KEPT + 366 * DAY)


@pytest.mark.parametrize(
    ("now", "opened"),
    [((2019, 12, 1), []), ((2026, 11, 30), ["past"]), ((2026, 11, 30, 23, 30), ["next", "past"])],
)
def test_open_are_the_seasons_that_are_kept_and_the_one_that_begins_within_the_hour(
    now: tuple[int, ...], opened: list[str]
) -> None:
    family = seasonal(
        ("old", "2020-01-01", "2020-02-01"), ("past", "2026-01-01", "2026-02-01"), ("next", "2026-12-01", "2027-03-01")
    )

    rankings = open_rankings(family, "b", ms(*now))
    assert [family.timetable.seasons[ranking.period].name for ranking in rankings] == opened
