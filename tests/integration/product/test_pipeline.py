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

THOROUGH = pytest.mark.thorough
START = int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000)


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
    client: Any = Engine(shards=3) if dynamodb == "engine" else request.getfixturevalue("local_client")
    live_through(client, seed=2, berlin=berlin, steps=steps, events=60)


def test_time_alone_changes_ranks_and_writes_nothing() -> None:
    engine = Engine(shards=2)
    create_tables(engine)
    clock = ManualClock(START)
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


GOOD: dict[str, Any] = {
    "id": "g",
    "board": "demo-run",
    "member": "m",
    "at": "2026-11-21T10:00:00Z",
    "metrics": {"points": 1},
}
BROKEN: list[dict[str, Any]] = [
    {"id": None},
    {"board": "a/b"},
    {"member": "x" * 257},
    {"at": "yesterday"},
    {"metrics": {"points": 1.5}},
]
BAD = [
    *("", "null", "[]", "{", '"text"', "\u0000", "{}" * 2, "[" * 10_000, "x" * 1_048_576),
    '{"id":"' + "y" * 1_048_000 + '"}',
    *(orjson.dumps({**GOOD, "id": f"bad-{number}", **part}).decode() for number, part in enumerate(BROKEN)),
]


def test_bad_input_costs_nobody_else_anything() -> None:
    engine = Engine(shards=3)
    create_tables(engine)
    with running(engine, ManualClock(START), BOARDS) as stack:
        pipeline = pipeline_on(engine, stack, 11, berlin=False)
        activity(pipeline, 60)
        for body in BAD:
            pipeline.queue.send(body)
        pipeline.settle()

        assert pipeline.assert_exact() > 0
        assert (pipeline.queue.dead, pipeline.queue.most_received) == ([], 1)  # the queue gave up on no message
        letters = {letter["MessageBody"] for letter in stack.dead_letters.messages}
        kept = {orjson.loads(body)["record"]["body"] for body in stack.bucket.objects.values()}
        assert all(body in letters or body in kept for body in BAD)
        assert len(stack.dead_letters.messages) == len(BAD)
        assert all(len(reason) > 10 for reason in stack.dead_letters.reasons())
