"""GetItem, TransactGetItems, BatchGetItem, Query and Scan."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from tests.support.dynamodb.api.core import CONFLICT, HELD, Answer, Core, asks_for_units, operation
from tests.support.dynamodb.api.errors import Invalid, Refusal, cancelled
from tests.support.dynamodb.expressions.requests import read_expressions
from tests.support.dynamodb.storage.pages import query_rows, read_page, scan_rows
from tests.support.dynamodb.storage.sizes import read_units
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


def _units(request: Mapping[str, Any], by_table: Mapping[str, float]) -> Answer:
    """Return the part of an answer that names the units of each table, if the request asks for it."""
    if not asks_for_units(request):
        return {}
    return {"ConsumedCapacity": [{"TableName": name, "CapacityUnits": units} for name, units in by_table.items()]}


class ReadApi(Core):
    """The operations that read."""

    def _get(self, table: Table, request: Mapping[str, Any]) -> tuple[Answer, int]:
        """Return the answer, and the size of the item."""
        projection = read_expressions(request, ("ProjectionExpression",)).projection
        key = table.schema.key.of(table.schema.key.read_key(request["Key"]))
        stored = table.rows.get(key)
        return ({}, 0) if stored is None else ({"Item": _shown(stored.item, projection)}, stored.size)

    @operation("GetItem", ("TableName", "Key"), ("ConsistentRead", "ProjectionExpression", *_NAMES))
    def get_item(self, request: dict[str, Any]) -> Answer:
        return self._get(self._table(request["TableName"]), request)[0]

    @operation("TransactGetItems", ("TransactItems",))
    def transact_get_items(self, request: dict[str, Any]) -> Answer:
        gets = [entry["Get"] for entry in request["TransactItems"]]
        if not 1 <= len(gets) <= _MAX_KEYS:
            raise Invalid("Member must have length less than or equal to 100")
        seen: dict[tuple[str, Key], None] = {}
        answers = []
        units: Counter[str] = Counter()
        for get in gets:
            table = self._table(get["TableName"])
            key = table.schema.key.of(table.schema.key.read_key(get["Key"]))
            if (get["TableName"], key) in seen:
                raise Invalid("Transaction request cannot include multiple operations on one item")
            seen[get["TableName"], key] = None
            answer, size = self._get(table, get)
            answers.append(answer)
            units[get["TableName"]] += 2 * int(read_units(size, consistent=True))
        if not self.unfinished.keys().isdisjoint(seen):
            conflict = {"Code": CONFLICT, "Message": HELD}
            raise cancelled([conflict if identity in self.unfinished else {"Code": "None"} for identity in seen])
        return {"Responses": answers, **_units(request, units)}

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
        units: dict[str, float] = {}
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
                    continue
                size = 0 if stored is None else stored.size
                units[name] = units.get(name, 0.0) + read_units(size, consistent=part.get("ConsistentRead", False))
                if stored is not None:
                    items.append(_shown(stored.item, projection))
                    room -= stored.size
        if sum(len(part["Keys"]) for part in left.values()) == sum(len(part["Keys"]) for part in requested.values()):
            raise Refusal(
                "ProvisionedThroughputExceededException",
                "The level of configured provisioned throughput for the table was exceeded.",
            )
        return {"Responses": responses, "UnprocessedKeys": left, **_units(request, units)}

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
