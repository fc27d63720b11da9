"""The poller of a stream delivers as Lambda documents it: order, retries, halved batches, and what it gives up."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.support.awslambda.pollers import Killed, LocalStream, StreamPoller
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.dynamodb.things import key, numbers

Event = dict[str, Any]
Answer = dict[str, Any]


def _failures(*identifiers: Any) -> Answer:
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}


def _changed(members: int, changes: int, shards: int = 1) -> Engine:
    engine = Engine(shards=shards)
    create_tables(engine)
    for version in range(changes):
        for member in range(members):
            engine.update_item(
                TableName="Scores",
                Key=key(f"b#{member}", "m"),
                UpdateExpression="SET v = :v",
                ExpressionAttributeValues=numbers(v=version),
            )
    return engine


def _versions(event: Event) -> list[int]:
    return [int(record["dynamodb"]["NewImage"]["v"]["N"]) for record in event["Records"]]


def _number(record: dict[str, Any]) -> str:
    text: str = record["dynamodb"]["SequenceNumber"]
    return text


def test_all_records_from_the_lowest_reported_one_are_delivered_again() -> None:
    engine = _changed(1, 10)
    seen: list[list[int]] = []

    def handler(event: Event, _: Any) -> Answer:
        seen.append(_versions(event))
        if len(seen) == 1:
            return _failures(_number(event["Records"][7]), _number(event["Records"][4]))
        return _failures()

    StreamPoller(handler, engine.stream("Scores")).drain()

    assert seen == [list(range(10)), [4, 5, 6, 7, 8, 9]]


def test_a_failing_batch_is_halved_until_one_record_is_given_up() -> None:
    engine = _changed(1, 16)
    done: list[int] = []
    abandoned: list[dict[str, Any]] = []
    attempts: list[list[int]] = []

    def handler(event: Event, _: Any) -> Answer:
        versions = _versions(event)
        attempts.append(versions)
        if 11 in versions:
            raise ValueError("11")
        done.extend(versions)
        return _failures()

    poller = StreamPoller(
        handler, engine.stream("Scores"), max_retries=2, on_failure=lambda records, _: abandoned.extend(records)
    )
    poller.drain()

    assert done == [version for version in range(16) if version != 11]
    assert [record["dynamodb"]["NewImage"]["v"]["N"] for record in abandoned] == ["11"]
    assert attempts.count([11]) == 3
    assert len(poller.errors) > 3


def test_without_bisect_the_whole_batch_is_given_up() -> None:
    engine = _changed(1, 6)
    abandoned: list[dict[str, Any]] = []

    def handler(event: Event, _: Any) -> Answer:
        return _failures("") if 2 in _versions(event) else _failures()

    poller = StreamPoller(
        handler,
        engine.stream("Scores"),
        batch_size=4,
        max_retries=1,
        bisect=False,
        on_failure=lambda records, _: abandoned.extend(records),
    )
    poller.drain()

    assert _versions({"Records": abandoned}) == [0, 1, 2, 3]
    assert poller.invocations == 3


def test_a_failing_batch_is_split_in_halves_and_the_second_half_is_not_cut_anew() -> None:
    engine = _changed(1, 20)
    attempts: list[list[int]] = []

    def handler(event: Event, _: Any) -> Answer:
        attempts.append(_versions(event))
        if len(attempts) == 1:
            raise ValueError("too much")
        return _failures()

    StreamPoller(handler, engine.stream("Scores"), batch_size=9).drain()

    assert attempts == [list(range(9)), [0, 1, 2, 3], [4, 5, 6, 7, 8], list(range(9, 18)), [18, 19]]


def test_progress_resets_the_count_of_retries() -> None:
    engine = _changed(1, 5)

    def handler(event: Event, _: Any) -> Answer:
        return _failures(*(_number(record) for record in event["Records"][1:]))

    StreamPoller(handler, engine.stream("Scores"), max_retries=1).drain()


def test_giving_up_without_a_destination_is_an_error() -> None:
    engine = _changed(1, 1)

    def handler(_: Event, __: Any) -> Answer:
        raise ValueError("always")

    with pytest.raises(AssertionError, match="given up"):
        StreamPoller(handler, engine.stream("Scores"), max_retries=3).drain()


@pytest.mark.parametrize("seed", range(20))
def test_any_split_into_batches_keeps_each_item_in_order_and_loses_nothing(seed: int) -> None:
    engine = _changed(7, 30, shards=3)
    rng = Random(seed)
    newest: dict[str, int] = {}
    times: dict[tuple[str, int], int] = {}

    def handler(event: Event, _: Any) -> Answer:
        for record in event["Records"]:
            if rng.random() < 0.02:
                return _failures(_number(record))
            if rng.random() < 0.02:
                raise Killed
            member = record["dynamodb"]["Keys"]["pk"]["S"]
            version = int(record["dynamodb"]["NewImage"]["v"]["N"])
            assert version <= newest.get(member, -1) + 1  # an earlier version or the next one: none is skipped
            newest[member] = max(version, newest.get(member, -1))
            times[member, version] = times.get((member, version), 0) + 1
        return _failures()

    StreamPoller(handler, engine.stream("Scores"), batch_size=20, rng=rng, replays=0.2).drain()

    assert len(times) == 7 * 30
    assert max(times.values()) > 1


def test_later_changes_are_delivered_by_the_next_drain() -> None:
    engine = _changed(1, 2)
    seen: list[int] = []
    poller = StreamPoller(lambda event, _: seen.extend(_versions(event)), engine.stream("Scores"))
    poller.drain()
    engine.update_item(
        TableName="Scores",
        Key=key("b#0", "m"),
        UpdateExpression="SET v = :v",
        ExpressionAttributeValues=numbers(v=9),
    )
    poller.drain()

    assert seen == [0, 1, 9]


def test_the_stream_of_dynamodb_local_has_the_same_form(local_client: Any) -> None:
    create_tables(local_client)
    engine = Engine()
    create_tables(engine)
    item = {**key("b#0", "m"), "raw": {"B": b"\x00\xff"}, "v": {"N": "1"}}
    events: list[Event] = []
    pollers = [
        StreamPoller(lambda event, _: events.append(event), shards)
        for shards in (engine.stream("Scores"), LocalStream(local_client, "Scores"))
    ]
    for client in (engine, local_client):
        client.put_item(TableName="Scores", Item=item)
        client.delete_item(TableName="Scores", Key=key("b#0", "m"))
    for poller in pollers:
        assert poller.drain() == 1

    engine_records, local_records = (event["Records"] for event in events)
    for one, other in zip(engine_records, local_records, strict=True):
        assert one.keys() == other.keys()
        assert one["dynamodb"].keys() == other["dynamodb"].keys()
        assert type(one["dynamodb"]["ApproximateCreationDateTime"]) is type(
            other["dynamodb"]["ApproximateCreationDateTime"]
        )
        for name in ("Keys", "NewImage", "OldImage", "SizeBytes", "StreamViewType"):
            assert one["dynamodb"].get(name) == other["dynamodb"].get(name)
