"""`announce` of `boards.toml`: what it says, and every mistake with its line."""

import pytest

from standings.domain.boards.boards_toml import DefinitionError, parse_boards

METRICS = 'metrics.points = { aggregate = "sum", windows = ["all", "day", "last-7-days"] }'


def family(*lines: str) -> str:
    return "\n".join(('[boards."race-*"]', METRICS, *lines))


def test_a_family_announces_tops_of_its_windows() -> None:
    found = parse_boards(family("announce.all = { top = 1 }", "announce.day = { top = 100 }")).family("race-1")

    assert found is not None
    assert found.announce == {"all": 1, "day": 100}


def test_a_family_announces_nothing_by_itself() -> None:
    found = parse_boards(family()).family("race-1")

    assert found is not None
    assert found.announce == {}


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (family("announce = 10"), 3, "announce: expected tops by window such as day = { top = 10 }, got 10"),
        (family("announce.day = 10"), 3, "day: expected a length such as { top = 10 }, got 10"),
        (family("announce.week = { top = 10 }"), 3, "week: expected a window that a metric is ranked in"),
        (family("announce.last-7-days = { top = 10 }"), 3, "last-7-days: expected all, a calendar window or season"),
        (family("", "announce.day = { first = 10 }"), 4, "first: unknown key, expected one of top"),
        (family("announce.day = {}"), 3, "day: top: expected a whole number from 1 to 100, got None"),
        (family("announce.day = { top = 0 }"), 3, "day: top: expected a whole number from 1 to 100, got 0"),
        (family("announce.day = { top = 101 }"), 3, "day: top: expected a whole number from 1 to 100, got 101"),
        (family("announce.day = { top = true }"), 3, "day: top: expected a whole number from 1 to 100, got True"),
        (family("announce.day = { top = 1.5 }"), 3, "day: top: expected a whole number from 1 to 100, got 1.5"),
    ],
)
def test_a_mistake_is_an_error_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_boards(text)

    assert caught.value.line == line
    assert reason in caught.value.reason
