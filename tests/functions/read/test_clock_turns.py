"""No job is needed: as the clock turns, every read of every period is exact, although nobody writes anything.

Members are active over days; then only time passes. TTL deletes all that it may, at once.
"""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.stages.streaming import apply
from tests.support.machine.boards import BERLIN, Board
from tests.support.oracle.asked import Asked, same
from tests.support.oracle.compare_lists import compare_list
from tests.support.oracle.compare_members import compare_members
from tests.support.oracle.comparing import READS
from tests.support.oracle.listing import METHODS, Metric
from tests.support.oracle.model import BoardModel
from tests.support.oracle.periods import Calendar

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
TABLES: Final = ("Scores", "Receipts", "Rankings")
MEMBERS: Final = tuple(f"m{number:02}" for number in range(14))
AMOUNTS: Final = (0, 1, 1, 2, 5, -1, -3, 127, 128, 1000, -20_000)


class Play:
    """A board with days of activity, over HTTP and in the model."""

    def __init__(self, stack: Stack, name: str) -> None:
        self.stack = stack
        self.name = name
        self.model: BoardModel = BOARDS[name].model()
        # In Berlin it has 25 hours.
        self.last_day = datetime(2026, 10, 25, tzinfo=self.model.calendar.zone)
        self.rng = Random(name)
        self.sent = 0

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.stack.clock() / 1000, UTC)

    def turn_to(self, at: datetime) -> None:
        """Turn the clock, and let TTL delete what it may."""
        self.stack.clock.milliseconds = int(at.timestamp() * 1000)
        for table in TABLES:
            self.stack.dynamodb.expire(table, at.timestamp())

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

    def compare(self) -> None:
        """Compare every read of every period that can be read. Reads write nothing."""
        before = [self.stack.dynamodb.scan(TableName=table)["Items"] for table in TABLES]
        for metric, rules in self.model.metrics.items():
            for window in rules.windows:
                for on in (self.now, *self.model.calendar.earlier(window, self.now)):
                    listing = self.model.listing(metric, window, on)
                    asked = Asked(self.stack, self.model, self.name, metric, window, on, self.now, self.rng, listing)
                    for method in METHODS:
                        compare_list(asked, method)
                    for read in READS:
                        read(asked, self.rng.choice(METHODS))
        compare_members(self.stack, self.model, self.name, self.now, self.rng)
        same("the items", before, [self.stack.dynamodb.scan(TableName=table)["Items"] for table in TABLES])

    def ranked(self, window: str) -> set[str]:
        """Who is ranked in the current period of a window."""
        return {one.member for one in self.model.listing("points", window, self.now).placed}


@pytest.mark.parametrize(
    "board", [name if name in ("sums", "fees") else pytest.param(name, marks=pytest.mark.thorough) for name in BOARDS]
)
def test_as_the_clock_turns_every_read_is_exact(engine: Any, board: str) -> None:
    with running(engine, ManualClock(0), BOARDS[board].toml(board, shards=1 + len(board) % 2)) as stack:
        play = Play(stack, board)
        few, midnight = MEMBERS[:3], play.last_day + timedelta(days=1)
        # Everyone is active on the first of seven days, few are on the others, some of them late.
        for back in reversed(range(7)):
            play.turn_to(play.last_day - timedelta(days=back) + timedelta(hours=21))
            active = MEMBERS if back == 6 else play.rng.choices(few, k=2)
            play.post(*((member, play.now - timedelta(minutes=play.rng.randrange(20 * 60))) for member in active))
        # The last event of the last day is a second old, and late events follow.
        play.turn_to(midnight - timedelta(seconds=1))
        play.post((few[0], play.now), (few[1], play.now - timedelta(hours=2)))
        assert play.ranked("last-7-days") == set(MEMBERS)
        for later in (timedelta(seconds=1), timedelta(hours=9)):
            play.turn_to(midnight + later)
            assert play.ranked("last-7-days") <= set(few)
            play.compare()
        play.turn_to(midnight + timedelta(days=6, hours=9))
        assert play.ranked("last-3-days") == set()
        assert play.ranked("last-30-days") == set(MEMBERS)
        play.compare()
        # A month later nothing is left but totals.
        play.turn_to(midnight + timedelta(days=40, hours=9))
        assert play.ranked("last-30-days") == set()
        play.compare()
        play.post((MEMBERS[0], play.now), (MEMBERS[3], play.now))
        play.compare()
