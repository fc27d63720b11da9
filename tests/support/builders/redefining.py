"""A board whose definition changes and changes back, beside a model of what can be read of it."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from standings.domain.zones import time_zone
from tests.support.aws.stack import ManualClock, Stack, deliver, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.maintenance import calls
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.machine.boards import WEEKDAYS
from tests.support.oracle.model import BoardModel, Counted, Metric

WINDOWS = ("all", "day", "week", "last-2-days", "last-4-days")
COUNTED = (("sum", 0), ("sum", 2), ("sum", 2), ("max", 0), ("min", 0), ("last", 2))
"""Aggregates and precisions."""
ZONES = ("UTC", "America/St_Johns", "Asia/Kathmandu", "Pacific/Auckland")
HOUR = 3_600_000
START = datetime(2026, 10, 20, 7, tzinfo=UTC)
DAY = timedelta(days=1)
TRAPS = [
    "scores from before ties were by instant lead",
    "another aggregate starts empty",
    "another precision starts empty",
    "a metric that comes back is refused",
    "a metric that comes back after a deletion is read",
    "an amount with too many decimals is refused",
    "a new tie-break orders equals",
]


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
    aggregate: str
    precision: int
    ties: str
    goals: str
    """The order of the metric that breaks ties; empty: it breaks none."""

    @property
    def name(self) -> str:
        """The name in the model of what it counts: another aggregate or precision makes another metric."""
        return f"{self.aggregate}-{self.precision}"

    def text(self) -> str:
        windows = orjson.dumps(self.windows).decode()
        tie_breaks = 'tie_breaks = ["goals"], ' if self.goals else ""
        return (
            f'[boards."{self.pattern}"]\ntimezone = "{self.zone}"\nweek_start = "{WEEKDAYS[self.week_start]}"\n'
            f'late = "{self.late} days"\nkeep = "{self.keep} days"\nmembers = "{self.members}"\n'
            f"shards = {self.shards}\n"
            f'metrics.points = {{ aggregate = "{self.aggregate}", precision = {self.precision}, '
            f'order = "{self.order}", ties = "{self.ties}", {tie_breaks}windows = {windows} }}\n'
            f'metrics.goals = {{ aggregate = "sum", order = "{self.goals or "descending"}" }}\n'
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

    def post(self, stack: Stack, member: str, at: datetime, is_refused: bool = False, **metrics: float) -> str:
        """Write an event; returns its id."""
        self.posted += 1
        event = {"id": f"e{self.posted}", "board": "b", "member": member, "at": at.isoformat()}
        deliver(stack, [{**event, "metrics": metrics}])
        letters = [one.dead_letters.messages for one in (self.stack, self.old) if one is not None]
        assert any(letters) is is_refused
        for refused in letters:
            refused.clear()
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
    total: str = ""
    """The metric whose total has all events since the board began, or since it was rebuilt for that metric."""
    lost: set[str] = field(default_factory=set)
    """Metrics whose totals had all events until others were counted."""
    left: set[str] = field(default_factory=set)
    """Such metrics that were not defined for a while."""
    met: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.before = self.definition = self.another(None)
        self.model = BoardModel({})
        self.deployed()

    def another(self, before: Definition | None) -> Definition:
        rng = self.rng
        windows = tuple(sorted({*rng.choice([["all"], ["all"], []]), *rng.sample(WINDOWS, rng.randint(2, 4))}))
        late = rng.choice([1, 2, 4])
        order = "descending" if before is None or rng.random() < 0.8 else "ascending"
        members = "open" if before is None or rng.random() < 0.7 else "registered"
        keep, shards = rng.choice([late, 5, 9]), rng.choice([1, 3])
        pattern = rng.choice(["b", "b", "*", "b*"])
        if before is None or rng.random() < 0.3:
            zone, week_start = rng.choice(ZONES), rng.choice([0, 6])
        else:
            zone, week_start = before.zone, before.week_start
        lost = [one for one in COUNTED if "-".join(map(str, one)) in self.lost]
        counted = rng.choice(lost if lost and rng.random() < 0.5 else COUNTED)
        if before is not None and rng.random() < 0.6:
            counted = before.aggregate, before.precision
        ties = rng.choice(["member", "first"])
        goals = rng.choice(["", "ascending", "descending"]) if counted[0] == "sum" else ""
        return Definition(windows, late, keep, order, members, shards, zone, week_start, pattern, *counted, ties, goals)

    def deployed(self) -> None:
        rules = self.definition
        self.model.metrics = {
            f"{aggregate}-{precision}": Metric(
                aggregate,
                precision,
                rules.order == "descending",
                rules.ties,
                tie_breaks=("goals",) if rules.goals else (),
            )
            for aggregate, precision in COUNTED
        } | {"goals": Metric(descending=rules.goals != "ascending")}
        self.follow(rules)
        self.start(rules.text())

    def deploy(self) -> None:
        self.before, self.definition, self.whole = self.definition, self.another(self.definition), None
        if self.total in self.model.metrics and self.total != self.definition.name:
            self.left.add(self.total)
        self.deployed()

    def follow(self, definition: Definition) -> None:
        """Let the model judge time as a definition does."""
        calendar = self.model.calendar
        calendar.late, calendar.keep = definition.late * DAY, definition.keep * DAY
        calendar.zone, calendar.week_start = time_zone(definition.zone), definition.week_start
        self.model.longest = {"day": max((int(name[5]) for name in definition.windows if "last" in name), default=0)}
        self.model.keeps_instants = definition.ties == "first" or definition.aggregate == "last"

    def hide(self) -> None:
        """Hide or show a member."""
        if self.model.members:
            member, hidden = self.rng.choice(sorted(self.model.members)), self.rng.random() < 0.5
            assert self.one_at_work().put("/boards/b/member", {"hidden": hidden}, id=member)[0] == 200
            self.model.put(member, hidden=hidden)

    def register(self, definition: Definition, *members: str) -> None:
        """Members are registered. Where sums are ranked, each has a 0 that is of no period."""
        for member in members:
            self.model.put(member)
            if definition.aggregate == "sum":
                self.model.count("", member, datetime.fromtimestamp(0, UTC), {definition.name: 0}, self.now)

    def event(self) -> None:
        """One event, by functions of either definition while both are there."""
        stack = self.one_at_work()
        definition = self.before if stack is self.old else self.definition
        member = f"m{self.rng.randrange(6)}"
        at = self.now - timedelta(hours=self.rng.choice([0, 0, 1, 5, 20, 30, 50, 80]))
        points = self.rng.choice([0, 1, 2, 5, 130, 0.25])
        if definition.members == "registered":
            assert stack.put("/boards/b/member", id=member)[0] == 200
            if member not in self.model.members:
                self.register(definition, member)
        units = points * 10**definition.precision
        goals = self.rng.randint(-1, 2)
        event_id = self.post(stack, member, at, units % 1 != 0, points=points, goals=goals)
        self.follow(definition)
        if self.rng.random() < 0.2:
            self.hide()
        if units % 1 == 0 or definition.members == "registered":
            self.count(definition.name)
        if units % 1:
            self.met.add("an amount with too many decimals is refused")
        else:
            self.model.count(event_id, member, at, {definition.name: int(units), "goals": goals}, self.now)

    def count(self, name: str) -> None:
        """A metric is counted, and others are not."""
        if self.total not in (name, ""):
            self.lost.add(self.total)
            self.total = "none"
        self.total = self.total or name

    def project(self) -> None:
        (shard,) = self.engine.stream("Scores")
        while (done := self.stack.projected.get(0, 0)) < len(shard):
            batch = shard[done : done + self.rng.randint(1, 9)]
            assert self.one_at_work().projector({"Records": batch}, Context()) == {"batchItemFailures": []}
            self.stack.projected[0] = done + len(batch)

    def between(self) -> None:
        self.event()
        self.project()

    def rebuilt(self) -> None:
        """Rebuild the board while events go on."""
        members = list(self.model.members)
        self.rebuild(self.between)
        self.whole = self.now
        if self.definition.members == "registered":
            # Who has a number of the metric already has it since then.
            has = {event.member for event in self.model.counted if self.definition.name in event.amounts}
            self.register(self.definition, *(member for member in members if member not in has))
        if self.definition.name not in self.lost:
            self.total = self.definition.name
            self.left.discard(self.total)

    def delete(self) -> None:
        """Delete the board: it begins again."""
        for _ in calls(self.stack, "delete", board="b"):
            self.project()
        self.project()
        self.clock.milliseconds += HOUR
        self.model.members.clear()
        self.model.counted.clear()
        if self.definition.name in self.lost:
            self.met.add("a metric that comes back after a deletion is read")
        self.whole, self.total = START, ""
        self.lost.clear()
        self.left.clear()

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
                    self.compare(page, window, on)
                    self.read += 1
                    continue
                assert not readable or page["type"].rpartition(":")[2] in {"not-built", "period-gone"}, page
                if window == "all" and self.definition.name in self.lost | self.left:
                    if self.whole is not None:
                        assert "was counted in another way for a while" in page["detail"]
                        self.met.add("a metric that comes back is refused")
                    continue
                begun = self.model.calendar.bounds(window, on)[0]
                assert not readable or self.whole is None or (begun is not None and begun < self.whole), page

    def compare(self, page: dict[str, Any], window: str, on: datetime) -> None:
        rules = self.definition
        expected = [(*line[:3], *line.tie_breaks) for line in self.model.listing(rules.name, window, on).lines()]
        units = 10**rules.precision
        found = [
            (line["rank"], line["member"], round(line["score"] * units), *line.get("tie_breaks", {}).values())
            for line in page["entries"]
        ]
        events = self.model.events(rules.name, window, on).values()
        if rules.aggregate == "sum" and "last" in window and any(len({e.is_dated for e in of}) > 1 for of in events):
            # Each bucket has an instant of its own, and of late events the model does not know the buckets.
            found.sort()
            expected.sort()
        assert found == expected, (window, on)
        if window == "all":
            assert rules.name not in self.lost
            self.meet([one for of in self.model.events(rules.name, "all", on).values() for one in of])

    def meet(self, shown: list[Counted]) -> None:
        """Note the traps of a list."""
        names = {name for event in self.model.counted for name in event.amounts} - {self.definition.name, "goals"}
        if shown and any(not name.startswith(self.definition.aggregate) for name in names):
            self.met.add("another aggregate starts empty")
        if shown and any(name.startswith(self.definition.aggregate) for name in names):
            self.met.add("another precision starts empty")
        placed = self.model.listing(self.definition.name, "all", self.now).placed
        if self.before.goals != self.definition.goals and {*Counter(one.score for one in placed).values()} - {1}:
            self.met.add("a new tie-break orders equals")
        if self.definition.ties == "first" and {one.is_dated for one in shown if one.id} == {True, False}:
            self.met.add("scores from before ties were by instant lead")


def live(seed: int, monkeypatch: pytest.MonkeyPatch) -> History:
    """Live through deployments."""
    with one_clock(START, monkeypatch) as (stacks, clock):
        history = History(seed, stacks, clock)
        for step in range(14):
            what = history.rng.random()
            if what < 0.35 and step < 8:
                history.deploy()
            for _ in range(history.rng.randint(1, 6)):
                history.event()
            history.project()
            history.old = None
            if 0.35 < what < 0.38 or (step == 11 and history.definition.name in history.lost):
                history.delete()
            elif (what > 0.6 or step == 8) and history.model.counted:
                history.rebuilt()
            history.check()
            clock.milliseconds += history.rng.choice([1, 7, 20, 33]) * HOUR
        return history
