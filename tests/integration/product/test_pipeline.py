"""The whole pipeline is exact while time passes."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.rolling.shifts import rolling_windows
from standings.runtime.environment import BOARDS_FILE
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
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
    """A stack with the pollers of its queue and its stream, and the model that it must equal."""

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

    def assert_exact(self, periods: tuple[datetime, ...] = ()) -> None:
        """Compare every list, in today's periods and those of other instants, and every rank in `all`."""
        for window in self.windows:
            past = [on for on in periods if "hour" not in window or self.now - on <= timedelta(hours=24)]
            for on in (self.now, *(() if window == "all" else past)):
                expected = self.model.standings(window, on, descending=self.descending)
                period = None if on is self.now or window == "all" else self._named(window, on)
                found = self.stack.entries(f"/boards/{self.board}/points/{window}", self.rng.choice([7, 1000]), period)
                assert [(e["rank"], e["member"], e["score"]) for e in found] == expected, (window, on)
        for rank, member, score in self.model.standings("all", self.now, descending=self.descending):
            _, answer = self.stack.get(f"/boards/{self.board}/points/all/rank", member=member)
            assert (answer["rank"], answer["score"]) == (rank, score)

    def _named(self, window: str, on: datetime) -> str:
        local = on.astimezone(self.model.zone)
        return f"{local:%Y-%m-%dT%H}{local.isoformat()[-6:]}" if "hour" in window else local.date().isoformat()


def activity(pipeline: Pipeline, count: int) -> None:
    """Post events of a few busy members and many quiet ones: on time, late, repeated, negative and of 0."""
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
    """A pipeline on the engine or on DynamoDB Local, of the board in Berlin's time zone or of the one in UTC."""
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


def ended(board: str, now: int) -> set[str]:
    """The rankings of a board's rolling windows that can no longer be read, of the last thousand periods."""
    family = parse_boards(BOARDS).family(board)
    assert family is not None
    return {
        rankings.at(period).key
        for rankings in rolling_windows(family, board)
        for period in range(rankings.first_open(now) - 1_000, rankings.first_open(now))
    }


THOROUGH = pytest.mark.thorough


@pytest.mark.parametrize(
    ("dynamodb", "berlin", "steps"),
    [
        ("engine", True, 8),
        pytest.param("engine", False, 12, marks=THOROUGH),
        pytest.param("dynamodb-local", True, 4, marks=THOROUGH),
    ],
)
def test_every_rank_is_exact_while_time_passes(
    dynamodb: str, berlin: bool, steps: int, request: pytest.FixtureRequest
) -> None:
    """Alternate activity and time: the end of daylight saving time, of a week and of a month."""
    client: Any = Engine(shards=3) if dynamodb == "engine" else request.getfixturevalue("local_client")
    create_tables(client, expire=False)
    clock = ManualClock(int(datetime(2026, 10, 23, 20, 30, tzinfo=UTC).timestamp() * 1000))
    with running(client, clock, BOARDS) as stack:
        pipeline = pipeline_on(client, stack, 2, berlin=berlin)
        started = pipeline.now
        for _ in range(steps):
            activity(pipeline, 60)
            pipeline.settle()
            back = [pipeline.now - timedelta(hours=hours) for hours in (1, 24, 30)]
            pipeline.assert_exact(tuple(on for on in back if on >= started - timedelta(hours=20)))
            clock.milliseconds += int(pipeline.rng.choice([1, 5, 11, 25, 60]) * 3_600_000)
        assert stack.dead_letters.messages == []
        assert_tiers_count_the_entries(client, ended(pipeline.board, clock()))


def test_time_alone_changes_ranks_and_writes_nothing() -> None:
    engine = Engine(shards=2)
    create_tables(engine)
    clock = ManualClock(int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000))
    writes: list[str] = []
    with running(engine, clock, BOARDS) as stack:
        for berlin in (False, True):
            pipeline = pipeline_on(engine, stack, 5, berlin=berlin)
            for _ in range(3):
                activity(pipeline, 40)
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
