"""A table of their own for tests of engines, `Things`, and requests to it."""

from __future__ import annotations

from typing import Any

THINGS: dict[str, Any] = {
    "TableName": "Things",
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "r", "s", "b")],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "places",
            "KeySchema": [{"AttributeName": "r", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["t"]},
        },
        {
            "IndexName": "whole",
            "KeySchema": [{"AttributeName": "r", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        },
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}


def numbers(**attributes: float | str) -> dict[str, Any]:
    return {f":{name}": {"N": str(value)} for name, value in attributes.items()}


def texts(**attributes: str) -> dict[str, Any]:
    return {f":{name}": {"S": value} for name, value in attributes.items()}


def key(pk: str, sk: str = "s") -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def put(pk: str, sk: str = "s", condition: str | None = None, **attributes: Any) -> dict[str, Any]:
    """A Put action of a transaction on Things."""
    action: dict[str, Any] = {"TableName": "Things", "Item": {**key(pk, sk), **attributes}}
    if condition is not None:
        action |= {"ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    return {"Put": action}


def update(
    pk: str, expression: str, values: dict[str, Any] | None = None, condition: str | None = None, sk: str = "s"
) -> dict[str, Any]:
    """An Update action of a transaction on Things."""
    action: dict[str, Any] = {"TableName": "Things", "Key": key(pk, sk), "UpdateExpression": expression}
    if values:
        action["ExpressionAttributeValues"] = values
    if condition is not None:
        action |= {"ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    return {"Update": action}


def fill_for_units(client: Any) -> None:
    """Make Things with the product's only index, and items of known sizes: `small`, `large` and nine under `Q`."""
    client.create_table(
        **{
            **THINGS,
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "r", "s")],
            "GlobalSecondaryIndexes": THINGS["GlobalSecondaryIndexes"][:1],
        }
    )
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
