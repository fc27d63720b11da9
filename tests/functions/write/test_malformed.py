"""Whatever comes as a message or as a record: no batch crashes, nothing is lost, and what is good beside it counts."""

import json
import logging
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import orjson
from botocore.exceptions import ClientError

from standings.aws.dynamodb.scores import decode_change, decode_image, decode_parked
from standings.aws.dynamodb.tables import member_key
from standings.domain.boards_toml import parse_boards
from standings.domain.events import RefusedEvent, parse_event
from standings.wiring import building_blocks
from tests.support.aws.fakes import Bucket
from tests.support.aws.stack import ManualClock, Stack, deliver, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries, rows
from tests.support.builders.maintenance import unprojected
from tests.support.builders.points import family
from tests.support.fuzz import mutations

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
TOML = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
metrics.best = { aggregate = "max", precision = 2, ties = "first", windows = ["all"] }
"""
BOARDS = parse_boards(TOML)
COUNT = 3_000
BATCH = 200


@contextmanager
def quiet_stack(engine: Any) -> Iterator[Stack]:
    """All functions, without a line of the log, and a metric's line, for each of thousands."""
    logging.disable(logging.CRITICAL)
    try:
        with running(engine, ManualClock(NOW_MS), TOML) as stack, mock.patch("builtins.print"):
            yield stack
    finally:
        logging.disable(logging.NOTSET)


def event(event_id: str, member: str, points: int = 1, board: str = "b") -> dict[str, Any]:
    metrics = {"points": points, "best": points / 4}
    return {"id": event_id, "board": board, "member": member, "at": NOW.isoformat(), "metrics": metrics}


def message(name: str, body: str) -> dict[str, Any]:
    return {"messageId": name, "body": body, "attributes": {}, "messageAttributes": {}}


def points(engine: Any, board: str, member: str) -> int:
    pk, sk = member_key(board, member)
    image = decode_image(engine.get_item(TableName="Scores", Key={"pk": {"S": pk}, "sk": {"S": sk}})["Item"])
    return image.values.get(family(board, BOARDS).metrics["points"].total(), 0)


def original(letter: dict[str, Any], bucket: Bucket) -> str:
    """The body that was refused: what the queue cannot have is in the bucket."""
    assert letter["MessageAttributes"]["reason"]["StringValue"]
    kept_in = letter["MessageAttributes"].get("kept_in")
    if kept_in is None:
        return str(letter["MessageBody"])
    kept = json.loads(bucket.objects[kept_in["StringValue"]])
    assert kept["reason"]
    return str(kept["record"]["body"])


def readable_id(body: str) -> str | None:
    """The id of an event in a body that is JSON; None if it has none of 1 to 128 characters."""
    with suppress(ValueError):
        document = orjson.loads(body)
        found = document.get("id") if isinstance(document, dict) else None
        return found if isinstance(found, str) and 1 <= len(found) <= 128 else None
    return None


def test_thousands_of_messages(engine: Any) -> None:
    rng = random.Random(11)
    bodies = [mutations.body(rng, event(f"fuzz-{n}", f"f{n}", board="fuzz")) for n in range(COUNT)]
    with quiet_stack(engine) as stack:
        for start in range(0, COUNT, BATCH):
            batch = [message(f"m-{start + n}", body) for n, body in enumerate(bodies[start : start + BATCH])]
            good = (orjson.dumps(event(f"good-{start}-{n}", f"g{n}")).decode() for n in range(4))
            batch += [message(f"g-{start}-{n}", body) for n, body in enumerate(good)]
            rng.shuffle(batch)
            assert stack.writer({"Records": batch}, Context()) == {"batchItemFailures": []}
        letters = [original(letter, stack.bucket) for letter in stack.dead_letters.messages]

    assert [points(engine, "b", f"g{n}") for n in range(4)] == [COUNT // BATCH] * 4
    # What is not in the dead-letter queue, byte for byte, was counted: an event of an id once.
    accepted = Counter(bodies)
    accepted.subtract(letters)
    assert min(accepted.values()) == 0
    expected: Counter[tuple[str, str]] = Counter()
    counted: set[str] = set()
    for body in accepted.elements():
        parsed = parse_event(body, BOARDS, NOW_MS)
        if parsed.id not in counted:
            counted.add(parsed.id)
            for update in parsed.updates:
                expected[update.board, update.member] += update.amounts.get("points", 0)
    status = {row["pk"]["S"]: row for row in rows(engine, "Receipts")}
    assert {name for name, row in status.items() if "d" in row and not name.startswith("good-")} == counted
    # Of each event that was not counted, and whose id can be read, it is known that it was refused.
    refused = {read for letter in letters if (read := readable_id(letter)) is not None}
    assert {name for name, row in status.items() if "w" in row} == refused - counted
    assert len(refused - counted) > COUNT / 10
    assert {key: points(engine, *key) for key in expected} == expected
    # Nothing but RefusedEvent leaves the parser, so that every refusal names its rule.
    for body in bodies:
        with suppress(RefusedEvent):
            parse_event(body, BOARDS, NOW_MS)
    assert len(letters) > COUNT / 2
    assert len(counted) > COUNT / 100


def parked(stack: Stack) -> list[Any]:
    found = [json.loads(content) for key, content in stack.bucket.objects.items() if key.startswith("parked/")]
    assert all(one["reason"] for one in found)
    return [one["record"] for one in found]


def damaged(rng: random.Random, record: Any, number: int) -> Any:
    """The record with a sequence number of its own and random changes."""
    numbered = {**record, "dynamodb": {**record["dynamodb"], "SequenceNumber": str(10**30 + number)}}
    return mutations.mutated(rng, numbered)


def test_thousands_of_records(engine: Any) -> None:
    rng = random.Random(13)
    with quiet_stack(engine) as stack:
        for name in ("bad", "worse"):
            deliver(stack, [event(f"{name}-{n}", f"bad{n}", rng.randrange(1, 400), "bad") for n in range(100)])
        samples = unprojected(stack)
        for n in range(COUNT // BATCH):
            deliver(stack, [event(f"good-{n}-{m}", f"g{m}", m + 1) for m in range(4)])
        good = unprojected(stack)
        others = [{"dynamodb": {**record["dynamodb"], "Keys": {"pk": {"S": "receipt"}}}} for record in samples[:20]]
        bad = [damaged(rng, rng.choice(samples + others), n) for n in range(COUNT)]
        share = len(good) * BATCH // COUNT
        for batch_number in range(COUNT // BATCH):
            batch = bad[batch_number * BATCH :][:BATCH]
            # Records of one item stay in their order.
            places = sorted(rng.randrange(BATCH + 1) for _ in range(share))
            for place, record in zip(reversed(places), reversed(good[batch_number * share :][:share]), strict=True):
                batch.insert(place, record)
            assert stack.projector({"Records": batch}, Context()) == {"batchItemFailures": []}
        whole = Counter(map(json.dumps, parked(stack)))
        assert not whole - Counter(map(json.dumps, bad))
        assert len(whole) > COUNT / 4
        for member, score in (("g0", 1), ("g1", 2), ("g2", 3), ("g3", 4)):
            for window in ("all", "day"):
                answer = stack.get(f"/boards/b/points/{window}/rank", member=member)[1]
                assert (answer["score"], answer["rank"]) == (score * (COUNT // BATCH), 5 - score)
        for board in ("b", "bad"):
            for path in ("points/all", "points/day", "best/all"):
                assert stack.get(f"/boards/{board}/{path}")[0] == 200
    assert_tiers_count_the_entries(engine)
    # Nothing else leaves the decoders, so that any other error is known for a bug of ours.
    for record in bad:
        with suppress(KeyError, TypeError, ValueError):
            decode_change(record["dynamodb"])
            decode_parked(record)


def test_a_writer_that_is_late_sends_no_refusal(engine: Any) -> None:
    """A call that hangs may use up the time that is left to answer. So none begins after the deadline."""
    record = {"messageId": "1", "body": "noise", "messageAttributes": {}}
    with running(engine, ManualClock(NOW_MS), TOML) as stack:
        answer = stack.writer({"Records": [record]}, Context(seconds=building_blocks.REPORTING_RESERVE))
        assert (answer, stack.dead_letters.messages) == ({"batchItemFailures": [{"itemIdentifier": "1"}]}, [])
        assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}
        assert len(stack.dead_letters.messages) == 1


def test_a_record_without_a_number_has_the_whole_batch_delivered_again(engine: Any) -> None:
    batch: list[Any] = [{"dynamodb": {}}, "noise", None]
    broken = ClientError({"Error": {"Code": "SlowDown", "Message": "no"}}, "PutObject")
    with running(engine, ManualClock(NOW_MS), TOML) as stack:
        with mock.patch.object(stack.bucket, "put_object", side_effect=broken):
            answer = stack.projector({"Records": batch}, Context(seconds=building_blocks.REPORTING_RESERVE + 1))
        assert answer == {"batchItemFailures": [{"itemIdentifier": ""}]}
        assert stack.projector({"Records": batch}, Context()) == {"batchItemFailures": []}
        assert parked(stack) == batch
