"""The seasons of a family in `boards.toml`: what they say, and every mistake with its line."""

import pytest

from standings.domain.boards.boards_toml import DefinitionError, parse_boards
from standings.domain.boards.definitions import Family

RANKED = '[boards."league-*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "season"] }\n'
WINTER = '[[boards."league-*".seasons]]\nname = "winter"\nstarts = "2026-12-01"\nends = "2027-03-01"\n'
SPRING = (
    WINTER.replace("winter", "spring").replace("2026-12-01", "2027-03-01").replace('ends = "2027-03', 'ends = "2027-06')
)


def family(text: str) -> Family:
    (parsed,) = parse_boards(text).families
    return parsed


def test_seasons_by_start_whatever_their_order_in_the_file() -> None:
    seasons = family(RANKED + SPRING + WINTER).timetable.seasons

    assert [season.name for season in seasons.all] == ["winter", "spring"]
    assert seasons.all[0].ends == seasons.all[1].starts
    assert seasons.indexes == tuple(sorted(seasons.indexes))


def winter(**keys: str) -> str:
    """The family with one season, which has other values for some keys."""
    values = {"name": '"winter"', "starts": '"2026-12-01"', "ends": '"2027-03-01"', **keys}
    said = "".join(f"{key} = {value}\n" for key, value in values.items() if value)
    return f'{RANKED}[[boards."league-*".seasons]]\n{said}'


NAMED = 'name: expected a name such as "winter-2026": a-z, then up to 31 of a-z 0-9 -, got '
DAY = 'expected a day in quotes such as "2026-12-01", from 1970 to 2999, got '


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (RANKED, 2, 'windows: expected seasons for the window "season": add [[boards."league-*".seasons]] with name'),
        (
            RANKED.replace(', "season"', "") + WINTER,
            3,
            'seasons: expected a metric with the window "season": add it to its windows, or remove the seasons',
        ),
        (f"{RANKED}seasons = 3", 3, 'seasons: expected tables such as [[boards."league-*".seasons]], got 3'),
        (f'{RANKED}seasons = ["winter"]', 3, "seasons: expected tables such as"),
        (winter(color='"red"'), 7, "color: unknown key, expected one of ends, name, starts"),
        (winter(name=""), 3, f"{NAMED}none"),
        (winter(name='"Winter"'), 4, f"{NAMED}'Winter'"),
        (winter(name='"2026-12-01"'), 4, f"{NAMED}'2026-12-01'"),
        (winter(name=f'"{"w" * 33}"'), 4, NAMED),
        (winter(name="7"), 4, f"{NAMED}7"),
        (winter(starts=""), 3, f"starts: {DAY}none"),
        (winter(starts="2026-12-01"), 5, f"starts: {DAY}2026-12-01"),
        (winter(starts='"1 December"'), 5, f"starts: {DAY}'1 December'"),
        (winter(starts='"2026-02-30"'), 5, f"starts: {DAY}'2026-02-30'"),
        (winter(starts='"1969-12-31"'), 5, f"starts: {DAY}'1969-12-31'"),
        (winter(ends='"3000-01-01"'), 6, f"ends: {DAY}'3000-01-01'"),
        (winter(ends='"2026-12-01"'), 6, "ends: expected a day after starts (2026-12-01), got 2026-12-01"),
        (winter(ends='"2026-11-01"'), 6, "ends: expected a day after starts (2026-12-01), got 2026-11-01"),
        (RANKED + WINTER + SPRING.replace("spring", "winter"), 8, "name: expected another name, there is a season"),
        (RANKED + WINTER + WINTER, 8, "name: expected another name, there is a season 'winter' already"),
        (
            RANKED + WINTER + SPRING.replace("2027-03-01", "2027-02-28"),
            9,
            "starts: 'winter' and 'spring' overlap: expected each season to end by the day on which the next starts",
        ),
        (RANKED + SPRING.replace("2027-03-01", "2027-02-28") + WINTER, 9, "'winter' and 'spring' overlap"),
        (RANKED + WINTER * 101, 3, "seasons: expected at most 100 seasons, got 101: remove the oldest"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_boards(text)

    assert reason in caught.value.reason
    assert caught.value.line == line


def test_a_season_is_its_name_start_and_end() -> None:
    (index,) = family(RANKED + WINTER).timetable.seasons.indexes

    assert index in family(RANKED + SPRING + WINTER).timetable.seasons
    for other in (winter(name='"cold"'), winter(starts='"2026-12-02"'), winter(ends='"2027-03-02"')):
        assert index not in family(other).timetable.seasons
