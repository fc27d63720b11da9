"""Batches of messages and of stream records in the form in which Lambda passes them to a handler."""

from random import Random
from typing import Any, Final

import orjson

from benchmarks.harness import population
from benchmarks.harness.pipeline import event
from standings.aws.dynamodb.scores import encode_image
from standings.domain.members import EventPart, Image, additions
from standings.wiring import building_blocks
from tests.support.awslambda.pollers import Message, record_of
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

BATCH: Final = 500
LARGEST: Final = 1_000
"""The largest batch that `template.yaml` allows, of messages and of records."""


def batches(function: str, boards: str, members: int, size: int, count: int) -> list[dict[str, Any]]:
    """Make `count` batches for a function; the members of a batch are all different, their scores log-normal."""
    rng = Random(1)
    scores = population.lognormal(rng, members)
    names = list(scores)
    now = building_blocks.now()
    family = population.family(boards)
    engine = Engine()
    create_tables(engine)

    def item(name: str, version: int, score: int) -> dict[str, Any]:
        values = additions(family, [EventPart("", now, {"points": score})], now)
        return encode_image(Image(population.BOARD, name, now + version, now, score, hidden=False, values=values))

    records: list[dict[str, Any]] = []
    for batch in range(count):
        chosen = rng.sample(names, size)
        points = {name: rng.randint(1, 100) for name in chosen}
        if function == "writer":
            for number, name in enumerate(chosen, batch * size):
                body = event(f"0197f2c4-{number:012}", population.BOARD, name, {"points": points[name]}, now)
                message = Message(orjson.dumps(body).decode(), {}, now, f"059f36b4-87a3-44ab-83d2-{number:012}", 1, now)
                record = record_of(message, "arn:aws:sqs:eu-central-1:000000000000:activity")
                records.append({**record, "receiptHandle": "A" * 300})  # as long as those of AWS
        else:
            engine.load("Scores", (item(name, 1, scores[name]) for name in chosen))
            (shard,) = engine.stream("Scores")
            before = len(shard)
            for name in chosen:
                engine.put_item(TableName="Scores", Item=item(name, 2, scores[name] + points[name]))
            records += orjson.loads(orjson.dumps(shard[before:]))
    return [{"Records": records[start : start + size]} for start in range(0, len(records), size)]
