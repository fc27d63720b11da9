"""A member's item: what an event adds, what goes and when, which rankings move, and how large it gets."""

from datetime import UTC, datetime

import pytest

from standings.domain.boards import MAX_UNITS, Family
from standings.domain.boards_toml import parse_boards
from standings.domain.members import EventPart, Image, affected_rankings, beyond_bounds, counted_in, expired
from standings.domain.windows import DAY, HOUR, MAX_SLAB, Unit
from standings.runtime.environment import BOARDS_FILE
from tests.support.builders.points import family

START = int(datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp() * 1000)


def family_of(text: str) -> Family:
    return family("b", parse_boards(f'[boards."*"]\n{text}'))


def image(family: Family, values: dict[str, int], written_at_ms: int, version: int = 2) -> Image:
    assert all(family.accumulator(name) for name in values)
    return Image("b", "m", version, written_at_ms, 0, hidden=False, values=values)


def moved(family: Family, old: Image | None, new: Image) -> set[tuple[str, int]]:
    return {(ranking.window.name, ranking.period) for ranking in affected_rankings(family, old, new)}


@pytest.fixture(scope="module")
def demo() -> Family:
    """The family of the shipped boards with all windows."""
    return family("demo-x", parse_boards(BOARDS_FILE.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def active(demo: Family) -> Image:
    """The item of a member with one event of 5 points."""
    return image(demo, counted_in(demo, EventPart("e", START, {"points": 5}), START), START)


def test_what_goes_has_not_been_readable_for_a_day(demo: Family, active: Image) -> None:
    for name in active.values.keys() - {demo.metrics["points"].total()}:
        accumulator = demo.accumulator(name)
        assert accumulator is not None
        assert accumulator.unit is not None
        ends = accumulator.metric.expires(accumulator.unit, accumulator.bucket)
        assert name not in expired(demo, active, ends + DAY - 1)
        assert name in expired(demo, active, ends + DAY)
        # The last period that it is part of was skipped by the projector before that.
        assert moved(demo, active, image(demo, {**active.values, name: 6}, ends + HOUR, version=3)) == set()


LONGEST = """timezone = "{zone}"
week_start = "{week_start}"
late = "400 days"
keep = "400 days"
metrics.points = {{ aggregate = "sum", windows = [{windows}] }}"""
WINDOWS: dict[Unit, str] = {
    "h": '"hour", "last-90-hours"',
    "d": '"day", "last-90-days"',
    "w": '"week"',
    "m": '"month"',
    "y": '"year"',
}


@pytest.mark.parametrize("zone", ["Etc/GMT+12", "Pacific/Kiritimati", "Asia/Kolkata", "America/New_York"])
@pytest.mark.parametrize("week_start", ["monday", "sunday"])
@pytest.mark.parametrize("unit", WINDOWS)
def test_a_bucket_of_another_definition_goes_once_none_could_read_it(zone: str, week_start: str, unit: Unit) -> None:
    other = family_of(LONGEST.format(zone=zone, week_start=week_start, windows=WINDOWS[unit]))
    points = other.metrics["points"]
    name = points.bucket(unit, points.timetable.index(unit, START))
    one = image(other, {name: 5}, START)
    today = family_of('timezone = "Europe/Berlin"\nmetrics.points = { aggregate = "max", windows = ["day", "year"] }')
    assert today.accumulator(name) is None

    end = points.expires(unit, points.timetable.index(unit, START))
    length = points.timetable.end(unit, points.timetable.index(unit, START)) - START
    hours = [end + hours * HOUR for hours in range(-48, 24 * (3 + MAX_SLAB) + 2 * length // HOUR + 48)]
    removed = [now for now in hours if expired(today, one, now)]

    # A function of the other definition that sees it go takes nothing for a score that fell, nor does it bring it back.
    assert removed[0] >= end + DAY
    assert moved(other, one, image(other, {}, removed[0], version=3)) == set()
    assert removed == [now for now in hours if now >= removed[0]]
    assert points.timetable.bucket_for(unit, START, removed[0]) is None


def test_what_cannot_be_aged_stays_and_a_bucket_before_all_calendars_goes(demo: Family) -> None:
    old = family_of('metrics.coins = { aggregate = "sum", windows = ["all"] }')
    stays = ["note", "note2", "a1bx20", "a1bd", "a1bd-5", "a1bd1.5", "a1by999999999", "a1bm999999999"]
    values = dict.fromkeys([old.metrics["coins"].total(), *stays, "a1bm3", "a1by0"], 5)
    one = Image("b", "m", 2, START, 0, hidden=False, values=values)

    assert expired(demo, one, START) == expired(demo, one, START + 40_000 * DAY) == ["a1bm3", "a1by0"]


def test_bounds_hold_in_every_window() -> None:
    days = family_of('metrics.points = { aggregate = "sum", windows = ["last-3-days"] }')
    points = days.metrics["points"]
    half = MAX_UNITS // 2 + 1
    monday, tuesday = points.bucket("d", 20000), points.bucket("d", 20001)

    def beyond(values: dict[str, int], changed: str) -> str | None:
        return beyond_bounds(days, image(days, values, START), [changed])

    assert beyond({monday: half}, monday) is None
    assert beyond({monday: half, tuesday: half}, tuesday) == "points in last-3-days"
    assert beyond({monday: -half, tuesday: half}, tuesday) is None
    for units in (MAX_UNITS + 1, -MAX_UNITS - 1):
        assert beyond({points.total(): units}, points.total()) == "points in all"
