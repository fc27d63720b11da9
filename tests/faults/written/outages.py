"""Schedules of outages: queue and stream deliver again and again, as the settings in `template.yaml` say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from standings.domain.windows.calendar import DAY, HOUR, MINUTE, SECOND
from tests.support.awslambda import settings
from tests.support.awslambda.failure_records import failure_key, failure_record
from tests.support.awslambda.pollers import Context, Killed, Queue, SqsPoller, StreamPoller

from .rig import NOW, rig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.aws.stack import Stack

    from .rig import Rig

MEMBERS: Final = [f"m{number}" for number in range(10)]
ALL: Final = {member: number + 1 for number, member in enumerate(MEMBERS)}
MOST_AT_ONCE: Final = 3
BETWEEN_TRIES: Final = 4 * MINUTE
"""How long Lambda waits between two tries of an outage. Each try takes most of a minute."""
CODES: Final = ("ThrottlingException", "InternalServerError", "ProvisionedThroughputExceededException")


class Mapping:
    """The event source mapping of the stream. It tries until all is delivered or an instant is reached."""

    def __init__(self, pipeline: Rig, stack: Stack) -> None:
        self._pipeline = pipeline
        self._stack = stack
        kept = self._keep if settings.STREAM.keeps_failures else lambda *_: None
        shards = pipeline.engine.stream("Scores")
        clock = lambda: pipeline.clock() / 1000  # noqa: E731
        self.poller = StreamPoller.deployed(
            settings.STREAM, self._invoke, shards, batch_size=100, clock=clock, on_failure=kept
        )
        self.most = 100
        """A batch of more records takes the function more than its time."""

    def run(self, until: int | None = None) -> None:
        while (until is None or self._pipeline.clock() < until) and self.poller.poll():
            self._pipeline.clock.milliseconds += BETWEEN_TRIES * (until is not None)

    def _invoke(self, event: dict[str, Any], context: Any) -> dict[str, Any]:
        if len(event["Records"]) > self.most:
            self._pipeline.clock.milliseconds += settings.timeout("ProjectorFunction") * SECOND
            raise Killed
        return self._stack.projector(event, context)

    def _keep(self, records: list[dict[str, Any]], condition: str) -> None:
        at = self._pipeline.clock() / 1000
        key = failure_key("shardId-1", at, records[0]["dynamodb"]["SequenceNumber"])
        self._stack.bucket.put_object(
            "failures", key, failure_record(records, condition, at, "shardId-1"), "application/json"
        )


def send_all(pipeline: Rig, stack: Stack, members: list[str]) -> None:
    """Send one event for each member, whose points are in `ALL`."""
    for member in members:
        pipeline.send(stack, member, ALL[member])


def break_down(pipeline: Rig, table: str) -> None:
    """Let every call fail that writes a table or many items, until the hooks are cleared."""
    number = iter(range(10**9))

    def fail(operation: str, request: dict[str, Any]) -> None:
        if table in json.dumps(request, default=repr):
            raise ClientError({"Error": {"Code": CODES[next(number) % 3], "Message": "an outage"}}, operation)

    pipeline.engine.before.append(fail)


def bodies() -> Iterator[str]:
    """Yield the bodies of one message for each member, and of some of them again."""
    for member in [*MEMBERS, *MEMBERS[:3]]:
        event = {"id": f"of {member}", "board": "b", "member": member, "metrics": {"points": ALL[member]}}
        yield json.dumps({**event, "at": "2026-11-21T10:00:00Z"})


def a_day_without_dynamodb() -> None:
    """DynamoDB throttles or fails for 24 hours. SQS delivers each message again after its visibility timeout."""
    with rig() as pipeline:
        stack = pipeline.functions()
        queue = Queue(max_receive_count=settings.QUEUE.max_receive_count, clock=lambda: pipeline.clock() / 1000)
        poller = SqsPoller(stack.writer, queue, batch_size=100)
        for body in bodies():
            queue.send(body)
        break_down(pipeline, "")
        while pipeline.clock() < NOW + DAY:
            received = pipeline.clock()
            assert poller.poll()
            pipeline.clock.milliseconds = max(pipeline.clock(), received + settings.QUEUE.visibility * SECOND)
        assert queue.most_received > DAY // SECOND // settings.QUEUE.visibility
        pipeline.engine.before.clear()
        poller.drain()
        assert (len(queue.dead), stack.dead_letters.messages) == (0, [])
        pipeline.project(stack, *pipeline.records())
        assert pipeline.scores(stack) == ALL


def hours_without_rankings() -> None:
    """Rankings fails for eleven hours. Lambda delivers the batch hundreds of times."""
    with rig() as pipeline:
        stack = pipeline.functions()
        mapping = Mapping(pipeline, stack)
        send_all(pipeline, stack, MEMBERS)
        break_down(pipeline, "Rankings")
        mapping.run(until=NOW + 11 * HOUR)
        assert mapping.poller.invocations > 100 or stack.bucket.objects or not settings.STREAM.reports
        pipeline.engine.before.clear()
        mapping.run()
        assert stack.bucket.objects == {}
        assert pipeline.scores(stack) == ALL


def longer_than_records_are_tried() -> None:
    """Rankings fails for 13 hours. After 12 hours Lambda gives up the oldest records. Then they are replayed."""
    with rig() as pipeline:
        stack = pipeline.functions()
        mapping = Mapping(pipeline, stack)
        send_all(pipeline, stack, MEMBERS[:5])
        break_down(pipeline, "Rankings")
        mapping.run(until=NOW + 6 * HOUR)
        pipeline.engine.before.clear()
        send_all(pipeline, stack, MEMBERS[5:])
        break_down(pipeline, "Rankings")
        mapping.run(until=NOW + 13 * HOUR)
        pipeline.engine.before.clear()
        mapping.run()
        assert pipeline.scores(stack) == {member: ALL[member] for member in MEMBERS[5:]}
        pipeline.replay(stack)
        assert stack.bucket.objects == {}
        assert pipeline.scores(stack) == ALL


def a_batch_that_is_too_much() -> None:
    """The function reaches its timeout with every batch of more than a few records."""
    with rig() as pipeline:
        stack = pipeline.functions()
        mapping = Mapping(pipeline, stack)
        mapping.most = MOST_AT_ONCE
        send_all(pipeline, stack, MEMBERS)
        mapping.run()
        assert any(isinstance(error, Killed) for error in mapping.poller.errors)
        assert stack.bucket.objects == {}
        assert pipeline.scores(stack) == ALL


def disabled_for_most_of_a_day() -> None:
    """The mapping is disabled for 23 hours. Records older than 12 hours go to the failure bucket without a try."""
    with rig() as pipeline:
        stack = pipeline.functions()
        mapping = Mapping(pipeline, stack)
        send_all(pipeline, stack, MEMBERS[:5])
        pipeline.clock.milliseconds = NOW + 14 * HOUR
        send_all(pipeline, stack, MEMBERS[5:])
        pipeline.clock.milliseconds = NOW + 23 * HOUR
        mapping.run()
        assert (mapping.poller.lost, mapping.poller.invocations, len(stack.bucket.objects)) == (0, 1, 1)
        assert pipeline.scores(stack) == {member: ALL[member] for member in MEMBERS[5:]}
        pipeline.replay(stack)
        assert stack.bucket.objects == {}
        assert pipeline.scores(stack) == ALL


def disabled_for_longer_than_a_day() -> None:
    """The mapping is disabled for 25 hours. The stream has dropped a record: an audit names its member."""
    with rig() as pipeline:
        stack = pipeline.functions()
        mapping = Mapping(pipeline, stack)
        send_all(pipeline, stack, MEMBERS[:8])
        mapping.run()
        send_all(pipeline, stack, MEMBERS[8:9])
        pipeline.clock.milliseconds = NOW + 24 * HOUR
        send_all(pipeline, stack, MEMBERS[9:])
        pipeline.clock.milliseconds = NOW + 25 * HOUR
        mapping.run()
        assert (mapping.poller.lost, stack.bucket.objects) == (1, {})
        assert _drifted(stack) == {MEMBERS[8]}
        pipeline.rebuild(stack)
        assert _drifted(stack) == set()
        assert pipeline.scores(stack) == ALL


def _drifted(stack: Stack) -> set[str]:
    """Return the members that an audit names."""
    answer = stack.maintenance({"audit": {"board": "b"}}, Context(seconds=900))
    assert answer["done"]
    named = {example.get("member") for board in answer["boards"] for example in board["examples"]}
    assert bool(answer["drift"]) == bool(named)
    return named - {None}


def an_index_minutes_behind() -> None:
    """The sorted index shows changes ten minutes late. Ranks do not use it, and pages wait for it."""
    with rig() as pipeline:
        stack = pipeline.functions()
        index = pipeline.engine._tables["Rankings"].indexes["places"]
        send_all(pipeline, stack, MEMBERS)
        pipeline.project(stack, *pipeline.records())
        before = pipeline.scores(stack)
        index.behind = 600.0
        pipeline.send(stack, "m0", 100)
        pipeline.project(stack, *pipeline.records())
        pipeline.clock.milliseconds += 2 * MINUTE
        rank = stack.get("/boards/b/points/all/rank", member="m0")[1]
        assert (rank["rank"], rank["score"], rank["total"]) == (1, 101, 10)
        assert stack.get("/boards/b/points/all/rank", member="m9")[1]["rank"] == 2
        assert pipeline.scores(stack) == before
        pipeline.clock.milliseconds += 9 * MINUTE
        assert pipeline.scores(stack) == {**ALL, "m0": 101}


SCHEDULES: Final[tuple[Callable[[], None], ...]] = (
    a_day_without_dynamodb,
    hours_without_rankings,
    longer_than_records_are_tried,
    a_batch_that_is_too_much,
    disabled_for_most_of_a_day,
    disabled_for_longer_than_a_day,
    an_index_minutes_behind,
)
