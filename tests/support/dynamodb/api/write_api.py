"""PutItem, UpdateItem, DeleteItem and BatchWriteItem."""

from __future__ import annotations

from typing import Any, Final

from tests.support.dynamodb.api.core import HELD, Answer, Core, operation
from tests.support.dynamodb.api.errors import Invalid, Refusal
from tests.support.dynamodb.storage.table import item_of
from tests.support.dynamodb.storage.values import Item, encode_item
from tests.support.dynamodb.storage.writing import Write, read_write

_CONDITION: Final = (
    "ConditionExpression",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
    "ReturnValues",
    "ReturnValuesOnConditionCheckFailure",
)
_MAX_BATCHED: Final = 25


def _returned(return_values: str, write: Write, old: Item | None, new: Item | None) -> Answer:
    """Return the attributes that ReturnValues requests."""
    if return_values == "NONE":
        return {}
    shown: Item | None = old if return_values.endswith("_OLD") else new
    if return_values.startswith("UPDATED_"):
        update = write.expressions.update
        if update and update.cuts:
            raise NotImplementedError("the engine answers UPDATED_OLD and UPDATED_NEW for whole attributes only")
        touched = update.touched if update else {}
        shown = {name: shown[name] for name in touched if name in shown} if shown else None
    return {"Attributes": encode_item(shown)} if shown else {}


class WriteApi(Core):
    """The operations that write."""

    def _single(self, kind: str, request: dict[str, Any], allowed: frozenset[str]) -> Answer:
        return_values = request.get("ReturnValues", "NONE")
        if return_values not in allowed:
            raise Invalid("Return values set to invalid value")
        write = read_write(kind, self._table(request["TableName"]), request)
        held = self._held(write.identity)
        if held is not None:
            raise Refusal(f"{held}Exception", HELD)
        old = write.table.rows.get(write.key)
        new = write.outcome()
        write.table.write(write.key, new)
        return _returned(return_values, write, item_of(old), item_of(new))

    @operation("PutItem", ("TableName", "Item"), _CONDITION)
    def put_item(self, request: dict[str, Any]) -> Answer:
        return self._single("Put", request, frozenset({"NONE", "ALL_OLD"}))

    @operation("DeleteItem", ("TableName", "Key"), _CONDITION)
    def delete_item(self, request: dict[str, Any]) -> Answer:
        return self._single("Delete", request, frozenset({"NONE", "ALL_OLD"}))

    @operation("UpdateItem", ("TableName", "Key"), ("UpdateExpression", *_CONDITION))
    def update_item(self, request: dict[str, Any]) -> Answer:
        allowed = {"NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"}
        return self._single("Update", request, frozenset(allowed))

    @operation("BatchWriteItem", ("RequestItems",))
    def batch_write_item(self, request: dict[str, Any]) -> Answer:
        writes: list[tuple[Write, str, dict[str, Any]]] = []
        for name, entries in request["RequestItems"].items():
            table = self._table(name)
            for entry in entries:
                ((kind, action),) = entry.items()
                kinds = {"PutRequest": "Put", "DeleteRequest": "Delete"}
                writes.append((read_write(kinds[kind], table, action), name, entry))
        if not 1 <= len(writes) <= _MAX_BATCHED:
            raise Invalid("Too many items requested for the BatchWriteItem call")
        if len({write.identity for write, _, _ in writes}) != len(writes):
            raise Invalid("Provided list of item keys contains duplicates")
        left: dict[str, list[dict[str, Any]]] = {}
        for write, name, entry in writes:
            if self._held(write.identity) is not None or self._is_unprocessed("BatchWriteItem", name, entry):
                left.setdefault(name, []).append(entry)
            else:
                write.table.write(write.key, write.outcome())
        return {"UnprocessedItems": left}
