"""One request on two clients: what must be the same in their answers, and what may differ."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from botocore.exceptions import ClientError

from tests.support.dynamodb.local_stream import LocalStream
from tests.support.dynamodb.storage.values import EXACT

THINGS: dict[str, Any] = {
    "TableName": "Things",
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": kind}
        for name, kind in (("pk", "S"), ("sk", "S"), ("r", "S"), ("s", "S"), ("n", "N"), ("b", "B"))
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "places",
            "KeySchema": [{"AttributeName": "r", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["t"]},
        },
        {
            "IndexName": "numbers",
            "KeySchema": [{"AttributeName": "r", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        },
        {
            "IndexName": "bytes",
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


def _reasons(error: ClientError) -> list[tuple[str, Any]]:
    found: list[dict[str, Any]] = error.response.get("CancellationReasons", [])  # type: ignore[assignment]
    return [(reason["Code"], comparable(reason.get("Item"))) for reason in found]


def comparable(value: Any) -> Any:
    """Sets come in any order, and DynamoDB Local may keep a number as it was written; all else as it is."""
    if not isinstance(value, dict):
        return [comparable(part) for part in value] if isinstance(value, list) else value
    if value.keys() == {"N"} and isinstance(value["N"], str):
        return {"N": Decimal(value["N"]).normalize(EXACT)}
    return {name: sorted(part) if name in {"SS", "NS", "BS"} else comparable(part) for name, part in value.items()}


def outcome(client: Any, method: str, **request: Any) -> Any:
    """Return what an operation answered, or how it was refused."""
    try:
        answer = getattr(client, method)(**request)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        reasons = _reasons(error)
        if any(reason == "ValidationError" for reason, _ in reasons):
            # AWS documents it as a reason, DynamoDB Local for some of them refuses the whole request.
            return "invalid"
        if code == "ValidationException":
            return "invalid"
        return code, reasons, comparable(error.response.get("Item"))
    answer.pop("ResponseMetadata")
    answer.pop("ConsumedCapacity", None)
    if method == "batch_get_item":
        for items in answer["Responses"].values():
            items.sort(key=_by_key)
    return comparable(answer)


def contents(client: Any, table: str = "Things") -> list[Any]:
    """Return all items of a table, in an order of our own."""
    items: list[Any] = []
    start: dict[str, Any] = {}
    while True:
        page = client.scan(TableName=table, **start)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return sorted((comparable(item) for item in items), key=_by_key)
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _by_key(item: dict[str, Any]) -> tuple[str, str]:
    return item["pk"]["S"], item.get("sk", {}).get("S", "")


def index_contents(client: Any, index: str, *, forward: bool = True) -> list[Any]:
    """Return what an index holds under the few values of ``r`` that these tests use."""
    found = []
    for value in ("R", "Q"):
        request: dict[str, Any] = {
            "TableName": "Things",
            "IndexName": index,
            "KeyConditionExpression": "r = :r",
            "ExpressionAttributeValues": texts(r=value),
            "ScanIndexForward": forward,
        }
        found += client.query(**request)["Items"]
    return [comparable(item) for item in found]


def engine_changes(engine: Any) -> dict[str, list[Any]]:
    """Return name and images of every change, by item."""
    return _by_item(record for shard in engine.stream("Things") for record in shard)


def local_changes(client: Any) -> dict[str, list[Any]]:
    """Return the same from DynamoDB Local."""
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


__all__ = [
    "THINGS",
    "comparable",
    "contents",
    "engine_changes",
    "index_contents",
    "key",
    "local_changes",
    "numbers",
    "outcome",
    "put",
    "texts",
    "update",
]
