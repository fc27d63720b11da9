"""Compares the engine with DynamoDB Local: answers, contents and streams in one form."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.support.dynamodb.local import LocalStream
from tests.support.dynamodb.things import texts

if TYPE_CHECKING:
    from collections.abc import Callable


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
    items: list[Any] = []
    start: dict[str, Any] = {}
    while True:
        page = client.scan(TableName="Things", **start)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return sorted((comparable(item) for item in items), key=_by_key)
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


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
