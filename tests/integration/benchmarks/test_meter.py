"""The meter counts the units that the published rules give."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from benchmarks.harness.capacity_units import Units
from benchmarks.harness.meter import Meter
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.things import fill_for_units, key, numbers, put, texts, update


@pytest.fixture
def meter() -> Meter:
    engine = Engine()
    fill_for_units(engine)
    return Meter(engine)


def _indexed(**more: Any) -> dict[str, Any]:
    return {"r": {"S": "R"}, **more}


def test_a_transaction_counts_twice_in_the_table_and_once_in_the_index(meter: Meter) -> None:
    meter.transact_write_items(
        TransactItems=[
            put("new", **_indexed(s={"S": "1"})),  # 2, and 1 for the new entry
            put("plain", x={"S": "x" * 1500}),  # 2 times 2, and no entry
            update("Q", "SET s = :s", texts(s="9"), sk="1"),  # 2 times 2 of 1.2 KB, and 2 for the entry's move
            update("Q", "SET t = :t", texts(t="9"), sk="2"),  # 2 times 2, and 1 for what is projected
            update("Q", "SET n = :n", numbers(n="9"), sk="3"),  # 2 times 2, and no entry changes
            update("Q", "REMOVE r", sk="4"),  # 2 times 2, and 1 for the entry that goes
            update("large", "REMOVE x"),  # 2 times 9, for the old item
        ]
    )

    counted = meter.snapshot()
    assert counted.tables == {"Things": Units(write=2 + 4 + 4 * 4 + 18), "Things/places": Units(write=1 + 2 + 1 + 1)}
    assert counted.targets["Things", "large"] == Units(write=18)
    assert counted.targets["Things/places", "R"] == Units(write=5)
    assert counted.operations == {"TransactWriteItems": Units(write=45, round_trips=1)}


def test_a_cancelled_transaction_counts_in_the_table_alone(meter: Meter) -> None:
    with pytest.raises(ClientError):
        meter.transact_write_items(
            TransactItems=[
                put("new", x={"S": "x" * 1500}),  # 2 times 2, for the new item
                update("large", "SET n = :n", numbers(n=2)),  # 2 times 9, for the stored item
                put("small", condition="attribute_not_exists(pk)"),  # 2
                {"Delete": {"TableName": "Things", "Key": key("none")}},  # 2
            ]
        )

    assert meter.snapshot().tables == {"Things": Units(write=4 + 18 + 2 + 2)}


def test_a_failed_condition_counts_and_an_invalid_request_does_not(meter: Meter) -> None:
    with pytest.raises(ClientError):
        meter.put_item(TableName="Things", Item=key("large"), ConditionExpression="attribute_not_exists(pk)")
    with pytest.raises(ClientError):
        meter.put_item(TableName="Things", Item=key(""))

    assert meter.snapshot().operations == {"PutItem": Units(write=9, round_trips=2)}


def test_a_lost_answer_counts_and_a_lost_request_does_not() -> None:
    engine = Engine()
    fill_for_units(engine)
    meter = Meter(engine)

    def fail(name: str, _: dict[str, Any]) -> None:
        if name == "TransactWriteItems":
            raise ConnectionError

    for hooks in (engine.before, engine.after):
        hooks.append(fail)
        with pytest.raises(ConnectionError):
            meter.transact_write_items(TransactItems=[put("new")])
        hooks.clear()

    assert meter.snapshot().operations == {"TransactWriteItems": Units(write=2, round_trips=2)}


def test_a_missing_item_costs_the_minimum(meter: Meter) -> None:
    """DynamoDB counts these. DynamoDB Local does not."""
    meter.batch_get_item(RequestItems={"Things": {"Keys": [key("none"), key("small")]}})
    meter.query(TableName="Things", KeyConditionExpression="pk = :p", ExpressionAttributeValues=texts(p="none"))

    assert meter.snapshot().targets == {
        ("Things", "none"): Units(read=1.0),
        ("Things", "small"): Units(read=0.5),
    }


def test_reads_in_a_transaction_count_twice(meter: Meter) -> None:
    gets = [{"Get": {"TableName": "Things", "Key": key(pk)}} for pk in ("small", "large", "none")]

    meter.transact_get_items(TransactItems=gets)

    assert meter.snapshot().total == Units(read=2 + 6 + 2, round_trips=1)


def test_threads_that_count_at_once_lose_nothing(meter: Meter) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(4_000):
                pool.submit(meter.get_item, TableName="Things", Key=key("small"))
    finally:
        sys.setswitchinterval(interval)

    assert meter.snapshot().total == Units(read=2_000.0, round_trips=4_000)


def test_a_span_is_a_difference(meter: Meter) -> None:
    meter.get_item(TableName="Things", Key=key("small"))
    before = meter.snapshot()
    meter.get_item(TableName="Things", Key=key("large"))

    span = meter.snapshot() - before

    assert span.total == Units(read=1.5, round_trips=1)
    assert span.targets == {("Things", "large"): Units(read=1.5)}


def test_unprocessed_items_cost_nothing(meter: Meter) -> None:
    meter.unprocessed.append(lambda _, __, part: "large" in str(part))

    meter.batch_get_item(RequestItems={"Things": {"Keys": [key("small"), key("large")]}})
    reads = meter.snapshot()
    puts = [{"PutRequest": {"Item": key(pk)}} for pk in ("small", "large")]
    meter.unprocessed[:] = [lambda name, _, part: name == "BatchWriteItem" and "large" in str(part)]
    meter.batch_write_item(RequestItems={"Things": puts})

    assert reads.total == Units(read=0.5, round_trips=1)
    assert (meter.snapshot() - reads).total == Units(write=1, round_trips=1)
