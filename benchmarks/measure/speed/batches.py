"""Batches of messages and of stream records in the form in which Lambda passes them to a handler."""

from datetime import UTC, datetime
from random import Random
from typing import Any, Final

import orjson

from benchmarks.harness import population
from standings.aws.dynamodb.scores.member_items import encode_image
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Family
from standings.domain.members.counting import Counted, additions
from standings.domain.members.member_item import Image
from standings.wiring import building_blocks

BATCH: Final = 500
LARGEST: Final = 1_000
"""The largest batch that `template.yaml` allows, of messages and of records."""


def batches(function: str, boards: str, members: int, size: int, count: int) -> list[dict[str, Any]]:
    """Make `count` batches for a function; the members of a batch are all different, their scores log-normal."""
    rng = Random(1)
    scores = population.lognormal(rng, members)
    names = list(scores)
    family = parse_boards(boards).family(population.BOARD)
    if family is None:
        raise LookupError(population.BOARD)
    now = building_blocks.now()
    made = []
    for batch in range(count):
        chosen = enumerate(rng.sample(names, size), batch * size)
        if function == "writer":
            records = [_message(number, name, rng.randint(1, 100), now) for number, name in chosen]
        else:
            records = [_record(number, name, scores[name], rng.randint(1, 100), family, now) for number, name in chosen]
        made.append({"Records": records})
    return made


def _message(number: int, name: str, points: int, now: int) -> dict[str, Any]:
    at = datetime.fromtimestamp(now / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    event = {
        "id": f"0197f2c4-{number:012}",
        "board": population.BOARD,
        "member": name,
        "at": at,
        "metrics": {"points": points},
    }
    return {
        "messageId": f"059f36b4-87a3-44ab-83d2-{number:012}",
        "receiptHandle": "A" * 300,
        "body": orjson.dumps(event).decode(),
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": str(now),
            "SenderId": "AIDAIENQZJOLO23YVJ4VO",
            "ApproximateFirstReceiveTimestamp": str(now),
        },
        "messageAttributes": {},
        "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:000000000000:activity",
        "awsRegion": "eu-central-1",
    }


def _record(number: int, name: str, before: int, points: int, family: Family, now: int) -> dict[str, Any]:
    old, new = (
        Image(
            population.BOARD,
            name,
            now + version,
            now,
            score,
            hidden=False,
            values=additions(family, [Counted("", now, {"points": score})], now),
        )
        for version, score in ((1, before), (2, before + points))
    )
    item = encode_image(new)
    return {
        "eventID": "c4ca4238a0b923820dcc509a6f75849b",
        "eventName": "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "eu-central-1",
        "dynamodb": {
            "ApproximateCreationDateTime": now // 1000,
            "Keys": {"pk": item["pk"], "sk": item["sk"]},
            "NewImage": item,
            "OldImage": encode_image(old),
            "SequenceNumber": f"{number + 1:021}",
            "SizeBytes": 200,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": "arn:aws:dynamodb:eu-central-1:000000000000:table/Scores/stream/2026-11-21T00:00:00.000",
    }
