"""Queries return the same items, order and next page on the engine and on DynamoDB Local."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.dynamodb.comparison import outcome
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import delete_tables
from tests.support.dynamodb.things import THINGS, key, numbers, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

Request = tuple[str, dict[str, Any]]


def _query(condition: str = "pk = :p", **more: Any) -> Request:
    values = more.pop("values", texts(p="Q"))
    return "query", {
        "TableName": "Things",
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": values,
        **more,
    }


def _places(condition: str = "r = :p", **more: Any) -> Request:
    return _query(condition, **{"IndexName": "places", "values": texts(p="R"), **more})


QUERIES: list[Request] = [
    _query(),
    _query(ScanIndexForward=False),
    _query(Select="COUNT"),
    _query(Limit=11),
    _query(Limit=10),
    _query(Select="COUNT", ProjectionExpression="sk"),
    _query(ProjectionExpression="sk, gone"),
    *(
        _query(f"pk = :p AND sk {operator} :s", values=texts(p="Q", s="03"), Limit=3, ScanIndexForward=forward)
        for operator in ("=", "<", "<=", ">", ">=", "<>")
        for forward in (True, False)
    ),
    *(
        _query(condition, values=texts(p="Q", s="03", e="05"), ScanIndexForward=forward)
        for condition in ("pk = :p AND sk BETWEEN :s AND :e", "pk = :p AND sk BETWEEN :e AND :s")
        for forward in (True, False)
    ),
    *(
        _query(condition, values=texts(p="Q", s="0"), Limit=3)
        for condition in (
            "pk = :p AND begins_with(sk, :s)",
            ":p = pk AND :s < sk",
            "sk > :s AND pk = :p",
            "(pk = :p) AND (sk > :s)",
            "pk = :p OR sk = :s",
            "pk = :p and t = :s",
            "pk = :p AND pk = :s",
            "sk = :s AND sk = :p",
            "NOT pk = :p AND sk = :s",
            "pk = :p AND contains(sk, :s)",
        )
    ),
    _query("sk = :p"),
    _query("pk > :p"),
    _query("pk = :missing"),
    _query(values=numbers(p=1)),
    _query(values=texts(p="")),
    _query("pk = :p AND sk > :s", values=texts(p="Q", s="")),
    _query(values=texts(p="Q", s="unused")),
    _query(values=texts(p="nobody")),
    _query(ExclusiveStartKey=key("Q", "03"), Limit=2),
    _query(ExclusiveStartKey=key("Q", "03"), Limit=2, ScanIndexForward=False),
    _query(ExclusiveStartKey=key("Q", "035"), Limit=2),
    _query(ExclusiveStartKey=key("X", "03"), Limit=2),
    _query(ExclusiveStartKey={**key("Q", "03"), "r": {"S": "R"}}, Limit=2),
    _query(ExclusiveStartKey={"pk": {"S": "Q"}}, Limit=2),
    _query("pk = :p AND sk > :s", values=texts(p="Q", s="05"), ExclusiveStartKey=key("Q", "03")),
    _query("pk = :p AND sk < :s", values=texts(p="Q", s="05"), ExclusiveStartKey=key("Q", "07")),
    _query("pk = :p AND sk > :s", values=texts(p="Q", s="05"), ExclusiveStartKey=key("Q", "07"), Limit=2),
    _query(FilterExpression="n > :n", values={**texts(p="Q"), **numbers(n=5)}, Limit=8),
    _query(FilterExpression="sk > :n", values=texts(p="Q", n="05")),
    _places(),
    _places(ScanIndexForward=False),
    _places(Limit=3),
    _places(ConsistentRead=True),
    _places(IndexName="nothing"),
    _places(Select="ALL_ATTRIBUTES"),
    _places(Select="ALL_PROJECTED_ATTRIBUTES"),
    _places(ProjectionExpression="x"),
    _places(ProjectionExpression="s, t"),
    _places("r = :p AND s > :s", values=texts(p="R", s="3")),
    _places("r = :p AND s > :s", values=texts(p="R", s="")),
    _places("r = :p AND begins_with(s, :s)", values=texts(p="R", s="ü")),
    _places("pk = :p", values=texts(p="Q")),
    _places(ExclusiveStartKey={**key("Q", "03"), "r": {"S": "R"}, "s": {"S": "3"}}, Limit=2),
    _places(ExclusiveStartKey={**key("Q", "!"), "r": {"S": "R"}, "s": {"S": "35"}}, Limit=2),
    _places(ExclusiveStartKey={**key("Q", "!"), "r": {"S": "R"}, "s": {"S": "35"}}, Limit=2, ScanIndexForward=False),
    _places(ExclusiveStartKey={"r": {"S": "R"}, "s": {"S": "3"}}, Limit=2),
    _places(ExclusiveStartKey={**key("Q", "03"), "r": {"S": "X"}, "s": {"S": "3"}}, Limit=2),
    _places(IndexName="numbers"),
    _places("r = :p AND n >= :n", IndexName="numbers", values={**texts(p="R"), **numbers(n="-1.5")}),
    _places(IndexName="numbers", ScanIndexForward=False, Limit=4),
    _places(IndexName="bytes", ProjectionExpression="sk, b"),
    ("query", {"TableName": "Things"}),
    ("scan", {"TableName": "Things", "IndexName": "nothing"}),
]


@pytest.fixture(scope="module")
def filled(shared_local_client: Any) -> Iterator[tuple[Engine, Any]]:
    """A partition of more than 1 MB. Its items are in the indexes too."""
    delete_tables(shared_local_client)
    engine = Engine()
    order = ["", "!", "~", "é", "ü", "z", "Z", "\U0001f600", "\uffff", "1", "10", "2"]
    for client in (engine, shared_local_client):
        client.create_table(**THINGS)
        for i in range(12):
            item = {
                **key("Q", f"{i:02d}"),
                "r": {"S": "R"},
                "s": {"S": f"{i}{order[i]}"} if i < 6 else {"S": order[i]},
                "t": {"N": str(i)},
                "n": {"N": ["-2", "-1.5", "0", "1e20", "10", "9", "-1e20", "0.5", "0.25", "100", "3", "4"][i]},
                "b": {"B": bytes([255 - 20 * i, i])},
                "x": {"S": "x" * 100_000},
            }
            if i == 5:
                del item["s"]
            if i == 6:
                del item["r"]
            client.put_item(TableName="Things", Item=item)
    yield engine, shared_local_client
    delete_tables(shared_local_client)


@pytest.mark.parametrize("request_", QUERIES, ids=lambda request: str(request[1])[:100])
def test_one_query_has_the_same_answer(filled: tuple[Engine, Any], request_: Request) -> None:
    engine, real = filled
    method, arguments = request_

    assert outcome(engine, method, **arguments) == outcome(real, method, **arguments)
