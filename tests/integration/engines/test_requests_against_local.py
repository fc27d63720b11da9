"""Puts, deletes, reads, batches and transactions: the engine answers as DynamoDB Local does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dynamodb.comparison import assert_same
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.things import key, numbers, put, texts, update

Request = tuple[str, dict[str, Any]]


def _tx(*actions: dict[str, Any], **more: Any) -> Request:
    return "transact_write_items", {"TransactItems": list(actions), **more}


def _put(**more: Any) -> Request:
    return "put_item", {"TableName": "Things", "Item": key("a"), **more}


REQUESTS: list[Request] = [
    # puts and deletes
    _put(),
    _put(ReturnValues="ALL_OLD"),
    _put(ReturnValues="ALL_NEW"),
    _put(ExpressionAttributeValues=numbers(v=1)),
    _put(ConditionExpression="attribute_not_exists(pk)", ReturnValuesOnConditionCheckFailure="ALL_OLD"),
    _put(ConditionExpression="attribute_not_exists(pk)"),
    *(
        _put(
            Item={**key(pk), "r": {"S": "R"}, "s": {"S": "2"}, "t": {"L": [{"B": b"\x01"}]}},
            ConditionExpression="attribute_not_exists(by) OR by <= :b",
            ExpressionAttributeValues={":b": {"B": limit}},
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        for pk in ("a", "none")
        for limit in (b"\x00", b"\x00\xff")
    ),
    *(
        _put(Item={**key("a"), "x": {"L": [{"B": b"x" * 200_000}, {"S": "x" * size}, {"N": "1"}]}})
        for size in (409_600 - 200_018, 409_600 - 200_017)
    ),
    *(
        _put(Item=item)
        for item in (
            key(""),
            key("a", ""),
            key("p" * 2048, "s" * 1024),
            key("p" * 2049),
            key("ü" * 1025),
            key("p", "s" * 1025),
            {"pk": {"S": "a"}},
            {"pk": {"S": "a"}, "sk": {"N": "1"}},
            {**key("a"), "x": {"S": "x" * (409_600 - 7)}},
            {**key("a"), "x": {"S": "x" * (409_600 - 6)}},
            {**key("a"), "r": {"N": "1"}},
            {**key("a"), "r": {"S": ""}},
            {**key("a"), "x": {"S": "1", "N": "1"}},
            {**key("a"), "x": {"SS": []}},
            {**key("a"), "x": {"SS": ["a", "a"]}},
            {**key("a"), "x": {"NS": ["1", "1.0"]}},
            {**key("a"), "x": {"S": ""}, "y": {"B": b""}, "z": {"L": []}, "m": {"M": {}}},
        )
    ),
    ("delete_item", {"TableName": "Things", "Key": key("none")}),
    ("delete_item", {"TableName": "Things", "Key": key("a"), "ConditionExpression": "attribute_not_exists(n)"}),
    ("put_item", {"TableName": "Nothing", "Item": key("a")}),
    # reads of one item
    *(
        ("get_item", {"TableName": "Things", **more})
        for more in (
            {"Key": key("a")},
            {"Key": key("none"), "ConsistentRead": True},
            {"Key": key("a"), "ProjectionExpression": "n, #d, gone", "ExpressionAttributeNames": {"#d": "d"}},
            {"Key": key("a"), "ProjectionExpression": "n, n"},
            {"Key": key("a"), "ExpressionAttributeNames": {"#d": "d"}},
            {"Key": {"pk": {"S": "a"}}},
            {"Key": {**key("a"), "n": {"N": "1"}}},
            {"Key": key("a", "")},
            {"Key": {"pk": {"S": "a"}, "sk": {"N": "1"}}},
        )
    ),
    ("batch_get_item", {"RequestItems": {"Things": {"Keys": [key("a"), key("none"), key("full")]}}}),
    ("batch_get_item", {"RequestItems": {"Things": {"Keys": [key("a"), key("a")]}}}),
    ("batch_get_item", {"RequestItems": {"Things": {"Keys": [key(str(i)) for i in range(101)]}}}),
    ("batch_get_item", {"RequestItems": {"Things": {"Keys": [key("none")], "ConsistentRead": True}}}),
    (
        "batch_get_item",
        {
            "RequestItems": {
                "Things": {
                    "Keys": [key("a"), key("full")],
                    "ConsistentRead": True,
                    "ProjectionExpression": "pk, sk, n, li",
                }
            }
        },
    ),
    ("batch_get_item", {"RequestItems": {"Nothing": {"Keys": [key("none")]}}}),
    ("transact_get_items", {"TransactItems": [{"Get": {"TableName": "Things", "Key": key(k)}} for k in ("a", "none")]}),
    ("transact_get_items", {"TransactItems": [{"Get": {"TableName": "Things", "Key": key("a")}}] * 2}),
    (
        "transact_get_items",
        {
            "TransactItems": [
                {"Get": {"TableName": "Things", "Key": key("a"), "ProjectionExpression": "n, gone"}},
                {"Get": {"TableName": "Things", "Key": key("full"), "ProjectionExpression": "gone"}},
            ]
        },
    ),
    (
        "transact_get_items",
        {"TransactItems": [{"Get": {"TableName": "Things", "Key": key(str(i))}} for i in range(100)]},
    ),
    (
        "transact_get_items",
        {"TransactItems": [{"Get": {"TableName": "Things", "Key": key(str(i))}} for i in range(101)]},
    ),
    ("transact_get_items", {"TransactItems": [{"Get": {"TableName": "Nothing", "Key": key("a")}}]}),
    ("batch_write_item", {"RequestItems": {"Things": [{"DeleteRequest": {"Key": key("a")}}]}}),
    ("batch_write_item", {"RequestItems": {"Things": [{"DeleteRequest": {"Key": key("a")}}] * 2}}),
    (
        "batch_write_item",
        {"RequestItems": {"Things": [{"PutRequest": {"Item": key(str(i))}} for i in range(26)]}},
    ),
    # transactions
    _tx(put("a", n={"N": "9"}), put("b")),
    _tx(put("b", condition="attribute_not_exists(pk)"), put("a", condition="attribute_not_exists(pk)"), put("c")),
    _tx(put("b", condition="attribute_exists(pk)"), put("c")),
    _tx(put("b"), put("b")),
    _tx(put("b"), {"Delete": {"TableName": "Things", "Key": key("b")}}),
    _tx(*(put(f"p{i}") for i in range(100))),
    _tx(*(put(f"p{i}") for i in range(101))),
    _tx(put("b"), update("a", "ADD t :v", numbers(v=1))),
    _tx(put("b"), update("a", "SET n = gone")),
    _tx(put("b"), update("a", "SET n = :v", numbers(v=1, w=1))),
    _tx(put("b"), update("a", "SET n = :v", numbers(v="9" * 39))),
    _tx(put("b"), update("a", "SET n = :v", numbers(v=1), "n = :w")),
    _tx(put("b"), update("full", "SET y = :y", texts(y="12345"))),
    _tx(put("b", x={"S": "x" * 409_600})),
    _tx(*(put(f"p{i}", x={"S": "x" * 400_000}) for i in range(11))),
    _tx(put("b", r={"N": "1"})),
    _tx(put(""), put("b")),
    _tx(put("p" * 2049), put("b")),
    _tx(put("b"), update("a", "SET pk = :v", texts(v="x"))),
    _tx(put("b"), update("a", "ADD n :v", texts(v="x"))),
    _tx({**put("b"), **update("a", "REMOVE n")}),
    _tx({"Put": {"TableName": "Nothing", "Item": key("a")}}),
    _tx(
        put("b"),
        {"ConditionCheck": {"TableName": "Things", "Key": key("a"), "ConditionExpression": "attribute_exists(n)"}},
    ),
    _tx(
        put("b"),
        {
            "Delete": {
                "TableName": "Things",
                "Key": key("a"),
                "ConditionExpression": "n = :n",
                "ExpressionAttributeValues": numbers(n=7),
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        },
    ),
    _tx(
        update("a", "ADD t :v", numbers(v=1), "attribute_not_exists(pk)"),
        update("b", "SET n = :v", numbers(v=1), "attribute_not_exists(pk)"),
    ),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: f"{request[0]}-{str(request[1])[:80]}")
def test_one_request_has_the_same_answer_and_effect(pair: tuple[Engine, Any], request_: Request) -> None:
    method, arguments = request_

    assert_same(*pair, method, **arguments)
