"""The meter counts the units that the published rules give, and those that DynamoDB Local and the engine report."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from benchmarks.harness.meter import Meter, Units
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


def test_a_missing_item_costs_the_minimum(meter: Meter) -> None:
    """DynamoDB counts these. DynamoDB Local does not."""
    meter.batch_get_item(RequestItems={"Things": {"Keys": [key("none"), key("small")]}})

    assert meter.snapshot().targets == {("Things", "none"): Units(read=0.5), ("Things", "small"): Units(read=0.5)}


Request = tuple[str, dict[str, Any]]


def get(pk: str, **more: Any) -> Request:
    return "get_item", {"Key": key(pk), **more}


def query(condition: str, values: dict[str, Any], **more: Any) -> Request:
    return "query", {"KeyConditionExpression": condition, "ExpressionAttributeValues": values, **more}


def put_one(pk: str, **attributes: Any) -> Request:
    return "put_item", {"Item": {**key(pk), **attributes}}


def change(where: dict[str, Any], expression: str, values: dict[str, Any] | None = None) -> Request:
    request = {"Key": where, "UpdateExpression": expression}
    return "update_item", {**request, "ExpressionAttributeValues": values} if values else request


def of_bytes(length: int) -> dict[str, Any]:
    return {"S": "x" * length}


def a_list(length: int) -> dict[str, Any]:
    """Return a list of 512 bytes more than a length, without its name."""
    return {"L": [{"B": b"x" * 500}, of_bytes(length), {"N": "1"}]}


ALL_Q = ("pk = :p", texts(p="Q"))
ENTRY = key("Q", "1")
PLAIN: list[Request] = [
    *(get(pk, ConsistentRead=consistent) for pk in ("small", "none", "large") for consistent in (False, True)),
    *(query(*ALL_Q, **more) for more in ({}, {"ConsistentRead": True}, {"Limit": 3}, {"Select": "COUNT"})),
    query("r = :r AND s > :s", texts(r="R", s="0"), IndexName="places"),
    *(put_one("new", x=of_bytes(length)) for length in (1015, 1016, 1500)),
    put_one("large"),
    change(key("large"), "REMOVE x"),
    change(key("none"), "SET n = :n", numbers(n=1)),
    ("delete_item", {"Key": key("large")}),
    ("delete_item", {"Key": key("none")}),
    # lists and bytes: three bytes for a list and one more for each member
    *(put_one("new", l=a_list(507 + more)) for more in (0, 1)),
    *(put_one("new", r={"S": "R"}, s={"S": "1"}, t=a_list(498 + more)) for more in (0, 1, 2)),
    *(put_one("new", b={"B": b"x" * length}) for length in (1015, 1016)),
    change(
        key("large"),
        "SET l = :l ADD n :n REMOVE x",
        {":l": a_list(5000), **numbers(n=1)},
    ),
    # the index: an entry is new, moves, changes, stays as it is, or is deleted
    put_one("new", r={"S": "R"}, s={"S": "1"}),
    *(change(ENTRY, f"SET {name} = :{name}", texts(**{name: "9"})) for name in ("s", "t", "x")),
    change(ENTRY, "SET n = :n", numbers(n=9)),
    change(ENTRY, "REMOVE r"),
    ("delete_item", {"Key": ENTRY}),
]


@pytest.mark.thorough
@pytest.mark.parametrize("request_", PLAIN, ids=lambda request: f"{request[0]}-{str(request[1])[:70]}")
def test_plain_calls_count_as_dynamodb_local_says(local_client: Any, meter: Meter, request_: Request) -> None:
    fill_for_units(local_client)
    method, arguments = request_

    answer = getattr(local_client, method)(TableName="Things", ReturnConsumedCapacity="INDEXES", **arguments)
    getattr(meter, method)(TableName="Things", **arguments)

    consumed, counted = answer["ConsumedCapacity"], meter.snapshot()
    assert counted.total.read + counted.total.write == consumed["CapacityUnits"]
    assert counted.total.round_trips == 1
    for name, part in consumed.get("GlobalSecondaryIndexes", {}).items():
        units = counted.tables[f"Things/{name}"]
        assert units.read + units.write == part["CapacityUnits"]


@pytest.mark.parametrize("request_", [one for one in PLAIN if one[0] == "query"], ids=lambda one: str(one[1])[:70])
def test_the_engine_names_the_units_of_a_query_as_the_meter_counts_them(meter: Meter, request_: Request) -> None:
    answer = meter.query(TableName="Things", ReturnConsumedCapacity="TOTAL", **request_[1])

    assert meter.snapshot().total.read == answer["ConsumedCapacity"]["CapacityUnits"]


@pytest.mark.parametrize("consistent", [True, False])
def test_batches_and_transactions_count_each_item_by_itself(meter: Meter, consistent: bool) -> None:
    keys = [key("small"), key("large")]
    batch = {"Things": {"Keys": keys, "ConsistentRead": consistent}}
    gets = [{"Get": {"TableName": "Things", "Key": one}} for one in (*keys, key("none"))]
    answers = [
        meter.batch_get_item(RequestItems=batch, ReturnConsumedCapacity="TOTAL"),
        meter.transact_get_items(TransactItems=gets, ReturnConsumedCapacity="TOTAL"),
    ]

    named = sum(one["CapacityUnits"] for answer in answers for one in answer["ConsumedCapacity"])
    assert meter.snapshot().total.read == named == (4 if consistent else 2) + 2 + 6 + 2
    assert meter.snapshot().targets["Things", "large"].read == 6 + (3 if consistent else 1.5)
