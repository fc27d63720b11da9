"""A board whose definition changes and changes back, beside a model of what can be read of it."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest

from tests.support.aws.stack import ManualClock, Stack, running, write
from tests.support.awslambda.pollers import Context
from tests.support.builders.maintenance import calls
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.machine.boards import WEEKDAYS
from tests.support.oracle.model import BoardModel, Metric

WINDOWS = ("all", "day", "week", "last-2-days", "last-4-days")
ZONES = ("UTC", "America/St_Johns", "Asia/Kathmandu", "Pacific/Auckland")
HOUR = 3_600_000
START = datetime(2026, 10, 20, 7, tzinfo=UTC)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Definition:
    windows: tuple[str, ...]
    late: int
    keep: int
    order: str
    members: str
    shards: int
    zone: str
    week_start: int
    pattern: str

    def text(self) -> str:
        windows = orjson.dumps(self.windows).decode()
        return (
            f'[boards."{self.pattern}"]\ntimezone = "{self.zone}"\nweek_start = "{WEEKDAYS[self.week_start]}"\n'
            f'late = "{self.late} days"\nkeep = "{self.keep} days"\nmembers = "{self.members}"\n'
            f"shards = {self.shards}\n"
            f'metrics.points = {{ aggregate = "sum", order = "{self.order}", windows = {windows} }}\n'
        )


@dataclass
class Deployments:
    """The board `b` through deployments: for a while, functions of the definition before are still at work."""

    seed: int
    stacks: ExitStack
    clock: ManualClock
    rng: random.Random = field(init=False)
    engine: Any = field(default_factory=Engine)
    stack: Stack = field(init=False)
    old: Stack | None = None
    posted: int = 0

    def __post_init__(self) -> None:
        print(f"seed {self.seed}")
        self.rng = random.Random(self.seed)
        create_tables(self.engine, expire=False)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock() / 1000, UTC)

    def start(self, boards: str) -> None:
        """Start functions with a definition, beside those that are there."""
        before = self.stack if hasattr(self, "stack") else None
        self.stack = self.stacks.enter_context(running(self.engine, self.clock, boards))
        if before is not None:
            self.old = before
            self.stack.projected = before.projected

    def one_at_work(self) -> Stack:
        """The new functions, or the old ones."""
        return self.old if self.old is not None and self.rng.random() < 0.5 else self.stack

    def post(self, stack: Stack, member: str, at: datetime, points: int) -> str:
        """Write an event; returns its id."""
        self.posted += 1
        event = {"id": f"e{self.posted}", "board": "b", "member": member, "at": at.isoformat()}
        write(stack, [{**event, "metrics": {"points": points}}])
        return f"e{self.posted}"

    def rebuild(self, between: Callable[[], None]) -> None:
        self.old = None
        for progress in calls(self.stack, "rebuild", board="b"):
            if not progress["done"]:
                between()


@contextmanager
def one_clock(start: datetime, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ExitStack, ManualClock]]:
    """A clock for all functions, and where they are entered."""
    with ExitStack() as stacks:
        clock = ManualClock(round(start.timestamp() * 1000))
        # Before any function starts: what is remembered of boards goes by this clock.
        monkeypatch.setattr("time.monotonic", clock.monotonic)
        yield stacks, clock


@dataclass
class History(Deployments):
    """Deployments beside a model that is told only what was accepted and when."""

    model: BoardModel = field(init=False)
    read: int = 0
    whole: datetime | None = START
    """When the board was rebuilt for the current definition: periods that have begun since then can be read."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.before = self.definition = self.another(None)
        self.model = BoardModel({"points": Metric()})
        self.deployed()

    def another(self, before: Definition | None) -> Definition:
        rng = self.rng
        windows = tuple(sorted({"all", *rng.sample(WINDOWS, rng.randint(1, 4))}))
        late = rng.choice([1, 2, 4])
        order = "descending" if before is None or rng.random() < 0.8 else "ascending"
        members = "open" if before is None or rng.random() < 0.7 else "registered"
        keep, shards = rng.choice([late, 5, 9]), rng.choice([1, 3])
        pattern = rng.choice(["b", "b", "*", "b*"])
        if before is None or rng.random() < 0.3:
            zone, week_start = rng.choice(ZONES), rng.choice([0, 6])
        else:
            zone, week_start = before.zone, before.week_start
        return Definition(windows, late, keep, order, members, shards, zone, week_start, pattern)

    def deployed(self) -> None:
        self.model.metrics = {"points": Metric(descending=self.definition.order == "descending")}
        self.follow(self.definition)
        self.start(self.definition.text())

    def deploy(self) -> None:
        self.before, self.definition, self.whole = self.definition, self.another(self.definition), None
        self.deployed()

    def follow(self, definition: Definition) -> None:
        """Let the model judge time as a definition does."""
        calendar = self.model.calendar
        calendar.late, calendar.keep = definition.late * DAY, definition.keep * DAY
        calendar.zone, calendar.week_start = ZoneInfo(definition.zone), definition.week_start
        self.model.longest = {"day": max((int(name[5]) for name in definition.windows if "last" in name), default=0)}

    def hide(self) -> None:
        """Hide or show a member."""
        if self.model.members:
            member, hidden = self.rng.choice(sorted(self.model.members)), self.rng.random() < 0.5
            assert self.one_at_work().put("/boards/b/member", {"hidden": hidden}, id=member)[0] == 200
            self.model.put(member, hidden=hidden)

    def event(self) -> None:
        """One event, by functions of either definition while both are there."""
        stack = self.one_at_work()
        definition = self.before if stack is self.old else self.definition
        member = f"m{self.rng.randrange(6)}"
        at = self.now - timedelta(hours=self.rng.choice([0, 0, 1, 5, 20, 30, 50, 80]))
        points = self.rng.choice([0, 1, 2, 5, 130])
        if definition.members == "registered":
            assert stack.put("/boards/b/member", id=member)[0] == 200
            self.model.put(member)
        event_id = self.post(stack, member, at, points)
        self.follow(definition)
        if self.rng.random() < 0.2:
            self.hide()
        assert self.model.add(event_id, member, at, {"points": points}, self.now)

    def project(self) -> None:
        (shard,) = self.engine.stream("Scores")
        while (done := self.stack.projected.get(0, 0)) < len(shard):
            batch = shard[done : done + self.rng.randint(1, 9)]
            assert self.one_at_work().projector({"Records": batch}, Context()) == {"batchItemFailures": []}
            self.stack.projected[0] = done + len(batch)

    def between(self) -> None:
        self.event()
        self.project()

    def check(self) -> None:
        """Every period that can be read is what the model says."""
        self.clock.milliseconds += 61_000  # whatever is remembered of boards is asked again
        self.follow(self.definition)
        for window in self.definition.windows:
            instants = [self.now] if window == "all" else [self.now - DAY * ago for ago in range(12)]
            for on in instants:
                period = self.model.calendar.named(window, on)
                status, page = self.stack.get(f"/boards/b/points/{window}", period=period, limit=1000)
                readable = self.model.calendar.is_readable(window, on, self.now)
                assert status in {200, 404}, page
                if status == 200:
                    assert readable, (window, period)
                    expected = self.model.listing("points", window, on).lines()
                    found = [(line["rank"], line["member"], line["score"]) for line in page["entries"]]
                    assert found == expected, (window, period)
                    self.read += 1
                    continue
                assert not readable or page["type"].rpartition(":")[2] in {"not-built", "period-gone"}, page
                begun = self.model.calendar.bounds(window, on)[0]
                assert not readable or self.whole is None or (begun is not None and begun < self.whole), page


def live(seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Live through deployments: how many lists were read."""
    with one_clock(START, monkeypatch) as (stacks, clock):
        history = History(seed, stacks, clock)
        for _ in range(14):
            what = history.rng.random()
            if what < 0.35:
                history.deploy()
            for _ in range(history.rng.randint(1, 6)):
                history.event()
            history.project()
            history.old = None
            if what > 0.6:
                history.rebuild(history.between)
                history.whole = history.now
            history.check()
            clock.milliseconds += history.rng.choice([1, 7, 20, 33]) * HOUR
        return history.read
