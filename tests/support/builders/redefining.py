"""A board whose definition changes and changes back, beside a model of what can be read of it."""

import random
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.oracle.model import BoardModel, Metric

WINDOWS = ("all", "day", "week", "last-2-days", "last-4-days")
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

    def text(self) -> str:
        windows = orjson.dumps(self.windows).decode()
        return (
            f'[boards."b"]\nlate = "{self.late} days"\nkeep = "{self.keep} days"\nmembers = "{self.members}"\n'
            f'metrics.points = {{ aggregate = "sum", order = "{self.order}", windows = {windows} }}\n'
        )


@dataclass
class History:
    """One board through deployments, beside a model that is told only what was accepted and when."""

    seed: int
    stacks: ExitStack
    clock: ManualClock
    rng: random.Random = field(init=False)
    engine: Any = field(default_factory=Engine)
    model: BoardModel = field(init=False)
    old: Stack | None = None
    read: int = 0
    events: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        create_tables(self.engine, expire=False)
        self.definition = self.another(None)
        self.model = BoardModel({"points": Metric()})
        self.stack = self.deployed()

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock() / 1000, UTC)

    def another(self, before: Definition | None) -> Definition:
        rng = self.rng
        windows = tuple(sorted({"all", *rng.sample(WINDOWS, rng.randint(1, 4))}))
        late = rng.choice([1, 2, 4])
        order = "descending" if before is None or rng.random() < 0.8 else "ascending"
        members = "open" if before is None or rng.random() < 0.7 else "registered"
        return Definition(windows, late, rng.choice([late, 5, 9]) if late < 5 else 9, order, members)

    def deployed(self) -> Stack:
        self.model.metrics = {"points": Metric(descending=self.definition.order == "descending")}
        self.model.calendar.keep = self.definition.keep * DAY
        return self.stacks.enter_context(running(self.engine, self.clock, self.definition.text()))

    def deploy(self) -> None:
        self.old, self.before = self.stack, self.definition
        self.definition = self.another(self.definition)
        self.stack = self.deployed()
        self.stack.projected = self.old.projected

    def event(self) -> None:
        """One event, by functions of either definition while both are there."""
        rng, stack, definition = self.rng, self.stack, self.definition
        if self.old is not None and rng.random() < 0.5:
            stack, definition = self.old, self.before
        member = f"m{rng.randrange(6)}"
        at = self.now - timedelta(hours=rng.choice([0, 0, 1, 5, 20, 30, 50, 80]))
        points = rng.choice([0, 1, 2, 5, 130])
        self.events += 1
        if definition.members == "registered":
            assert stack.put("/boards/b/member", id=member)[0] == 200
            self.model.put(member)
        event = {"id": f"e{self.events}", "board": "b", "member": member, "at": at.isoformat()}
        body = orjson.dumps({**event, "metrics": {"points": points}}).decode()
        record = {"messageId": "1", "body": body, "messageAttributes": {}}
        assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}
        assert stack.dead_letters.reasons() == []
        self.model.calendar.late = definition.late * DAY
        assert self.model.add(event["id"], member, at, {"points": points}, self.now)

    def project(self) -> None:
        (shard,) = self.engine.stream("Scores")
        while self.stack.projected.get(0, 0) < len(shard):
            done = self.stack.projected.get(0, 0)
            batch = shard[done : done + self.rng.randint(1, 9)]
            stack = self.old if self.old is not None and self.rng.random() < 0.5 else self.stack
            assert stack.projector({"Records": batch}, Context()) == {"batchItemFailures": []}
            self.stack.projected[0] = done + len(batch)

    def rebuild(self) -> None:
        self.old, begin = None, True
        while not (answer := self.stack.maintenance({"rebuild": {"board": "b", "begin": begin}}, Context()))["done"]:
            begin = False
            self.clock.milliseconds += round(answer["wait"] * 1000)
            self.event()
            self.project()

    def check(self) -> None:
        """Every period that can be read is what the model says."""
        self.clock.milliseconds += 61_000  # whatever is remembered of boards is asked again
        self.model.calendar.late = self.definition.late * DAY
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
                elif readable and page["type"].rpartition(":")[2] not in {"not-built", "period-gone"}:
                    raise AssertionError(page)


def live(seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    print(f"seed {seed}")
    with ExitStack() as stacks:
        clock = ManualClock(round(START.timestamp() * 1000))
        # Before any function starts: what is remembered of boards goes by this clock.
        monkeypatch.setattr("time.monotonic", lambda: clock() / 1000)
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
                history.rebuild()
            history.check()
            history.clock.milliseconds += history.rng.choice([1, 7, 20, 33]) * HOUR
        return history.read
