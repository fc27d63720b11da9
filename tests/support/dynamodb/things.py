"""A table of their own for tests of engines, `Things`, and what engines say of it in one form, to compare them."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.dynamodb.local import LocalStream

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


def stored(client: Any, table: str, key: dict[str, Any]) -> dict[str, Any] | None:
    item: dict[str, Any] | None = client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
    return item


def refusal(call: Callable[[], Any]) -> ClientError:
    """The error that a call raises. It fails the test if there is none."""
    with pytest.raises(ClientError) as refused:
        call()
    return refused.value


def _reasons(error: ClientError) -> list[tuple[str, Any]]:
    reasons: list[dict[str, Any]] = error.response.get("CancellationReasons", [])  # type: ignore[assignment]
    return [(reason["Code"], comparable(reason.get("Item"))) for reason in reasons]


def comparable(value: Any) -> Any:
    """A value in one form: sets sorted, and numbers as such, because DynamoDB Local may keep their notation."""
    if not isinstance(value, dict):
        return [comparable(part) for part in value] if isinstance(value, list) else value
    if value.keys() == {"N"} and isinstance(value["N"], str):
        return {"N": Decimal(value["N"])}
    return {name: sorted(part) if name in {"SS", "NS", "BS"} else comparable(part) for name, part in value.items()}


def outcome(client: Any, method: str, **request: Any) -> Any:
    try:
        answer = getattr(client, method)(**request)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        reasons = _reasons(error)
        if code == "ValidationException" or any(reason == "ValidationError" for reason, _ in reasons):
            # AWS documents a cancellation reason. In some cases DynamoDB Local rejects the whole request instead.
            return "invalid"
        return code, reasons, comparable(error.response.get("Item"))
    answer.pop("ResponseMetadata")
    answer.pop("ConsumedCapacity", None)
    if method == "batch_get_item":
        for items in answer["Responses"].values():
            items.sort(key=_by_key)
    return comparable(answer)


def contents(client: Any) -> list[Any]:
    """All items of Things. They fit into one page."""
    return sorted(map(comparable, client.scan(TableName="Things")["Items"]), key=_by_key)


def _by_key(item: dict[str, Any]) -> tuple[str, str]:
    return item["pk"]["S"], item.get("sk", {}).get("S", "")


def index_contents(client: Any, index: str) -> list[Any]:
    """All entries of an index. These tests use two values of `r`."""
    request = {"TableName": "Things", "IndexName": index, "KeyConditionExpression": "r = :r"}
    answers = (client.query(**request, ExpressionAttributeValues=texts(r=value)) for value in ("R", "Q"))
    return [comparable(item) for answer in answers for item in answer["Items"]]


def engine_changes(engine: Any) -> dict[str, list[Any]]:
    """The name and images of every change in the engine's stream, by item."""
    return _by_item(record for shard in engine.stream("Things") for record in shard)


def local_changes(client: Any) -> dict[str, list[Any]]:
    """The name and images of every change in DynamoDB Local's stream, by item."""
    return _by_item(record for shard in LocalStream(client, "Things") for record in shard[: len(shard)])


def _by_item(records: Any) -> dict[str, list[Any]]:
    changes: dict[str, list[Any]] = {}
    for record in records:
        detail = record["dynamodb"]
        identity = "/".join(detail["Keys"][name]["S"] for name in ("pk", "sk"))
        shown = {
            "eventName": record["eventName"],
            **{name: detail.get(name) for name in ("Keys", "NewImage", "OldImage", "SizeBytes", "StreamViewType")},
        }
        changes.setdefault(identity, []).append(comparable(shown))
    return changes
