"""Seasons as periods: their bounds, gaps, late events and reading time, by the days of a zone with daylight saving."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Family, Ranking
from standings.domain.members.open_rankings import open_rankings
from standings.domain.windows.calendar import DAY, parse_day
from standings.domain.windows.late_and_keep import SEASON_KEPT, Timetable
from standings.domain.windows.seasons import NO_SEASON, Season, Seasons
from standings.domain.windows.window import parse_window

SEASON = parse_window("season")
BERLIN = ZoneInfo("Europe/Berlin")


def ms(*when: int) -> int:
    return int(datetime(*when, tzinfo=BERLIN).timestamp() * 1000)  # type: ignore[misc, arg-type]


def season(name: str, starts: str, ends: str) -> Season:
    return Season(name, parse_day(starts), parse_day(ends))


AUTUMN = season("autumn", "2026-09-01", "2026-11-01")  # the clocks go back in it
WINTER = season("winter", "2026-12-01", "2027-03-01")
SPRING = season("spring", "2027-03-01", "2027-06-01")
AGES = season("ages", "2028-01-01", "2038-01-01")


def timetable(*seasons: Season, late: int = 7 * DAY, keep: int = 35 * DAY) -> Timetable:
    return Timetable("Europe/Berlin", 0, late, keep, Seasons(seasons))


TABLE = timetable(SPRING, AUTUMN, WINTER)


def test_bounds_are_days_in_the_zone() -> None:
    assert TABLE.bounds(SEASON, AUTUMN.index) == (ms(2026, 9, 1), ms(2026, 11, 1))
    assert TABLE.bounds(SEASON, AUTUMN.index) != (ms(2026, 9, 1), ms(2026, 9, 1) + 61 * DAY)
    assert TABLE.bounds(SEASON, NO_SEASON) is None


@pytest.mark.parametrize(
    ("now", "current"),
    [
        (ms(2026, 9, 1) - 1, NO_SEASON),
        (ms(2026, 9, 1), AUTUMN.index),
        (ms(2026, 11, 15), AUTUMN.index),  # in the gap
        (ms(2026, 12, 1), WINTER.index),
        (ms(2027, 3, 1) - 1, WINTER.index),
        (ms(2027, 3, 1), SPRING.index),
        (ms(2030, 1, 1), SPRING.index),
    ],
)
def test_the_current_season_is_the_latest_that_has_begun(now: int, current: int) -> None:
    assert TABLE.current(SEASON, now) == current


def test_an_event_counts_in_the_season_that_holds_it_and_in_a_gap_in_none() -> None:
    now = ms(2026, 11, 5)

    assert TABLE.accepts("s", ms(2026, 9, 1), now) == AUTUMN.index
    assert TABLE.accepts("s", ms(2026, 11, 1) - 1, now) == AUTUMN.index
    assert TABLE.accepts("s", ms(2026, 11, 1), now) is None
    assert TABLE.accepts("s", ms(2026, 9, 1) - 1, now) is None
    assert TABLE.accepts("s", ms(2026, 11, 1) - 1, ms(2026, 11, 8)) is None
    assert TABLE.accepts("s", int(datetime(1850, 1, 1, tzinfo=UTC).timestamp() * 1000), now) is None


def test_the_first_day_of_a_season_of_years_counts_as_long_as_it_lasts() -> None:
    assert timetable(AGES).accepts("s", ms(2028, 1, 1), ms(2038, 1, 7)) == AGES.index


@pytest.mark.parametrize(
    ("seasons", "until"),
    [
        ([AUTUMN], ms(2026, 11, 1) + 35 * DAY),
        ([AUTUMN, WINTER], ms(2027, 3, 1) + 7 * DAY),  # the next has ended, and its late events are in
        ([AUTUMN, season("a-day", "2026-11-01", "2026-11-02")], ms(2026, 11, 1) + 35 * DAY),
        ([AUTUMN, AGES], ms(2026, 11, 1) + SEASON_KEPT),
    ],
)
def test_how_long_a_season_can_be_read(seasons: list[Season], until: int) -> None:
    table = timetable(*seasons)

    assert table.readable_until(SEASON, AUTUMN.index) == until
    assert table.kept_until(SEASON, AUTUMN.index) == ms(2026, 11, 1) + SEASON_KEPT


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("winter", WINTER),
        ("2026-12-01", WINTER),
        ("2027-02-28", WINTER),
        ("2027-03-01", SPRING),
        ("2026-11-15", None),
        ("2026-08-31", None),
        ("summer", None),
        ("Winter", None),
        ("", None),
    ],
)
def test_a_season_is_named_by_its_name_or_a_day_in_it(text: str, found: Season | None) -> None:
    if found is None:
        with pytest.raises(
            ValueError, match=r"expected a season or a day in one, got .* seasons: autumn, winter, spring"
        ):
            TABLE.parse_period(SEASON, text)
    else:
        assert TABLE.parse_period(SEASON, text) == found.index


@pytest.mark.parametrize("text", ["2026-02-30", "0001-01-01", "2026-12-01T10"])
def test_what_is_no_day(text: str) -> None:
    with pytest.raises(ValueError, match="day"):
        TABLE.parse_period(SEASON, text)


def family(seasons: str) -> Family:
    definition = f'[boards."*"]\nmetrics.points = {{ aggregate = "sum", windows = ["season"] }}\nseasons = [{seasons}]'
    (parsed,) = parse_boards(definition).families
    return parsed


def test_a_number_of_a_season_that_a_definition_does_not_know_is_none_of_its_own() -> None:
    one = family('{ name = "one", starts = "2026-12-01", ends = "2027-03-01" }')
    longer = family('{ name = "one", starts = "2026-12-01", ends = "2027-03-02" }')
    attribute = one.metrics["points"].bucket("s", one.timetable.seasons.indexes[0])
    end = one.timetable.end("s", one.timetable.seasons.indexes[0])

    assert one.accumulator(attribute) is not None
    assert longer.accumulator(attribute) is None
    assert not one.has_expired(attribute, end + SEASON_KEPT - 1)
    assert one.has_expired(attribute, end + SEASON_KEPT)
    assert not longer.has_expired(attribute, end + SEASON_KEPT - 1)
    assert longer.has_expired(attribute, end + SEASON_KEPT + 366 * DAY)


def test_open_rankings_are_the_seasons_that_are_kept_and_the_one_that_begins_within_the_hour() -> None:
    definition = family(
        '{ name = "old", starts = "2020-01-01", ends = "2020-02-01" },'
        '{ name = "past", starts = "2026-01-01", ends = "2026-02-01" },'
        '{ name = "next", starts = "2026-12-01", ends = "2027-03-01" }'
    )

    def opened(*now: int) -> list[str]:
        at = int(datetime(*now, tzinfo=UTC).timestamp() * 1000)  # type: ignore[misc, arg-type]
        rankings: list[Ranking] = list(open_rankings(definition, "b", at))
        return [definition.timetable.seasons[ranking.period].name for ranking in rankings]

    assert opened(2019, 12, 1) == []
    assert opened(2026, 11, 30) == ["past"]
    assert opened(2026, 11, 30, 23, 30) == ["next", "past"]
