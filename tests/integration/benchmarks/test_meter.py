"""The meter beside what DynamoDB Local says it consumed, and beside figures worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from benchmarks.harness.capacity_units import Units
from benchmarks.harness.meter import Meter
from tests.integration.engines.comparison import THINGS, key, numbers, put, texts, update
from tests.support.dynamodb.engine import Engine

Request = tuple[str, dict[str, Any]]


def _set(name: str, values: dict[str, Any]) -> Request:
    update_one = {"UpdateExpression": f"SET {name} = :{name}", "ExpressionAttributeValues": values}
    return "update_item", {"Key": key("Q", "1"), **update_one}


PLAIN: list[Request] = [
    ("get_item", {"Key": key("small")}),
    ("get_item", {"Key": key("small"), "ConsistentRead": True}),
    ("get_item", {"Key": key("none"), "ConsistentRead": True}),
    ("get_item", {"Key": key("none")}),
    ("get_item", {"Key": key("large"), "ConsistentRead": True}),
    ("get_item", {"Key": key("large")}),
    ("get_item", {"Key": key("large"), "ProjectionExpression": "n"}),
    ("query", {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": texts(p="Q")}),
    (
        "query",
        {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": texts(p="Q"), "ConsistentRead": True},
    ),
    ("query", {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": texts(p="Q"), "Limit": 3}),
    ("query", {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": texts(p="Q"), "Select": "COUNT"}),
    (
        "query",
        {
            "KeyConditionExpression": "#p = :p",
            "FilterExpression": "n > :n",
            "ProjectionExpression": "sk",
            "ExpressionAttributeNames": {"#p": "pk"},
            "ExpressionAttributeValues": {**texts(p="Q"), **numbers(n=100)},
        },
    ),
    (
        "query",
        {
            "IndexName": "places",
            "KeyConditionExpression": "r = :r AND s > :s",
            "ExpressionAttributeValues": texts(r="R", s="0"),
        },
    ),
    ("scan", {"ConsistentRead": True}),
    ("put_item", {"Item": {**key("new"), "x": {"S": "x" * 1500}}}),
    ("put_item", {"Item": key("large")}),
    ("put_item", {"Item": {**key("new"), "x": {"S": "x" * 1015}}}),
    ("put_item", {"Item": {**key("new"), "x": {"S": "x" * 1016}}}),
    ("update_item", {"Key": key("large"), "UpdateExpression": "REMOVE x"}),
    ("update_item", {"Key": key("none"), "UpdateExpression": "SET n = :n", "ExpressionAttributeValues": numbers(n=1)}),
    ("delete_item", {"Key": key("large")}),
    ("delete_item", {"Key": key("none")}),
    # an index: a new entry, one that moves, one that changes, one that does not, one that goes
    ("put_item", {"Item": {**key("new"), "r": {"S": "R"}, "s": {"S": "1"}}}),
    (
        "update_item",
        {"Key": key("Q", "1"), "UpdateExpression": "SET s = :s", "ExpressionAttributeValues": texts(s="9")},
    ),
    (
        "update_item",
        {"Key": key("Q", "1"), "UpdateExpression": "SET t = :t", "ExpressionAttributeValues": texts(t="9")},
    ),
    (
        "update_item",
        {"Key": key("Q", "1"), "UpdateExpression": "SET n = :n", "ExpressionAttributeValues": numbers(n=9)},
    ),
    ("update_item", {"Key": key("Q", "1"), "UpdateExpression": "REMOVE r"}),
    (
        "update_item",
        {"Key": key("Q", "1"), "UpdateExpression": "SET x = :x", "ExpressionAttributeValues": texts(x="y")},
    ),
    ("delete_item", {"Key": key("Q", "1")}),
]


def _thing_table() -> dict[str, Any]:
    """Things with the one index that the product has."""
    return {
        **THINGS,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "r", "s")],
        "GlobalSecondaryIndexes": THINGS["GlobalSecondaryIndexes"][:1],
    }


def _fill(client: Any) -> None:
    client.create_table(**_thing_table())
    client.put_item(TableName="Things", Item={**key("small"), "n": {"N": "1"}})
    client.put_item(TableName="Things", Item={**key("large"), "n": {"N": "1"}, "x": {"S": "x" * 9000}})
    for number in range(9):
        client.put_item(
            TableName="Things",
            Item={
                **key("Q", str(number)),
                "r": {"S": "R"},
                "s": {"S": str(number)},
                "n": {"N": str(number)},
                "x": {"S": "x" * 1200},
            },
        )


@pytest.mark.parametrize("request_", PLAIN, ids=lambda request: f"{request[0]}-{str(request[1])[:70]}")
def test_plain_calls_count_as_dynamodb_local_says(local_client: Any, request_: Request) -> None:
    _fill(local_client)
    meter = Meter(local_client)
    method, arguments = request_

    answer = getattr(meter, method)(TableName="Things", ReturnConsumedCapacity="INDEXES", **arguments)

    said = answer["ConsumedCapacity"]
    counted = meter.snapshot().total
    assert counted.read + counted.write == said["CapacityUnits"]
    assert counted.round_trips == 1
    indexes = {name: part["CapacityUnits"] for name, part in said.get("GlobalSecondaryIndexes", {}).items()}
    tables = meter.snapshot().tables
    for name, units in indexes.items():
        assert tables[f"Things/{name}"].read + tables[f"Things/{name}"].write == units


@pytest.mark.parametrize("consistent", [True, False])
def test_a_batch_counts_each_item_by_itself(local_client: Any, consistent: bool) -> None:
    _fill(local_client)
    meter = Meter(local_client)
    keys = [key("small"), key("large")]

    answer = meter.batch_get_item(
        RequestItems={"Things": {"Keys": keys, "ConsistentRead": consistent}}, ReturnConsumedCapacity="TOTAL"
    )

    counted = meter.snapshot()
    assert counted.total.read == (4 if consistent else 2) == answer["ConsumedCapacity"][0]["CapacityUnits"]
    assert counted.targets["Things", "large"].read == (3 if consistent else 1.5)


@pytest.fixture
def meter() -> Meter:
    engine = Engine()
    _fill(engine)
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
            update("Q", "SET n = :n", numbers(n="9"), sk="3"),  # 2 times 2, and none
            update("Q", "REMOVE r", sk="4"),  # 2 times 2, and 1 for the entry that goes
            update("large", "REMOVE x"),  # 2 times 9 of what it was
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
                put("new", x={"S": "x" * 1500}),  # 2 times 2 of what would be there
                update("large", "SET n = :n", numbers(n=2)),  # 2 times 9 of what is there
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
    _fill(engine)
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


def test_what_is_not_there_costs_the_least_there_is(meter: Meter) -> None:
    """DynamoDB Local counts nothing for these, DynamoDB does."""
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


def test_a_span_is_a_difference(meter: Meter) -> None:
    meter.get_item(TableName="Things", Key=key("small"))
    before = meter.snapshot()
    meter.get_item(TableName="Things", Key=key("large"))

    span = meter.snapshot() - before

    assert span.total == Units(read=1.5, round_trips=1)
    assert span.targets == {("Things", "large"): Units(read=1.5)}


def test_what_is_left_undone_costs_nothing(meter: Meter) -> None:
    meter.unprocessed.append(lambda _, __, part: "large" in str(part))

    meter.batch_get_item(RequestItems={"Things": {"Keys": [key("small"), key("large")]}})
    reads = meter.snapshot()
    puts = [{"PutRequest": {"Item": key(pk)}} for pk in ("small", "large")]
    meter.unprocessed[:] = [lambda name, _, part: name == "BatchWriteItem" and "large" in str(part)]
    meter.batch_write_item(RequestItems={"Things": puts})

    assert reads.total == Units(read=0.5, round_trips=1)
    assert (meter.snapshot() - reads).total == Units(write=1, round_trips=1)
