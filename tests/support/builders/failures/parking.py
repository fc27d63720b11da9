"""Parks records of a stream as the projector and Lambda do, and reads what every ranking says."""

import json
from datetime import UTC, datetime
from typing import Any

import orjson

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.domain.members.open_rankings import open_rankings
from tests.support.aws.stack import Stack
from tests.support.awslambda.failure_records import OUT_OF_TRIES, failure_key, failure_record
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries, entries

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "last-3-days"] }
"""


def write(stack: Stack, event_id: str, member: str, points: int, board: str = "b") -> None:
    at = datetime.fromtimestamp(stack.clock() / 1000, UTC).isoformat()
    event = {"id": event_id, "board": board, "member": member, "at": at, "metrics": {"points": points}}
    record = {"messageId": event_id, "body": orjson.dumps(event).decode(), "messageAttributes": {}}
    assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}


def unprojected(stack: Stack) -> list[Any]:
    """Take the records that are not projected yet off the stream."""
    (shard,) = stack.dynamodb.stream("Scores")
    found = [json.loads(json.dumps(record)) for record in shard[stack.projected.get(0, 0) :]]
    stack.projected[0] = len(shard)
    return [record for record in found if record["dynamodb"]["Keys"]["pk"]["S"] != "#boards"]


def park(stack: Stack, record: Any, reason: str = "as a test says") -> str:
    """Park a record as the projector does."""
    sequence = record["dynamodb"].get("SequenceNumber", "none")
    key = f"parked/2026-11-21/{sequence}.json"
    body = json.dumps({"reason": reason, "record": record}).encode()
    stack.bucket.put_object("failures", key, body, "application/json")
    return key


def give_up(stack: Stack, records: list[Any], *, as_text: bool = True) -> str:
    """Keep a batch as Lambda does when it gives up."""
    at = NOW.timestamp()
    key = failure_key("shardId-1", at, records[0]["dynamodb"]["SequenceNumber"])
    document = json.loads(failure_record(records, OUT_OF_TRIES, at, "shardId-1", tries=101))
    if not as_text:
        document["payload"] = json.loads(document["payload"])
    stack.bucket.put_object("failures", key, json.dumps(document).encode(), "application/json")
    return key


def scores(stack: Stack, board: str = "b", generation: int = 0) -> dict[str, dict[str, int]]:
    """The scores in every open ranking of a board; checks that the tiers count them."""
    assert_tiers_count_the_entries(stack.dynamodb)
    family = parse_boards(BOARDS).family(board)
    assert family is not None
    found = entries(stack.dynamodb)
    said = {}
    for ranking in open_rankings(family, board, stack.clock()):
        placed = found.get(ranking._replace(generation=generation).key)
        if placed:
            said[f"{ranking.window.name} {_day(ranking)}"] = {m: -sort_value for m, sort_value in placed.items()}
    return said


def _day(ranking: Ranking) -> int:
    today = ranking.metric.timetable.index("d", int(NOW.timestamp() * 1000))
    return ranking.period - today if ranking.window.unit else 0
