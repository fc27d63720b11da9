"""The whole pipeline is exact, while time passes and whatever producers send."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import running
from tests.support.builders.stages.pipelines import BOARDS, activity, live_through, pipeline_on
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables


@pytest.fixture(params=["engine", pytest.param("dynamodb-local", marks=pytest.mark.thorough)])
def dynamodb(request: pytest.FixtureRequest) -> Any:
    return Engine(shards=3) if request.param == "engine" else request.getfixturevalue("local_client")


@pytest.mark.parametrize(
    ("seed", "berlin"),
    [(1, False), (2, True), pytest.param(3, True, marks=pytest.mark.thorough)],
)
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
        assert pipeline.queue.dead == []  # the queue gave up on no message
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
