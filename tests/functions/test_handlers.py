"""The handlers: their answers to Lambda, and where failures go."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import orjson
import pytest
from botocore.exceptions import ClientError

from standings.runtime.environment import required
from standings.wiring import building_blocks
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, http_event, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import apply, project
from tests.support.faults.faulty_client import cancelled

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock) as deployed:
        yield deployed


def event(event_id: str, member: str = "m") -> dict[str, Any]:
    at = NOW.isoformat()
    return {"id": event_id, "board": "b", "member": member, "at": at, "metrics": {"points": 1}}


def messages(*bodies: Any) -> dict[str, Any]:
    return {
        "Records": [
            {"messageId": f"id-{n}", "body": body if isinstance(body, str) else orjson.dumps(body).decode()}
            for n, body in enumerate(bodies)
        ]
    }


def test_what_could_not_be_written_is_reported_by_message(stack: Stack, engine: Any) -> None:
    def busy(operation: str, request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems":
            raise cancelled(["TransactionConflict"] * len(request["TransactItems"]))

    engine.before.append(busy)
    answer = stack.writer(messages(event("1"), "{"), Context(seconds=building_blocks.REPORTING_RESERVE + 1))
    engine.before.clear()

    assert answer == {"batchItemFailures": [{"itemIdentifier": "id-0"}]}
    assert len(stack.dead_letters.messages) == 1


def test_a_refused_message_that_cannot_be_put_aside_comes_again(stack: Stack) -> None:
    refusal = ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "SendMessageBatch")
    with mock.patch.object(stack.dead_letters, "send_message_batch", side_effect=refusal):
        answer = stack.writer(messages("{", event("1")), Context())

    assert answer == {"batchItemFailures": [{"itemIdentifier": "id-0"}]}
    apply(stack, [event("2", "n")])
    assert [entry["member"] for entry in stack.entries("/boards/b/points/all")] == ["m", "n"]


def test_an_unreadable_record_is_parked_whole(stack: Stack, engine: Any) -> None:
    stack.writer(messages(event("1"), event("2", "n")), Context())
    (shard,) = engine.stream("Scores")
    records = [orjson.loads(orjson.dumps(record)) for record in shard]
    bad = next(record for record in records if record["dynamodb"]["Keys"]["sk"]["S"] == "m")
    bad["dynamodb"]["NewImage"]["v"] = {"N": "not a number"}
    answer = stack.projector({"Records": records}, Context())

    assert answer == {"batchItemFailures": []}
    assert [entry["member"] for entry in stack.entries("/boards/b/points/all")] == ["n"]
    ((key, content),) = stack.bucket.objects.items()
    assert key == f"parked/2026-11-21/{bad['dynamodb']['SequenceNumber']}.json"
    assert orjson.loads(content)["record"] == bad
    assert "not a number" in orjson.loads(content)["reason"]


def test_a_failed_batch_of_the_stream_names_where_to_begin_again(stack: Stack, engine: Any) -> None:
    stack.writer(messages(event("1")), Context())
    (shard,) = engine.stream("Scores")

    def down(operation: str, _: dict[str, Any]) -> None:
        if operation == "TransactWriteItems":
            raise ClientError({"Error": {"Code": "InternalServerError", "Message": "no"}}, operation)

    engine.before.append(down)
    answer = stack.projector({"Records": shard[0:]}, Context(seconds=building_blocks.REPORTING_RESERVE + 1))
    engine.before.clear()

    member = next(r for r in shard if r["dynamodb"]["Keys"]["sk"]["S"] == "m")
    assert answer == {"batchItemFailures": [{"itemIdentifier": member["dynamodb"]["SequenceNumber"]}]}
    project(stack)
    assert stack.entries("/boards/b/points/all")[0]["score"] == 1


def test_a_store_that_does_not_answer_is_a_503_that_says_so(stack: Stack, engine: Any) -> None:
    def down(operation: str, _: dict[str, Any]) -> None:
        raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "no"}}, operation)

    engine.before.append(down)
    refused = stack.query(http_event("/boards/b/points/all"), None)
    engine.before.clear()

    assert (refused["statusCode"], refused["headers"]["Retry-After"]) == (503, "5")
    assert orjson.loads(refused["body"])["type"] == "urn:standings:unavailable"
    assert stack.get("/boards/b/points/all")[0] == 200


def test_what_the_environment_lacks_is_named() -> None:
    with pytest.raises(LookupError, match="SCORES_TABLE is not set"):
        required("SCORES_TABLE")
