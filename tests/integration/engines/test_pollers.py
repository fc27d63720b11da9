"""The pollers deliver as Lambda documents it: batches, order, redeliveries, halves, ages, and what they give up."""

from __future__ import annotations

import hashlib
from dataclasses import astuple
from random import Random
from typing import Any

import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.awslambda.failure_records import OUT_OF_TRIES, TOO_OLD
from tests.support.awslambda.pollers import Context, Killed, LocalStream, Queue, SqsPoller, StreamPoller
from tests.support.awslambda.settings import QUEUE, STREAM, deployed_queue, deployed_stream, timeout
from tests.support.awslambda.stream_poller import RETENTION
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.dynamodb.things import THINGS, key

Event = dict[str, Any]
Answer = dict[str, Any]
HOUR = 3600


def _failures(*identifiers: Any) -> Answer:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}


def _bodies(event: Event) -> list[str]:
    return [record["body"] for record in event["Records"]]


def _filled(bodies: str, **options: Any) -> Queue:
    queue = Queue(**options)
    for body in bodies:
        queue.send(body)
    return queue


# The queue


def test_a_queue_is_emptied_in_batches() -> None:
    queue = _filled("abcdefghijklmnopqrstuvwxy")
    batches: list[list[str]] = []

    assert SqsPoller(lambda event, _: batches.append(_bodies(event)), queue, batch_size=10).drain() == 3
    assert ["".join(batch) for batch in batches] == ["abcdefghij", "klmnopqrst", "uvwxy"]
    assert (queue.dead, queue.most_received) == ([], 1)


def test_a_message_has_the_form_that_lambda_delivers() -> None:
    queue = Queue(clock=lambda: 1_700_000_000.5)
    message_id = queue.send("héllo", {"kind": {"DataType": "String", "StringValue": "x"}}, group="g")
    events: list[Event] = []
    SqsPoller(lambda event, _: events.append(event), queue).drain()

    ((record,),) = (event["Records"] for event in events)
    assert record.pop("receiptHandle")
    assert record == {
        "messageId": message_id,
        "body": "héllo",
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "1700000000500",
            "SenderId": "AIDAEXAMPLE",
            "ApproximateFirstReceiveTimestamp": "1700000000500",
            "MessageGroupId": "g",
        },
        "messageAttributes": {
            "kind": {"dataType": "String", "stringValue": "x", "stringListValues": [], "binaryListValues": []}
        },
        "md5OfBody": hashlib.md5("héllo".encode(), usedforsecurity=False).hexdigest(),
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:ActivityQueue",
        "awsRegion": "us-east-1",
    }


def test_only_reported_messages_are_delivered_again() -> None:
    queue, seen = _filled("0123"), []

    def handler(event: Event, _: Any) -> Answer:
        seen.extend(_bodies(event))
        again = [record for record in event["Records"] if record["body"] == "2"]
        return _failures(*(r["messageId"] for r in again if r["attributes"]["ApproximateReceiveCount"] != "3"))

    SqsPoller(handler, queue).drain()
    assert sorted(seen) == ["0", "1", "2", "2", "2", "3"]


NOTHING_FAILED: list[Any] = [None, {}, {"batchItemFailures": []}, {"batchItemFailures": None}]
MALFORMED: list[Any] = [
    _failures("nobody"),
    _failures(""),
    _failures(None),
    {"batchItemFailures": [{"wrong": "name"}]},
    {"failures": []},
    [],
    "text",
    {"batchItemFailures": [], "more": {1, 2}},
    ValueError(),
    Killed(),
]


@pytest.mark.parametrize("answer", [*NOTHING_FAILED, *MALFORMED], ids=repr)
def test_an_answer_is_read_as_lambda_does(answer: Any) -> None:
    """A malformed answer and an exception fail the whole batch, until the queue gives up."""

    def handler(*_: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    queue = _filled("ab", max_receive_count=3)
    poller = SqsPoller(handler, queue)
    poller.drain()
    good = any(answer is each for each in NOTHING_FAILED)
    assert [(message.body, message.received) for message in queue.dead] == ([] if good else [("a", 3), ("b", 3)])
    assert (poller.invocations, len(poller.errors)) == ((1, 0) if good else (3, 3))


def test_duplicates_and_reordering_lose_nothing() -> None:
    sent = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    seen: list[str] = []
    queue = _filled(sent, rng=Random(1), duplicates=0.3)
    SqsPoller(lambda event, _: seen.extend(_bodies(event)), queue, batch_size=50, rng=Random(2)).drain()

    assert set(seen) == set(sent)
    assert len(seen) > len(sent)
    assert seen[:50] != list(sent[:50])


def test_a_drain_that_does_not_end_fails() -> None:
    queue = _filled("a", max_receive_count=1_000_000)
    poller = SqsPoller(lambda event, _: _failures(event["Records"][0]["messageId"]), queue)
    with pytest.raises(AssertionError, match="1 messages are left after 5 batches"):
        poller.drain(5)


def test_a_context_counts_down() -> None:
    clock = ManualClock(10_000)
    context = Context(seconds=3.0, clock=clock.monotonic)
    clock.sleep(2.5)
    assert context.get_remaining_time_in_millis() == 500
    assert context.aws_request_id != Context().aws_request_id


# The stream


def _put(engine: Engine, version: int, member: str = "m") -> None:
    engine.put_item(TableName="Things", Item={**key(member), "n": {"N": str(version)}})


def _changed(changes: int, members: int = 1, shards: int = 1) -> Engine:
    engine = Engine(shards=shards)
    engine.create_table(**THINGS)
    for version in range(changes):
        for member in range(members):
            _put(engine, version, f"m{member}")
    return engine


def _versions(records: list[Any]) -> list[int]:
    return [int(record["dynamodb"]["NewImage"]["n"]["N"]) for record in records]


def _number(record: dict[str, Any]) -> str:
    text: str = record["dynamodb"]["SequenceNumber"]
    return text


class Mapping:
    """A mapping with a function that a test gives, and all that it has been given or has given up."""

    def __init__(self, engine: Engine, function: Any, **settings: Any) -> None:
        self.attempts: list[list[int]] = []
        self.given_up: list[tuple[list[int], str]] = []
        self._function = function
        given_up = {"on_failure": lambda records, why: self.given_up.append((_versions(records), why))}
        self.poller = StreamPoller(self._invoked, engine.stream("Things"), **(given_up | settings))

    def _invoked(self, event: Event, _: Any) -> Any:
        self.attempts.append(_versions(event["Records"]))
        return self._function(event["Records"], self.attempts)


def _fails_at(version: int) -> Any:
    def function(records: list[Any], _: Any) -> None:
        if version in _versions(records):
            raise ValueError

    return function


def test_all_records_from_the_lowest_reported_one_are_delivered_again() -> None:
    def function(records: list[Any], attempts: list[Any]) -> Answer:
        return _failures(*(_number(records[at]) for at in (7, 4))) if len(attempts) == 1 else _failures()

    mapping = Mapping(_changed(10), function)
    mapping.poller.drain()
    assert mapping.attempts == [list(range(10)), [4, 5, 6, 7, 8, 9]]


def test_a_failing_batch_is_halved_until_one_record_is_given_up() -> None:
    mapping = Mapping(_changed(16), _fails_at(11), max_retries=2)
    mapping.poller.drain()

    done = [version for attempt in mapping.attempts if 11 not in attempt for version in attempt]
    assert done == [version for version in range(16) if version != 11]
    assert mapping.attempts.count([11]) == 3
    assert mapping.given_up == [([11], OUT_OF_TRIES)]


def test_without_bisect_the_whole_batch_is_given_up() -> None:
    mapping = Mapping(_changed(6), _fails_at(2), batch_size=4, max_retries=1, bisect=False)
    mapping.poller.drain()

    assert mapping.given_up == [([0, 1, 2, 3], OUT_OF_TRIES)]
    assert mapping.attempts == [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5]]


def test_the_second_half_of_a_batch_is_not_cut_anew() -> None:
    def function(_: Any, attempts: list[Any]) -> None:
        if len(attempts) == 1:
            raise ValueError

    mapping = Mapping(_changed(20), function, batch_size=9)
    mapping.poller.drain()
    assert mapping.attempts == [list(range(9)), [0, 1, 2, 3], [4, 5, 6, 7, 8], list(range(9, 18)), [18, 19]]


def test_progress_resets_the_count_of_retries() -> None:
    mapping = Mapping(_changed(5), lambda records, _: _failures(*map(_number, records[1:])), max_retries=1)
    mapping.poller.drain()
    assert (len(mapping.attempts), mapping.given_up) == (5, [])


def test_giving_up_without_a_destination_is_an_error() -> None:
    with pytest.raises(AssertionError, match="given up"):
        Mapping(_changed(1), _fails_at(0), max_retries=3, on_failure=None).poller.drain()


@pytest.mark.parametrize("seed", range(5))
def test_any_split_into_batches_keeps_each_item_in_order_and_loses_nothing(seed: int) -> None:
    rng = Random(seed)
    newest: dict[str, int] = {}
    times: dict[tuple[str, int], int] = {}

    def function(records: list[Any], _: Any) -> Answer:
        for record, version in zip(records, _versions(records), strict=True):
            if rng.random() < 0.02:
                return _failures(_number(record))
            if rng.random() < 0.02:
                raise Killed
            member = record["dynamodb"]["Keys"]["pk"]["S"]
            assert version <= newest.get(member, -1) + 1  # an earlier version or the next one: none is skipped
            newest[member] = max(version, newest.get(member, -1))
            times[member, version] = times.get((member, version), 0) + 1
        return _failures()

    Mapping(_changed(30, members=7, shards=3), function, batch_size=20, rng=rng, replays=0.2).poller.drain()
    assert len(times) == 7 * 30
    assert max(times.values()) > 1


def test_later_changes_are_delivered_by_the_next_drain() -> None:
    engine = _changed(2)
    mapping = Mapping(engine, lambda *_: None)
    mapping.poller.drain()
    _put(engine, 9, "m0")
    mapping.poller.drain()
    assert mapping.attempts == [[0, 1], [9]]


@pytest.mark.parametrize(
    ("max_retries", "begins", "attempts", "given_up", "lost"),
    [
        pytest.param(-1, 13 * HOUR - 90, 2, [([0, 1], TOO_OLD), ([2], TOO_OLD)], 0, id="tried until it is too old"),
        pytest.param(0, 12 * HOUR - 30, 2, [([0, 1], TOO_OLD), ([2], OUT_OF_TRIES)], 0, id="the age before the tries"),
        pytest.param(-1, 24.5 * HOUR, 0, [([2], TOO_OLD)], 2, id="the stream drops what is older than a day"),
    ],
)
def test_a_mapping_gives_up_by_age_first(
    max_retries: int, begins: float, attempts: int, given_up: Any, lost: int
) -> None:
    """There are two records of one instant and a third one an hour later, and the mapping has twelve hours."""
    clock = ManualClock(0)
    engine = Engine(clock=clock.monotonic)
    engine.create_table(**THINGS)
    for version, second in enumerate((0, 0, HOUR)):
        clock.milliseconds = second * 1000
        _put(engine, version)
    clock.milliseconds = round(begins * 1000)

    def function(records: list[Any], _: Any) -> Answer:
        clock.sleep(60)
        return _failures(_number(records[0]))

    settings = {"max_retries": max_retries, "max_record_age": 12 * HOUR, "clock": clock.monotonic}
    mapping = Mapping(engine, function, **settings)
    mapping.poller.drain()
    assert (len(mapping.attempts), mapping.given_up, mapping.poller.lost) == (attempts, given_up, lost)


@pytest.mark.thorough
def test_the_stream_of_dynamodb_local_has_the_same_form(local_client: Any) -> None:
    engine = Engine()
    events: list[Event] = []
    for client in (engine, local_client):
        create_tables(client)
        client.put_item(TableName="Scores", Item={**key("b#0", "m"), "raw": {"B": b"\x00\xff"}, "v": {"N": "1"}})
        client.delete_item(TableName="Scores", Key=key("b#0", "m"))
    for shards in (engine.stream("Scores"), LocalStream(local_client, "Scores")):
        assert StreamPoller(lambda event, _: events.append(event), shards).drain() == 1

    engine_records, local_records = (event["Records"] for event in events)
    for one, other in zip(engine_records, local_records, strict=True):
        assert one.keys() == other.keys()
        assert one["dynamodb"].keys() == other["dynamodb"].keys()
        instants = [each["dynamodb"].pop("ApproximateCreationDateTime") for each in (one, other)]
        assert type(instants[0]) is type(instants[1])
        for name in ("Keys", "NewImage", "OldImage", "SizeBytes", "StreamViewType"):
            assert one["dynamodb"].get(name) == other["dynamodb"].get(name)


# The settings of template.yaml


def test_the_simulated_queue_and_mapping_have_the_settings_of_the_template_and_outlive_a_day() -> None:
    assert (deployed_stream(), deployed_queue()) == (STREAM, QUEUE)
    assert all(type(value) in (int, bool) for value in (*astuple(STREAM), *astuple(QUEUE)))
    # The age of a record binds before the tries, and before the stream drops it.
    assert STREAM.max_retries == -1
    assert 12 * HOUR <= STREAM.max_record_age <= RETENTION - timeout("ProjectorFunction")
    assert (STREAM.bisects, STREAM.reports, STREAM.keeps_failures) == (True, True, True)
    assert QUEUE.visibility * QUEUE.max_receive_count > 24 * HOUR
