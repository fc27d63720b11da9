"""GetItem, TransactGetItems, BatchGetItem, Query and Scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.support.dynamodb.api.core import CONFLICT, HELD, Answer, Core, operation
from tests.support.dynamodb.api.errors import Invalid, Refusal, cancelled
from tests.support.dynamodb.expressions.requests import read_expressions
from tests.support.dynamodb.storage.pages import query_rows, read_page, scan_rows
from tests.support.dynamodb.storage.values import encode_item

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.dynamodb.storage.schema import Key
    from tests.support.dynamodb.storage.table import Table
    from tests.support.dynamodb.storage.values import Item

_NAMES: Final = ("ExpressionAttributeNames",)
_VALUES: Final = ("ExpressionAttributeValues",)
_MAX_KEYS: Final = 100
_BATCH_BYTES: Final = 16 * 1024 * 1024


def _shown(item: Item, projection: tuple[str, ...] | None) -> dict[str, Any]:
    if projection is not None:
        item = {name: item[name] for name in projection if name in item}
    return encode_item(item)


class ReadApi(Core):
    """The operations that read."""

    def _get(self, table: Table, request: Mapping[str, Any]) -> Answer:
        projection = read_expressions(request, ("ProjectionExpression",)).projection
        key = table.schema.key.of(table.schema.key.read_key(request["Key"]))
        stored = table.rows.get(key)
        return {} if stored is None else {"Item": _shown(stored.item, projection)}

    @operation("GetItem", ("TableName", "Key"), ("ConsistentRead", "ProjectionExpression", *_NAMES))
    def get_item(self, request: dict[str, Any]) -> Answer:
        return self._get(self._table(request["TableName"]), request)

    @operation("TransactGetItems", ("TransactItems",))
    def transact_get_items(self, request: dict[str, Any]) -> Answer:
        gets = [entry["Get"] for entry in request["TransactItems"]]
        if not 1 <= len(gets) <= _MAX_KEYS:
            raise Invalid("Member must have length less than or equal to 100")
        seen: dict[tuple[str, Key], None] = {}
        answers = []
        for get in gets:
            table = self._table(get["TableName"])
            key = table.schema.key.of(table.schema.key.read_key(get["Key"]))
            if (get["TableName"], key) in seen:
                raise Invalid("Transaction request cannot include multiple operations on one item")
            seen[get["TableName"], key] = None
            answers.append(self._get(table, get))
        if not self.unfinished.keys().isdisjoint(seen):
            conflict = {"Code": CONFLICT, "Message": HELD}
            raise cancelled([conflict if identity in self.unfinished else {"Code": "None"} for identity in seen])
        return {"Responses": answers}

    @operation("BatchGetItem", ("RequestItems",))
    def batch_get_item(self, request: dict[str, Any]) -> Answer:
        requested = request["RequestItems"]
        if not requested:
            raise Invalid("BatchGetItem must have some requests set")
        if sum(len(part["Keys"]) for part in requested.values()) > _MAX_KEYS:
            raise Invalid("Too many items requested for the BatchGetItem call")
        responses: dict[str, list[dict[str, Any]]] = {}
        left: dict[str, dict[str, Any]] = {}
        room = _BATCH_BYTES
        for name, part in requested.items():
            table = self._table(name)
            keys = table.schema.key
            if not part["Keys"]:
                raise Invalid(f"The list of keys in RequestItems for BatchGetItem is required: {name} has empty list")
            projection = read_expressions(part, ("ProjectionExpression",)).projection
            responses[name] = items = []
            wire_keys = {keys.of(keys.read_key(key)): key for key in part["Keys"]}
            if len(wire_keys) != len(part["Keys"]):
                raise Invalid("Provided list of item keys contains duplicates")
            for key, wire in reversed(wire_keys.items()):  # DynamoDB promises no order
                stored = table.rows.get(key)
                if room <= 0 or self._is_unprocessed("BatchGetItem", name, wire):
                    left.setdefault(name, {**part, "Keys": []})["Keys"].append(dict(wire))
                elif stored is not None:
                    items.append(_shown(stored.item, projection))
                    room -= stored.size
        if sum(len(part["Keys"]) for part in left.values()) == sum(len(part["Keys"]) for part in requested.values()):
            raise Refusal(
                "ProvisionedThroughputExceededException",
                "The level of configured provisioned throughput for the table was exceeded.",
            )
        return {"Responses": responses, "UnprocessedKeys": left}

    @operation(
        "Query",
        ("TableName",),
        (
            "IndexName",
            "KeyConditionExpression",
            "FilterExpression",
            "ProjectionExpression",
            "Select",
            "Limit",
            "ConsistentRead",
            "ScanIndexForward",
            "ExclusiveStartKey",
            *_NAMES,
            *_VALUES,
        ),
    )
    def query(self, request: dict[str, Any]) -> Answer:
        expressions = read_expressions(request, ("KeyConditionExpression", "FilterExpression", "ProjectionExpression"))
        return read_page(query_rows, request, self._table(request["TableName"]), expressions)

    @operation(
        "Scan",
        ("TableName",),
        (
            "IndexName",
            "FilterExpression",
            "ProjectionExpression",
            "Select",
            "Limit",
            "ConsistentRead",
            "ExclusiveStartKey",
            "Segment",
            "TotalSegments",
            *_NAMES,
            *_VALUES,
        ),
    )
    def scan(self, request: dict[str, Any]) -> Answer:
        expressions = read_expressions(request, ("FilterExpression", "ProjectionExpression"))
        return read_page(scan_rows, request, self._table(request["TableName"]), expressions)
