"""Windows, periods and seasons, lateness, reading time and final periods, by the clocks of zones with summer time."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from standings.domain.boards import Family
from standings.domain.boards_toml import parse_boards
from standings.domain.members import open_rankings
from standings.domain.windows import (
    DAY,
    MINUTE,
    SEASON_KEPT,
    Season,
    Seasons,
    Timetable,
    Unit,
    final_at,
    parse_day,
    parse_window,
    state_of,
)
from standings.domain.zones import time_zone
from tests.support.oracle import model


def ms(*when: int) -> int:
    return milliseconds(datetime(*when, tzinfo=UTC))  # type: ignore[misc, arg-type]


@pytest.mark.parametrize("name", ["last-0-days", "last-91-days", "last-7-weeks", "Day", "", "last-07-days", "minute"])
def test_no_other_windows(name: str) -> None:
    assert parse_window("last-90-days").size == 90
    with pytest.raises(
        ValueError,
        match="expected all, hour, day, week, month, year, season, last-N-hours or last-N-days with N from 1",
    ):
        parse_window(name)


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)


def instant(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


ZONES = ("UTC", "Europe/Berlin", "America/Havana", "Asia/Kathmandu", "Asia/Beirut")
WINDOWS = ("all", "hour", "day", "week", "month", "year", "season", "last-1-days", "last-7-days", "last-24-hours")
UNITS: dict[str, Unit] = {"hour": "h", "day": "d", "week": "w", "month": "m", "year": "y", "season": "s"}
SPANS = st.sampled_from([timedelta(0), timedelta(minutes=30), timedelta(days=1), timedelta(days=7), timedelta(days=35)])
FIRST, LAST = milliseconds(datetime(2000, 1, 1, tzinfo=UTC)), milliseconds(datetime(2040, 1, 1, tzinfo=UTC))


@st.composite
def calendars(draw: st.DrawFn) -> model.Calendar:
    """A calendar with some seasons, with and without gaps."""
    day, seasons = date(2025, 1, 1), []
    for number in range(draw(st.integers(0, 4))):
        starts = day + timedelta(days=draw(st.sampled_from([0, 1, 30, 90])))
        day = starts + timedelta(days=draw(st.sampled_from([1, 90, 365, 3650])))
        seasons.append(model.Season(f"s{number}", starts, day))
    zone, late = time_zone(draw(st.sampled_from(ZONES))), draw(SPANS)
    return model.Calendar(zone, draw(st.integers(0, 6)), late, late + draw(SPANS), tuple(seasons))


@settings(max_examples=400)
@given(calendars(), st.sampled_from(WINDOWS), st.integers(FIRST, LAST), st.integers(-40 * DAY, 40 * DAY))
@example(model.Calendar(time_zone("Asia/Beirut")), "day", 1_648_375_200_000, 0)  # the clocks skip a midnight
def test_periods_are_those_of_the_model(calendar: model.Calendar, name: str, at: int, beside: int) -> None:
    """Bounds and names, until when a period takes events and can be read, and when it is final."""
    listed = (Season(name, parse_day(f"{starts}"), parse_day(f"{ends}")) for name, starts, ends in calendar.seasons)
    late, keep = (span // timedelta(milliseconds=1) for span in (calendar.late, calendar.keep))
    table, window = Timetable(str(calendar.zone), calendar.week_start, late, keep, Seasons(listed)), parse_window(name)
    bounds = table.bounds(window, table.current(window, at))
    for on in (at, *(edge + ms for edge in bounds or () for ms in (-1, 0))):
        there, period = instant(on), table.current(window, on)
        ends, final = table.bounds(window, period), final_at(table, window, period)
        assert (ends or (None, None)) == tuple(edge and milliseconds(edge) for edge in calendar.bounds(name, there))
        assert final == ((closed := calendar.final_at(name, there)) and milliseconds(closed))
        if ends is not None:
            assert table.parse_period(window, str(calendar.named(name, there))) == period
            assert table.parse_period(window, str(table.span(window, period).name)) == period
            until = table.readable_until(window, period)
            assert until is not None
            assert [calendar.is_readable(name, there, instant(until + ms)) for ms in (-1, 0)] == [True, False]
            assert table.kept_until(window, period) == (ends[1] + SEASON_KEPT if name == "season" else until)
        for edge in (on, (ends or [on])[-1], (ends or [on])[-1] + late, (ends or [on])[-1] + DAY, final or on):
            for now in (edge - 1, edge, edge + beside):
                assert state_of(table, window, period, now) == calendar.state(name, there, instant(now))
                taken = {kind: (unit, table.bucket_for(unit, on, now)) for kind, unit in UNITS.items()}
                found = {kind: table.start(unit, index) for kind, (unit, index) in taken.items() if index is not None}
                expected = calendar.takes(there, instant(now)).items()
                assert found == {kind: milliseconds(calendar.start(bucket)) for kind, bucket in expected}


def test_hours_follow_one_another_where_clocks_change_by_half_an_hour() -> None:
    table = Timetable("Australia/Lord_Howe", 0, DAY, DAY)
    for at in range(ms(2026, 4, 4), ms(2026, 4, 6), 10 * MINUTE):
        index = table.index("h", at)
        assert table.start("h", index) <= at < table.end("h", index) == table.start("h", index + 1)


@pytest.mark.parametrize(
    ("zone", "window", "names"),
    [
        # The clocks change by half an hour, an hour or two, or within an hour; there are no midnight, or two; a date is
        # left out.
        ("Australia/Lord_Howe", "hour", ["2026-10-04T01", "2026-10-04T02", "2026-10-04T03"]),
        ("Australia/Lord_Howe", "hour", ["2026-04-05T01", "2026-04-05T02", "2026-04-05T03"]),
        ("Australia/Lord_Howe", "last-3-hours", ["2026-07-01T23", "2026-07-02T00", "2026-07-02T01"]),
        ("Pacific/Chatham", "hour", ["2026-09-27T01", "2026-09-27T03+13:45", "2026-09-27T04"]),
        ("Pacific/Chatham", "hour", ["2026-04-05T02", "2026-04-05T02+12:45", "2026-04-05T03+12:45", "2026-04-05T04"]),
        ("Atlantic/Azores", "hour", ["2026-10-24T23", "2026-10-25T00+00:00", "2026-10-25T00-01:00", "2026-10-25T01"]),
        ("Atlantic/Azores", "day", ["2026-10-24", "2026-10-25", "2026-10-26"]),
        ("Antarctica/Troll", "hour", ["2026-10-25T01+02:00", "2026-10-25T02+02:00", "2026-10-25T01+00:00"]),
        ("Africa/Cairo", "day", ["2026-04-23", "2026-04-24", "2026-04-25"]),
        ("Africa/Cairo", "hour", ["2026-04-23T23", "2026-04-24T01"]),
        ("Pacific/Apia", "day", ["2011-12-29", "2011-12-31"]),
        ("Pacific/Apia", "last-7-days", ["2011-12-29", "2011-12-31"]),
        ("Pacific/Apia", "week", ["2011-12-26", "2012-01-02"]),
        ("Pacific/Apia", "month", ["2011-12-01", "2012-01-01"]),
        ("Pacific/Apia", "year", ["2011-01-01", "2012-01-01"]),
        ("UTC", "day", ["1970-01-01"]),
    ],
)
def test_each_period_has_a_name_and_follows_the_one_before(zone: str, window: str, names: list[str]) -> None:
    table, known = Timetable(zone, 0, DAY, DAY), parse_window(window)
    periods = [table.parse_period(known, name) for name in names]

    assert [table.span(known, period).name for period in periods] == names
    assert [table.beside(known, period, 1) for period in periods[:-1]] == periods[1:]
    before = [None] if names == ["1970-01-01"] else []
    assert [table.beside(known, period, -1) for period in periods[len(periods) > 1 :]] == before + periods[:-1]


@pytest.mark.parametrize(
    ("week_start", "window", "text", "name"),
    [
        (0, "week", "2026-W01", "2025-12-29"),
        *((day, "week", "2026-W10", f"2026-03-{begins:02}") for day, begins in ((0, 2), (3, 5), (6, 1))),
        (4, "week", "2026-W10", "2026-02-27"),
        (0, "month", "2026-03", "2026-03-01"),
        (0, "year", "2026", "2026-01-01"),
    ],
)
def test_weeks_months_and_years_have_names_too(week_start: int, window: str, text: str, name: str) -> None:
    """Of a week that begins on another day than Monday, the name is that of the days that it shares with it."""
    table, known = Timetable("UTC", week_start, DAY, DAY), parse_window(window)

    assert table.span(known, table.parse_period(known, text)).name == name


@pytest.mark.parametrize(
    ("text", "begins"), [("2026-10-25T02", 0), ("2026-10-25T02+01:00", 1), ("2026-10-25T02 01:00", 1)]
)
def test_of_an_hour_that_clocks_show_twice_the_first_is_meant(text: str, begins: int) -> None:
    table, hour = Timetable("Europe/Berlin", 0, DAY, DAY), parse_window("hour")
    begin = ms(2026, 10, 25, begins)

    assert table.bounds(hour, table.parse_period(hour, text)) == (begin, begin + 60 * MINUTE)


@pytest.mark.parametrize(
    ("window", "text"),
    [
        *(("day", text) for text in ("", "2026-02-30", "20261120", "2026-W47-1", "2026-11-20T15")),
        *(("day", text) for text in ("0001-01-01", "1969-12-31", "9999-12-31")),
        *(("hour", text) for text in ("2026-11-20", "2026-11-20T25", "9999-12-31T23")),
        *(("day", "2026-11"), ("week", "2026-11"), ("month", "2026"), ("month", "2026-13"), ("all", "2026-11-20")),
        *(("week", "2026-W54"), ("week", "2026-W47-1"), ("year", "1969"), ("hour", "2026-11")),
    ],
)
def test_what_is_no_period(window: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"expected an? (hour|day|week|month|year) such as|no periods"):
        Timetable("UTC", 0, DAY, DAY).parse_period(parse_window(window), text)


def seasonal(*seasons: tuple[str, str, str]) -> Family:
    tables = (f'{{ name = "{name}", starts = "{starts}", ends = "{ends}" }}' for name, starts, ends in seasons)
    metric = 'metrics.points = { aggregate = "sum", windows = ["season"] }'
    (parsed,) = parse_boards(f'[boards."*"]\n{metric}\nseasons = [{", ".join(tables)}]').families
    return parsed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "expected a season or a day in one, got .* seasons: one, two") for text in ("2026-11-15", "One", "")),
        *((text, "expected a day such as 2026-11-20, got") for text in ("0001-01-01", "2026-12-01T10")),
        ("2026-02-30", "day"),
    ],
)
def test_what_is_no_season(text: str, message: str) -> None:
    timetable = seasonal(("one", "2026-09-01", "2026-11-01"), ("two", "2026-12-01", "2027-03-01")).timetable
    season = parse_window("season")

    assert timetable.parse_period(season, "2027-02-28") == timetable.parse_period(season, "two")
    with pytest.raises(ValueError, match=message):
        timetable.parse_period(season, text)


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
    ("now", "opened"), [((2019, 12, 1), []), ((2026, 11, 30), ["past"]), ((2026, 11, 30, 23, 30), ["next", "past"])]
)
def test_open_are_the_seasons_that_are_kept_and_the_one_that_begins_within_the_hour(
    now: tuple[int, ...], opened: list[str]
) -> None:
    family = seasonal(
        ("old", "2020-01-01", "2020-02-01"), ("past", "2026-01-01", "2026-02-01"), ("next", "2026-12-01", "2027-03-01")
    )

    rankings = open_rankings(family, "b", ms(*now))
    assert [family.timetable.seasons[ranking.period].name for ranking in rankings] == opened
