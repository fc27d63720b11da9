"""Outages: settings of the queue and of the stream's mapping, repairs, and reads of the table."""

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle
from typing import Any, Final

from botocore.exceptions import ClientError

from standings.domain.windows import DAY, HOUR, MINUTE, SECOND
from standings.maintain.failures import LAMBDA_PREFIX
from standings.stores import Entry, Partition, Span
from tests.support.aws.stack import Stack, http_event
from tests.support.aws.throttling import Throttled
from tests.support.awslambda import settings
from tests.support.awslambda.failure_records import failure_key, failure_record
from tests.support.awslambda.pollers import Context, Killed, Message, StreamPoller, failed_ids, record_of

from .replacing import Change, Safeguard, Setting, always
from .rig import NOW, Rig

MEMBERS: Final = [f"m{number}" for number in range(10)]
ALL: Final = {member: number + 1 for number, member in enumerate(MEMBERS)}
MOST_AT_ONCE: Final = 3
BETWEEN_TRIES: Final = 15 * MINUTE  # Lambda waits far less, but more tries would show no more
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
        self.poller = StreamPoller(self._invoke, shards, clock=clock, on_failure=kept)
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
    codes = cycle(CODES)

    def fail(operation: str, request: dict[str, Any]) -> None:
        if table in json.dumps(request, default=repr):
            raise ClientError({"Error": {"Code": next(codes), "Message": "an outage"}}, operation)

    pipeline.engine.before.append(fail)


def bodies() -> Iterator[str]:
    """Yield the bodies of one message for each member, and of some of them again."""
    for member in [*MEMBERS, *MEMBERS[:3]]:
        event = {"id": f"of {member}", "board": "b", "member": member, "metrics": {"points": ALL[member]}}
        yield json.dumps({**event, "at": "2026-11-21T10:00:00Z"})


def _failed(stack: Stack, messages: list[Message]) -> list[Message]:
    """Deliver messages once more, and return those that failed. SQS would drop those received too often."""
    for message in messages:
        message.received += 1
        assert message.received <= settings.QUEUE.max_receive_count, "a message was received too often"
    answer = stack.writer({"Records": [record_of(message) for message in messages]}, Context())
    failed = failed_ids(answer, {message.message_id for message in messages})
    return [message for message in messages if message.message_id in failed]


@Safeguard(
    "the queue delivers a message 300 times",
    Setting("template.yaml:maxReceiveCount", "QUEUE", {"max_receive_count": 10}),
)
def a_day_without_dynamodb(pipeline: Rig) -> None:
    """DynamoDB throttles or fails for 24 hours. SQS delivers each message again after its visibility timeout."""
    stack = pipeline.functions()
    messages = [Message(body, {}, NOW, f"message-{number}") for number, body in enumerate(bodies())]
    break_down(pipeline, "")
    while pipeline.clock() < NOW + DAY:
        received = pipeline.clock()
        assert (messages := _failed(stack, messages))
        pipeline.clock.milliseconds = max(pipeline.clock(), received + settings.QUEUE.visibility * SECOND)
    assert messages[0].received > DAY // SECOND // settings.QUEUE.visibility
    pipeline.engine.before.clear()
    assert _failed(stack, messages) == []
    assert stack.dead_letters.messages == []
    pipeline.project(stack, *pipeline.records())
    assert pipeline.scores(stack) == ALL


@Safeguard(
    "Lambda tries a batch of the stream any number of times",
    Setting("template.yaml:MaximumRetryAttempts", "STREAM", {"max_retries": 20}),
)
@Safeguard(
    "Lambda reads in the projector's answer which records failed",
    Setting("template.yaml:FunctionResponseTypes", "STREAM", {"reports": False}),
)
def hours_without_rankings(pipeline: Rig) -> None:
    """Rankings fails for eleven hours. Lambda delivers the batch again and again."""
    stack = pipeline.functions()
    mapping = Mapping(pipeline, stack)
    send_all(pipeline, stack, MEMBERS)
    break_down(pipeline, "Rankings")
    mapping.run(until=NOW + 11 * HOUR)
    assert mapping.poller.invocations > 20 or stack.bucket.objects or not settings.STREAM.reports
    pipeline.engine.before.clear()
    mapping.run()
    assert stack.bucket.objects == {}
    assert pipeline.scores(stack) == ALL


@Safeguard(
    "Lambda splits a batch that fails as a whole",
    Setting("template.yaml:BisectBatchOnFunctionError", "STREAM", {"bisects": False}),
)
def a_batch_that_is_too_much(pipeline: Rig) -> None:
    """The function reaches its timeout with every batch of more than a few records."""
    stack = pipeline.functions()
    mapping = Mapping(pipeline, stack)
    mapping.most = MOST_AT_ONCE
    send_all(pipeline, stack, MEMBERS)
    mapping.run()
    assert any(isinstance(error, Killed) for error in mapping.poller.errors)
    assert stack.bucket.objects == {}
    assert pipeline.scores(stack) == ALL


Safeguard(
    "records that Lambda gives up go to the failure bucket",
    Setting("template.yaml:DestinationConfig", "STREAM", {"keeps_failures": False}),
)


@Safeguard(
    "a call has failed after nine seconds, whatever the service asks for",
    Change("wiring.building_blocks:_wait_no_longer", always(None)),
)
def ten_minutes_of_throttles(pipeline: Rig) -> None:
    """DynamoDB throttles everything for ten minutes, answers late, and asks the SDK, a real one, to wait."""
    pipeline.stacks.callback(random.setstate, random.getstate())
    random.seed(1)  # The waits of the SDK too
    throttled = Throttled("dynamodb", pipeline.clock, late=random.random)
    stack = pipeline.functions()
    send_all(pipeline, stack, MEMBERS[:5])
    messages = {"Records": [{"messageId": body, "body": body} for body in [*bodies()][5:10]]}
    records = pipeline.records()
    pipeline.client.client = throttled.client
    while pipeline.clock() < NOW + 10 * MINUTE:
        assert len(_in_time(pipeline, stack, "writer", messages)["batchItemFailures"]) == 5
        assert _in_time(pipeline, stack, "projector", {"Records": records})["batchItemFailures"]
        for function, request in (
            ("query", http_event("/boards/b/points/all")),
            ("command", http_event("/boards/b/member", "id=m0", "PUT")),
        ):
            answer = _in_time(pipeline, stack, function, request)
            assert (answer["statusCode"], answer["headers"]["Retry-After"]) == (503, "5")
    before = throttled.attempts
    with suppress(ClientError):
        throttled.client.list_tables()
    assert throttled.attempts == before + 1, "the SDK has used up its tokens"
    pipeline.client.client = pipeline.engine
    assert stack.writer(messages, Context()) == {"batchItemFailures": []}
    pipeline.project(stack, *records, *pipeline.records())
    assert pipeline.scores(stack) == ALL
    assert (stack.dead_letters.messages, stack.bucket.objects) == ([], {})


def _in_time(pipeline: Rig, stack: Stack, function: str, event: Any) -> Any:
    """Invoke a function, which must answer before its timeout."""
    timeout = settings.timeout(f"{function.title()}Function")
    until = pipeline.clock() + timeout * SECOND
    answer = getattr(stack, function)(event, Context(seconds=timeout))
    assert pipeline.clock() < until, f"expected {function} to answer within {timeout} s"
    return answer


def _none_of_lambda(original: Any, key: str, content: Any) -> Any:
    return ("by Lambda", []) if key.startswith(LAMBDA_PREFIX) else original(key, content)


Safeguard("a replay also reads what Lambda has parked", Change("maintain.failures:_records", _none_of_lambda))


@Safeguard("an audit looks for the entries of every member", Change("maintain.audit:_compare_members", always(None)))
def disabled_for_longer_than_a_day(pipeline: Rig) -> None:
    """The mapping is disabled for 25 hours. The stream has dropped a record: an audit names its member."""
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


def _from_the_index(original: Any, self: Any, wanted: Any) -> dict[Any, Entry]:
    calendar = [one for one in wanted if not one[0].window.rolling]
    listed = {
        (ranking, entry.member): entry
        for ranking, _ in calendar
        for entry in self._span(ranking, Span(Partition(ranking.key, 0), None, 1000))
    }
    others: dict[Any, Entry] = original(self, [one for one in wanted if one[0].window.rolling])
    return others | {key: listed[key] for key in calendar if key in listed}


Safeguard(
    "the entry of a member is read from the table",
    Change("rankings.reading:RankingReads.entries", _from_the_index),
)
