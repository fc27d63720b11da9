"""Plain conditional writes and the reads after them: on the engine, on DynamoDB Local and on moto."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dynamodb.comparison import index_contents, refusal, stored
from tests.support.dynamodb.things import THINGS, key, numbers, texts

Client = Any
ELEMENTS = [{"B": b"\x01"}, {"S": "two"}, {"N": "3"}]


@pytest.fixture
def things(client: Client) -> Client:
    """Return a client with the item `a` in Things, which has a list, bytes and a place."""
    client.create_table(**THINGS)
    item = {**key("a"), "l": {"L": ELEMENTS}, "b": {"B": b"\x05"}, "n": {"N": "1"}, **_at("1"), "t": {"S": "t"}}
    client.put_item(TableName="Things", Item=item)
    return client


def _at(place: str) -> dict[str, Any]:
    return {"r": {"S": "R"}, "s": {"S": place}}


def _item(client: Client) -> dict[str, Any]:
    item = stored(client, "Things", key("a"))
    assert item is not None
    return item


def _update(client: Client, expression: str, values: dict[str, Any], condition: str) -> Any:
    return client.update_item(
        TableName="Things",
        Key=key("a"),
        UpdateExpression=expression,
        ConditionExpression=condition,
        ExpressionAttributeValues=values,
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )


def _put(client: Client, pk: str, condition: str, values: dict[str, Any], **attributes: Any) -> Any:
    return client.put_item(
        TableName="Things",
        Item={**key(pk), **attributes},
        ConditionExpression=condition,
        ExpressionAttributeValues=values,
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )


def test_one_update_appends_to_a_list_and_counts(things: Client) -> None:
    new = {":e": {"L": [{"B": b"\x09"}]}, ":none": {"L": []}, **numbers(one=1, max=5)}
    expression = "SET l = list_append(l, :e), k = list_append(if_not_exists(k, :none), :e) ADD n :one, m :one"

    _update(things, expression, new, "attribute_exists(b) AND n < :max")

    item = _item(things)
    assert item["l"] == {"L": [*ELEMENTS, {"B": b"\x09"}]}
    assert item["k"] == {"L": [{"B": b"\x09"}]}
    assert (item["n"], item["m"]) == ({"N": "2"}, {"N": "1"})


def test_members_leave_a_list_by_their_old_places(things: Client) -> None:
    _update(things, "REMOVE l[0], l[1] ADD n :one", numbers(one=1), "n = :one")

    assert _item(things)["l"] == {"L": ELEMENTS[2:]}


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("attribute_exists(b) AND n < :max", numbers(max=1)),
        ("attribute_exists(gone) AND n < :max", numbers(max=2)),
        ("attribute_not_exists(b) OR b <= :max", {":max": {"B": b"\x04"}}),
    ],
)
def test_a_failed_condition_returns_the_item(things: Client, condition: str, values: dict[str, Any]) -> None:
    before = _item(things)

    for write in (
        lambda: _update(things, "REMOVE l[0]", values, condition),
        lambda: _put(things, "a", condition, values),
    ):
        error: Any = refusal(write)
        assert error.response["Error"]["Code"] == "ConditionalCheckFailedException"
        assert error.response["Item"] == before
    assert _item(things) == before


@pytest.mark.parametrize("limit", [b"\x05", b"\x06"])
def test_bytes_are_compared_in_a_condition(things: Client, limit: bytes) -> None:
    for pk in ("a", "new"):
        _put(things, pk, "attribute_not_exists(b) OR b <= :b", {":b": {"B": limit}}, b={"B": limit})

    assert _item(things) == {**key("a"), "b": {"B": limit}}
    assert stored(things, "Things", key("new")) is not None


def test_an_index_follows_plain_conditional_writes(things: Client) -> None:
    first = {**key("a"), **_at("1"), "t": {"S": "t"}}
    assert index_contents(things, "places") == [first]

    _update(things, "SET s = :s, l = :l", {**texts(s="3"), ":l": {"L": []}}, "attribute_exists(b)")
    _put(things, "b", "attribute_not_exists(pk) OR s < :s", texts(s="2"), **_at("2"), x={"S": "hidden"})
    assert index_contents(things, "places") == [{**key("b"), **_at("2")}, {**first, **_at("3")}]

    refusal(lambda: _update(things, "SET s = :s", texts(s="9"), "attribute_not_exists(pk) OR s > :s"))
    _update(things, "SET t = :t", {":t": {"L": [{"B": b"\x01"}]}}, "t <> :t")
    assert index_contents(things, "places", forward=False) == [
        {**first, **_at("3"), "t": {"L": [{"B": b"\x01"}]}},
        {**key("b"), **_at("2")},
    ]

    _update(things, "SET n = :n REMOVE s", numbers(n=7), "n < :n")
    _put(things, "b", "s = :s", texts(s="2"), r={"S": "R"})
    assert index_contents(things, "places") == []


def test_a_consistent_batch_returns_what_was_written_last(things: Client) -> None:
    _update(things, "SET l = :l", {":l": {"L": ELEMENTS[:1]}}, "l <> :l")

    keys = {"Keys": [key("none"), key("a")], "ConsistentRead": True, "ProjectionExpression": "l, n"}
    answer = things.batch_get_item(RequestItems={"Things": keys})

    assert answer["Responses"]["Things"] == [{"l": {"L": ELEMENTS[:1]}, "n": {"N": "1"}}]
    assert answer["UnprocessedKeys"] == {}
