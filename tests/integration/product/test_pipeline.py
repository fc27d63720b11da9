"""The whole pipeline, real handlers under Lambda's delivery, against a sorted list that knows nothing of it."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest

from standings.runtime.environment import BOARDS_FILE
from tests.support.aws.stack import ManualClock, Stack, running
from tests.support.awslambda.pollers import LocalStream, Queue, SqsPoller, StreamPoller
from tests.support.builders.checks import assert_tiers_count_the_entries
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.oracle.model import CALENDAR, Model

BERLIN = ZoneInfo("Europe/Berlin")
BOARDS = (
    BOARDS_FILE.read_text(encoding="utf-8")
    + """
[boards."berlin-*"]
timezone = "Europe/Berlin"
week_start = "sunday"
late = "2 days"
keep = "3 days"
[boards."berlin-*".metrics.points]
aggregate = "sum"
order = "ascending"
windows = ["all", "hour", "day", "week", "month", "last-3-days", "last-24-hours"]
"""
)


@dataclass
class Pipeline:
    """A stack between a queue and a stream, both as AWS delivers them, and what it should say."""

    stack: Stack
    queue: Queue
    sqs: SqsPoller
    stream: StreamPoller
    board: str
    windows: tuple[str, ...]
    model: Model
    rng: random.Random
    descending: bool = True
    posted: list[dict[str, Any]] = field(default_factory=list)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.stack.clock() / 1000, UTC)

    def post(self, event: dict[str, Any]) -> None:
        self.posted.append(event)
        self.queue.send(orjson.dumps(event).decode())

    def settle(self) -> None:
        self.sqs.drain()
        self.stream.drain()

    def assert_exact(self, periods: tuple[datetime, ...] = ()) -> int:
        """Compare every list, now and in the periods that hold other instants, and every member's rank in `all`."""
        checked = 0
        for window in self.windows:
            past = [on for on in periods if "hour" not in window or self.now - on <= timedelta(hours=24)]
            for on in (self.now, *(() if window == "all" else past)):
                expected = self.model.standings(window, on, descending=self.descending)
                period = None if on is self.now or window == "all" else self._named(window, on)
                found = self.stack.entries(f"/boards/{self.board}/points/{window}", self.rng.choice([7, 1000]), period)
                assert [(e["rank"], e["member"], e["score"]) for e in found] == expected, (window, on)
                checked += len(found)
        for rank, member, score in self.model.standings("all", self.now, descending=self.descending):
            _, answer = self.stack.get(f"/boards/{self.board}/points/all/rank", member=member)
            assert (answer["rank"], answer["score"]) == (rank, score)
        return checked

    def _named(self, window: str, on: datetime) -> str:
        local = on.astimezone(self.model.zone)
        return f"{local:%Y-%m-%dT%H}{local.isoformat()[-6:]}" if "hour" in window else local.date().isoformat()


@pytest.fixture(params=["engine", pytest.param("dynamodb-local", marks=pytest.mark.thorough)])
def dynamodb(request: pytest.FixtureRequest) -> Any:
    return Engine(shards=3) if request.param == "engine" else request.getfixturevalue("local_client")


def activity(pipeline: Pipeline, count: int) -> None:
    """Events of few busy members and many quiet ones: on time, late, doubled, negative, of nothing at all."""
    rng = pipeline.rng
    for _ in range(count):
        member = f"m{int(rng.paretovariate(0.7)) % 40}" if rng.random() < 0.8 else f"images/{rng.randrange(200)}.jpg"
        late = rng.choice([0, 0, 0, 0, rng.random() * 30, rng.random() * 24 * 12])
        at = pipeline.now - timedelta(hours=late) + timedelta(minutes=rng.random() * 4)
        points = rng.choice([1, 1, 2, 5, 100, 0, -3])
        number = len(pipeline.posted)
        event: dict[str, Any] = {
            "id": f"{pipeline.board}-{number}",
            "board": pipeline.board,
            "member": member,
            "at": at.isoformat(timespec="milliseconds"),
            "metrics": {"points": points},
        }
        pipeline.post(event)
        at = at.replace(microsecond=at.microsecond // 1000 * 1000)
        pipeline.model.add(event["id"], member, at, points, pipeline.now)
        if rng.random() < 0.15:
            pipeline.post(rng.choice(pipeline.posted[-50:]))


def pipeline_on(dynamodb: Any, stack: Stack, seed: int, *, berlin: bool) -> Pipeline:
    rng = random.Random(seed)
    queue = Queue(rng)
    shards = LocalStream(dynamodb, "Scores") if not isinstance(dynamodb, Engine) else dynamodb.stream("Scores")
    sqs = SqsPoller(stack.writer, queue, batch_size=rng.choice([10, 100, 1000]), rng=rng)
    stream = StreamPoller(stack.projector, shards, batch_size=rng.choice([1, 10, 100]), rng=rng)
    if berlin:
        windows: tuple[str, ...] = ("all", "hour", "day", "week", "month", "last-3-days", "last-24-hours")
        model = Model(BERLIN, 6, timedelta(days=2))
        return Pipeline(stack, queue, sqs, stream, "berlin-run", windows, model, rng, descending=False)
    windows = ("all", *CALENDAR[1:], "last-7-days")
    return Pipeline(stack, queue, sqs, stream, "demo-run", windows, Model(late=timedelta(days=35)), rng)


def live_through(dynamodb: Any, seed: int, *, berlin: bool, steps: int, events: int) -> None:
    """Activity, then time, then activity again: every rank is compared at each step."""
    print(f"seed {seed}")
    create_tables(dynamodb, expire=False)
    # Over the end of daylight saving, a week's end and a month's.
    clock = ManualClock(int(datetime(2026, 10, 23, 20, 30, tzinfo=UTC).timestamp() * 1000))
    with running(dynamodb, clock, BOARDS) as stack:
        pipeline = pipeline_on(dynamodb, stack, seed, berlin=berlin)
        started = pipeline.now
        for _ in range(steps):
            activity(pipeline, events)
            pipeline.settle()
            back = [pipeline.now - timedelta(hours=hours) for hours in (1, 24, 30)]
            pipeline.assert_exact(tuple(on for on in back if on >= started - timedelta(hours=20)))
            clock.milliseconds += int(pipeline.rng.choice([1, 5, 11, 25, 60]) * 3_600_000)
        assert stack.dead_letters.messages == []
        assert_tiers_count_the_entries(dynamodb)


@pytest.mark.parametrize(("seed", "berlin"), [(1, False), (2, True), pytest.param(3, True, marks=pytest.mark.thorough)])
def test_every_rank_is_exact_while_time_passes(dynamodb: Any, seed: int, berlin: bool) -> None:
    live_through(dynamodb, seed, berlin=berlin, steps=12 if isinstance(dynamodb, Engine) else 4, events=60)


def test_time_alone_changes_ranks_and_writes_nothing() -> None:
    engine = Engine(shards=2)
    create_tables(engine)
    clock = ManualClock(int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000))
    writes: list[str] = []
    with running(engine, clock, BOARDS) as stack:
        for berlin in (False, True):
            pipeline = pipeline_on(engine, stack, 5, berlin=berlin)
            for _ in range(5):
                activity(pipeline, 60)
                pipeline.settle()
                clock.milliseconds += 26 * 3_600_000
            before = pipeline.now
            engine.before.append(lambda operation, _: writes.append(operation) if "Get" not in operation else None)
            for days in (1, 6, 24, 60):
                clock.milliseconds = int((before + timedelta(days=days)).timestamp() * 1000)
                pipeline.settle()
                pipeline.assert_exact()
            engine.before.clear()
            assert set(writes) == {"Query"}


MALFORMED = [
    "",
    "null",
    "[]",
    "{",
    '"text"',
    "123",
    "\u0000",
    "{}" * 2,
    "[" * 10_000,
    '{"id": "x"',
    "x" * 1_048_576,
    '{"id":"' + "y" * 1_048_000 + '"}',
]
BROKEN: list[dict[str, Any]] = [
    {"id": ""},
    {"id": None},
    {"id": 5},
    {"id": "x" * 129},
    {"board": ""},
    {"board": "a/b"},
    {"board": "../../etc"},
    {"board": "b" * 129},
    {"board": ["demo-run", "demo-run"]},
    {"board": {"S": "x"}},
    {"member": ""},
    {"member": "x" * 257},
    {"member": ["m"]},
    {"at": "yesterday"},
    {"at": 0},
    {"at": "2026-11-21T10:15:00"},
    {"at": "9999-12-31T23:59:59Z"},
    {"at": "2026-13-01T00:00:00Z"},
    {"metrics": {}},
    {"metrics": {"points": "1"}},
    {"metrics": {"points": 1.5}},
    {"metrics": {"points": 1e300}},
    {"metrics": {"points": True}},
    {"metrics": {"nothing": 1}},
    {"metrics": {"__proto__": 1}},
    {"metrics": [["points", 1]]},
    {"updates": []},
    {"__class__": "x"},
]


def test_bad_input_costs_nobody_else_anything(dynamodb: Any) -> None:
    create_tables(dynamodb, expire=False)
    clock = ManualClock(int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000))
    with running(dynamodb, clock, BOARDS) as stack:
        pipeline = pipeline_on(dynamodb, stack, 11, berlin=False)
        good = {"id": "g", "board": "demo-run", "member": "m", "at": "2026-11-21T10:00:00Z", "metrics": {"points": 1}}
        bad = [
            *MALFORMED,
            *(orjson.dumps({**good, "id": f"bad-{n}", **part}).decode() for n, part in enumerate(BROKEN)),
        ]
        assert len(bad) == 40
        activity(pipeline, 120)
        for body in bad:
            pipeline.queue.send(body)
        pipeline.settle()

        assert pipeline.assert_exact() > 0
        assert pipeline.queue.dead == []  # none was tried until the queue gave up on it
        assert pipeline.queue.most_received == 1
        letters = {letter["MessageBody"]: letter for letter in stack.dead_letters.messages}
        kept = {orjson.loads(body)["record"]["body"] for body in stack.bucket.objects.values()}
        assert all(body in letters or body in kept for body in bad)
        assert len(stack.dead_letters.messages) == 40
        assert all(len(reason) > 10 for reason in stack.dead_letters.reasons())


def test_a_producer_that_uses_an_id_twice(dynamodb: Any) -> None:
    create_tables(dynamodb, expire=False)
    clock = ManualClock(int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000))
    with running(dynamodb, clock, BOARDS) as stack:
        pipeline = pipeline_on(dynamodb, stack, 12, berlin=False)
        event = {"id": "1", "board": "demo-run", "member": "m", "at": "2026-11-21T10:00:00Z", "metrics": {"points": 1}}
        for points in (1, 1, 2, 1):
            pipeline.post({**event, "metrics": {"points": points}})
            pipeline.settle()

        assert stack.entries("/boards/demo-run/points/all")[0]["score"] == 1
        assert stack.dead_letters.reasons() == ["id: '1' was used before, for an event with other content"]
