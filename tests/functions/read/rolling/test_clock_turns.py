"""No job is needed: as the clock turns, every read of every period is exact, although nobody writes anything.

Members are active over days; then only time passes. TTL deletes all that it may.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.stages.streaming import apply
from tests.support.machine.boards import BERLIN, Board
from tests.support.oracle.comparing import READS, Asked, compare_list, compare_members, same
from tests.support.oracle.model import METHODS, BoardModel, Calendar, Metric

DAYS: Final = ("last-3-days", "last-7-days", "last-30-days")
BOARDS: Final = {
    "sums": Board(
        {"points": Metric(windows=("all", "day", *DAYS, "last-2-hours"))}, Calendar(BERLIN, late=timedelta(days=2))
    ),
    "fees": Board(
        {"points": Metric(descending=False, ties="first", windows=("day", *DAYS))},
        Calendar(BERLIN, late=timedelta(days=1)),
    ),
    "bests": Board({"points": Metric("max", windows=DAYS)}, Calendar(BERLIN, late=timedelta(hours=2))),
    "least": Board(
        {"points": Metric("min", descending=False, ties="first", windows=(*DAYS, "last-24-hours"))},
        Calendar(BERLIN, late=timedelta(days=2)),
    ),
    "lasts": Board(
        {"points": Metric("last", ties="first", windows=DAYS)}, Calendar(ZoneInfo("UTC"), late=timedelta(days=4))
    ),
}
SLOW: Final = ("least",)
MEMBERS: Final = tuple(f"m{number:02}" for number in range(14))
AMOUNTS: Final = (0, 1, 1, 2, 5, -1, -3, 127, 128, 1000, -20_000)


class Play:
    """A board with days of activity, over HTTP and in the model."""

    def __init__(self, stack: Stack, engine: Any, name: str, seed: int) -> None:
        print(f"seed {seed}")
        self.stack = stack
        self.engine = engine
        self.name = name
        self.model: BoardModel = BOARDS[name].model()
        # In Berlin it has 25 hours.
        self.last_day = datetime(2026, 10, 25, tzinfo=self.model.calendar.zone)
        self.rng = Random(seed)
        self.sent = 0

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.stack.clock() / 1000, UTC)

    def turn_to(self, at: datetime) -> None:
        """Turn the clock, and let TTL delete what it may."""
        self.stack.clock.milliseconds = int(at.timestamp() * 1000)
        for table in ("Scores", "Receipts", "Rankings"):
            self.engine.expire(table, at.timestamp())

    def post(self, *events: tuple[str, datetime]) -> None:
        """Post an event for each member and instant."""
        bodies = []
        for member, at in events:
            self.sent += 1
            units = self.rng.choice(AMOUNTS)
            event = {"id": f"e{self.sent}", "at": at.isoformat(), "member": member, "metrics": {"points": units}}
            bodies.append({"board": self.name, **event})
            assert self.model.add(f"e{self.sent}", member, at, {"points": units}, self.now)
        apply(self.stack, bodies)

    def days(self, number: int, active: Callable[[int], list[str]]) -> None:
        """Let days pass, the last of which is `last_day`. `active` says who is active so many days before that."""
        for back in reversed(range(number)):
            self.turn_to(self.last_day - timedelta(days=back) + timedelta(hours=21))
            since = [timedelta(minutes=self.rng.randrange(20 * 60)) for _ in range(20)]
            self.post(*((member, self.now - self.rng.choice(since)) for member in active(back)))

    def compare(self) -> None:
        """Compare every read of every period that can be read. Reads write nothing."""
        before = {table: self.engine.scan(TableName=table)["Items"] for table in ("Scores", "Receipts", "Rankings")}
        for asked in self.rankings():
            for method in METHODS:
                compare_list(asked, method)
            for read in READS:
                read(asked, self.rng.choice(METHODS))
        compare_members(self.stack, self.model, self.name, self.now, self.rng)
        for table, items in before.items():
            same(f"the items of {table}", items, self.engine.scan(TableName=table)["Items"])

    def rankings(self) -> Iterator[Asked]:
        for metric, rules in self.model.metrics.items():
            for window in rules.windows:
                for on in (self.now, *self.model.calendar.earlier(window, self.now)):
                    listing = self.model.listing(metric, window, on)
                    yield Asked(self.stack, self.model, self.name, metric, window, on, self.now, self.rng, listing)

    def scores(self, window: str) -> dict[str, int]:
        """The scores in the current period of a window."""
        return {one.member: one.score for one in self.model.listing("points", window, self.now).placed}


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.thorough) if name in SLOW else name for name in BOARDS])
def play(engine: Any, request: pytest.FixtureRequest) -> Iterator[Play]:
    name = request.param
    with running(engine, ManualClock(0), BOARDS[name].toml(name, shards=1 + len(name) % 2)) as stack:
        yield Play(stack, engine, name, seed=len(name))


def test_the_first_second_after_midnight(play: Play) -> None:
    play.days(9, lambda _: play.rng.choices(MEMBERS, k=8))
    # The last event of the day is a second old, and late events follow.
    play.turn_to(play.last_day + timedelta(days=1) - timedelta(seconds=1))
    play.post((MEMBERS[0], play.now), (MEMBERS[1], play.now - timedelta(days=1)))
    before = play.scores("last-3-days")
    play.turn_to(play.last_day + timedelta(days=1, seconds=1))

    assert play.scores("last-3-days") != before
    play.compare()


def test_a_week_later_when_nobody_was_there(play: Play) -> None:
    play.days(9, lambda _: play.rng.choices(MEMBERS, k=8))
    play.turn_to(play.last_day + timedelta(days=7, hours=9))

    assert play.scores("last-3-days") == {}
    assert play.scores("last-30-days")
    play.compare()
    # A month later nothing is left but totals.
    play.turn_to(play.last_day + timedelta(days=40, hours=9))
    assert play.scores("last-30-days") == {}
    play.compare()
    play.post((MEMBERS[0], play.now), (MEMBERS[3], play.now))
    play.compare()


@pytest.mark.parametrize("window", [DAYS[0], *(pytest.param(each, marks=pytest.mark.thorough) for each in DAYS[1:])])
def test_the_morning_after_a_day_of_everyone_leaves_the_window(play: Play, window: str) -> None:
    size = int(window.split("-")[1])
    few = MEMBERS[:3]
    play.days(size, lambda back: [*MEMBERS] if back == size - 1 else play.rng.choices(few, k=play.rng.randrange(3)))
    evening = play.last_day + timedelta(hours=23)
    play.turn_to(evening)
    assert set(play.scores(window)) == set(MEMBERS)
    for later in (timedelta(hours=1, seconds=1), timedelta(hours=9)):
        play.turn_to(evening + later)
        assert set(play.scores(window)) <= set(few)
        play.compare()
