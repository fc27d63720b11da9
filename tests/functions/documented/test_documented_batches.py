"""What AWS documents of batches and of what Lambda gives up: the emulators send the same, the functions take it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from tests.support.aws.documented import FOLDER, documented, page, shape
from tests.support.aws.fakes.queues import delivered
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.failure_records import OUT_OF_TRIES, failure_key, failure_record
from tests.support.awslambda.pollers import Context, Queue
from tests.support.awslambda.queue import record_of
from tests.support.builders.stages.streaming import project

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SHARD = "shardId-00000001573689847184-864758bb"


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(NOON.timestamp() * 1000))) as deployed:
        yield deployed


def without(kinds: dict[str, str], *names: str) -> dict[str, str]:
    return {path: kind for path, kind in kinds.items() if not any(name in path for name in names)}


def test_each_file_names_the_page_that_shows_it() -> None:
    names = [path.stem for path in FOLDER.glob("*.json")]
    assert len(names) == 6
    assert all(page(name).startswith(("AWS ", "Amazon ")) and "//" not in page(name) for name in names)


def test_the_stream_of_the_engine_has_the_documented_records(engine: Any) -> None:
    key = {"pk": {"S": "b#00"}, "sk": {"S": "m"}}
    for expiry in (2, 1):
        engine.put_item(TableName="Scores", Item={**key, "v": {"N": "1"}, "e": {"N": str(NOON.timestamp() + expiry)}})
    engine.expire("Scores", now=NOON.timestamp() + 60)
    records = engine.stream("Scores")[0][0:]

    documented_records = documented("stream-batch")["Records"]
    assert [record["eventName"] for record in records] == [record["eventName"] for record in documented_records]
    for record, expected in zip(records, documented_records, strict=True):
        assert shape(record) == shape(expected)


def test_the_projector_takes_a_documented_batch(stack: Stack) -> None:
    batch = documented("stream-batch")
    assert stack.projector(batch, Context()) == {"batchItemFailures": []}
    assert stack.bucket.objects == {}
    assert stack.entries("/boards/berlin-2026/points/all") == [{"rank": 1, "member": "u123", "score": 8}]


@pytest.mark.parametrize(("tries", "error", "left_out"), [(3, "Unhandled", ()), (3, None, ("functionError",))])
def test_what_the_emulators_give_up_is_a_documented_object(
    tries: int, error: str | None, left_out: tuple[str, ...]
) -> None:
    records = documented("stream-batch")["Records"][:2]
    found = orjson.loads(failure_record(records, OUT_OF_TRIES, NOON.timestamp(), SHARD, tries=tries, error=error))
    expected = documented("stream-failure")

    assert shape(found) == without(shape(expected), *left_out)
    assert found["payload"] == expected["payload"]
    info = "startSequenceNumber", "endSequenceNumber", "approximateArrivalOfFirstRecord", "batchSize", "shardId"
    assert [found["DDBStreamBatchInfo"][name] for name in info] == [
        expected["DDBStreamBatchInfo"][name] for name in info
    ]
    # aws/lambda/<ESM-UUID>/<shardID>/YYYY/MM/DD/YYYY-MM-DDTHH.MM.SS-<Random UUID>
    prefix, service, _, shard, *day, last = failure_key(SHARD, NOON.timestamp(), "x").split("/")
    assert (prefix, service, shard, day) == ("aws", "lambda", SHARD, ["2026", "11", "20"])
    assert last == "2026-11-20T12.00.00-x"


def test_a_replay_takes_a_documented_object(stack: Stack) -> None:
    assert stack.writer(documented("queue-batch"), Context()) == {"batchItemFailures": []}
    key = failure_key(SHARD, NOON.timestamp(), "x")
    stack.bucket.put_object("failures", key, orjson.dumps(documented("stream-failure")), "application/json")
    (shown,) = stack.maintenance({"parked": {"list": {}}}, Context())["objects"]
    replayed = stack.maintenance({"parked": {"replay": {}}}, Context())

    assert (shown["reason"], shown["records"]) == ("given up by Lambda: RetryAttemptsExhausted", 2)
    assert shown["members"] == [{"board": "berlin-2026", "member": "u123"}]
    assert (replayed["done"], replayed["placed"], replayed["removed"], replayed["problems"]) == (True, 1, 1, [])
    assert stack.entries("/boards/berlin-2026/points/all") == [{"rank": 1, "member": "u123", "score": 3}]


def test_the_queues_of_the_tests_deliver_documented_messages() -> None:
    plain, grouped, _ = documented("queue-batch")["Records"]
    attributes = {"at_filled_in": {"DataType": "String", "StringValue": "true"}}
    queue = Queue()
    queue.send(plain["body"])
    queue.send(grouped["body"], attributes, grouped["attributes"]["MessageGroupId"])

    for message, expected in zip(queue.receive(2), (plain, grouped), strict=True):
        found = record_of(message, queue.arn)
        assert shape(found) == shape(expected)
        assert found["md5OfBody"] == expected["md5OfBody"]
        assert shape(found["messageAttributes"]) == shape(expected["messageAttributes"])
    posted = {"MessageBody": grouped["body"], "MessageAttributes": attributes, "MessageGroupId": "tenant-7"}
    assert shape(delivered(1, posted, 1)).items() <= shape(grouped).items()


def test_the_writer_takes_a_documented_batch(stack: Stack) -> None:
    assert stack.writer(documented("queue-batch"), Context()) == {"batchItemFailures": []}
    project(stack)

    entries = stack.entries("/boards/berlin-2026/points/all")
    assert [(entry["member"], entry["score"]) for entry in entries] == [("u7", 12), ("u123", 3)]
    (refused,) = stack.dead_letters.messages
    assert refused["MessageGroupId"] == "tenant-8"
    assert "'many'" in stack.dead_letters.reasons()[0]
