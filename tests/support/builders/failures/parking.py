"""Parks records of a stream as the projector and Lambda do."""

import json
from datetime import UTC, datetime
from typing import Any

from tests.support.aws.stack import Stack
from tests.support.awslambda.failure_records import OUT_OF_TRIES, failure_key, failure_record
from tests.support.builders.stages import streaming


def write(stack: Stack, event_id: str, member: str, points: int, board: str = "b") -> None:
    at = datetime.fromtimestamp(stack.clock() / 1000, UTC).isoformat()
    streaming.write(
        stack, [{"id": event_id, "board": board, "member": member, "at": at, "metrics": {"points": points}}]
    )


def unprojected(stack: Stack) -> list[Any]:
    """Take the records that are not projected yet off the stream."""
    (shard,) = stack.dynamodb.stream("Scores")
    found = [json.loads(json.dumps(record)) for record in shard[stack.projected.get(0, 0) :]]
    stack.projected[0] = len(shard)
    return [record for record in found if record["dynamodb"]["Keys"]["pk"]["S"] != "#boards"]


def park(stack: Stack, *records: Any) -> list[str]:
    """Park records as the projector does; returns the keys of their objects."""
    keys = []
    for record in records:
        keys.append(f"parked/2026-11-21/{record['dynamodb']['SequenceNumber']}.json")
        body = json.dumps({"reason": "as a test says", "record": record}).encode()
        stack.bucket.put_object("failures", keys[-1], body, "application/json")
    return keys


def give_up(stack: Stack, records: list[Any], *, as_text: bool = True) -> None:
    """Keep a batch as Lambda does when it gives up."""
    at = stack.clock() / 1000
    document = json.loads(failure_record(records, OUT_OF_TRIES, at, "shardId-1", tries=101))
    if not as_text:
        document["payload"] = json.loads(document["payload"])
    key = failure_key("shardId-1", at, records[0]["dynamodb"]["SequenceNumber"])
    stack.bucket.put_object("failures", key, json.dumps(document).encode(), "application/json")
