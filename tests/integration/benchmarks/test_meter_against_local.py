"""The meter counts the units that DynamoDB Local reports."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.harness.meter import Meter
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.things import fill_for_units, key, numbers, texts

Request = tuple[str, dict[str, Any]]


def _set(name: str, values: dict[str, Any]) -> Request:
    update_one = {"UpdateExpression": f"SET {name} = :{name}", "ExpressionAttributeValues": values}
    return "update_item", {"Key": key("Q", "1"), **update_one}


def _list(length: int) -> dict[str, Any]:
    """Return a list of 512 bytes more than a length, without its name."""
    return {"L": [{"B": b"x" * 500}, {"S": "x" * length}, {"N": "1"}]}


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
    # lists and bytes: three bytes for a list and one more for each member
    *(("put_item", {"Item": {**key("new"), "l": _list(507 + more)}}) for more in (0, 1)),
    *(("put_item", {"Item": {**key("new"), "r": {"S": "R"}, "s": {"S": "1"}, "t": _list(498 + n)}}) for n in (0, 1, 2)),
    ("put_item", {"Item": {**key("new"), "b": {"B": b"x" * 1015}}}),
    ("put_item", {"Item": {**key("new"), "b": {"B": b"x" * 1016}}}),
    (
        "update_item",
        {
            "Key": key("large"),
            "UpdateExpression": "SET l = list_append(if_not_exists(l, :l), :l) ADD n :n REMOVE x",
            "ExpressionAttributeValues": {":l": _list(5000), **numbers(n=1)},
        },
    ),
    # the index: an entry is new, moves, changes, stays as it is, or is deleted
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


@pytest.mark.parametrize("request_", PLAIN, ids=lambda request: f"{request[0]}-{str(request[1])[:70]}")
def test_plain_calls_count_as_dynamodb_local_says(local_client: Any, request_: Request) -> None:
    fill_for_units(local_client)
    meter = Meter(local_client)
    method, arguments = request_

    answer = getattr(meter, method)(TableName="Things", ReturnConsumedCapacity="INDEXES", **arguments)

    consumed = answer["ConsumedCapacity"]
    counted = meter.snapshot().total
    assert counted.read + counted.write == consumed["CapacityUnits"]
    assert counted.round_trips == 1
    indexes = {name: part["CapacityUnits"] for name, part in consumed.get("GlobalSecondaryIndexes", {}).items()}
    tables = meter.snapshot().tables
    for name, units in indexes.items():
        assert tables[f"Things/{name}"].read + tables[f"Things/{name}"].write == units


@pytest.mark.parametrize(
    "request_", [one for one in PLAIN if one[0] == "query"], ids=lambda request: str(request[1])[:70]
)
def test_the_engine_names_the_units_of_a_query_as_the_meter_counts_them(request_: Request) -> None:
    engine = Engine()
    fill_for_units(engine)
    meter = Meter(engine)

    answer = meter.query(TableName="Things", ReturnConsumedCapacity="TOTAL", **request_[1])

    assert meter.snapshot().total.read == answer["ConsumedCapacity"]["CapacityUnits"]


@pytest.mark.parametrize("consistent", [True, False])
def test_the_engine_names_the_units_of_batches_and_transactions_as_the_meter_counts_them(consistent: bool) -> None:
    engine = Engine()
    fill_for_units(engine)
    meter = Meter(engine)
    keys = [key("small"), key("large"), key("none")]
    batch = {"Things": {"Keys": keys, "ConsistentRead": consistent}}
    gets = [{"Get": {"TableName": "Things", "Key": one}} for one in keys]

    answers = [
        meter.batch_get_item(RequestItems=batch, ReturnConsumedCapacity="TOTAL"),
        meter.transact_get_items(TransactItems=gets, ReturnConsumedCapacity="TOTAL"),
    ]

    named = sum(one["CapacityUnits"] for answer in answers for one in answer["ConsumedCapacity"])
    assert meter.snapshot().total.read == named


@pytest.mark.parametrize("consistent", [True, False])
def test_a_batch_counts_each_item_by_itself(local_client: Any, consistent: bool) -> None:
    fill_for_units(local_client)
    meter = Meter(local_client)
    keys = [key("small"), key("large")]

    answer = meter.batch_get_item(
        RequestItems={"Things": {"Keys": keys, "ConsistentRead": consistent}}, ReturnConsumedCapacity="TOTAL"
    )

    counted = meter.snapshot()
    assert counted.total.read == (4 if consistent else 2) == answer["ConsumedCapacity"][0]["CapacityUnits"]
    assert counted.targets["Things", "large"].read == (3 if consistent else 1.5)
