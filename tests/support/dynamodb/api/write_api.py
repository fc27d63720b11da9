"""PutItem, UpdateItem, DeleteItem, BatchWriteItem and TransactWriteItems."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tests.support.dynamodb.api.core import Answer, Core, operation
from tests.support.dynamodb.api.errors import (
    CONDITION_FAILED,
    ConditionFailed,
    Invalid,
    InvalidForItem,
    Refusal,
    cancelled,
)
from tests.support.dynamodb.storage.table import item_of
from tests.support.dynamodb.storage.values import Item, encode_item
from tests.support.dynamodb.storage.writing import Write, read_write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.dynamodb.storage.schema import Key
    from tests.support.dynamodb.storage.table import Stored

_CONDITION: Final = (
    "ConditionExpression",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
    "ReturnValues",
    "ReturnValuesOnConditionCheckFailure",
)
_ACTIONS: Final = frozenset({"Put", "Update", "Delete", "ConditionCheck"})
_MAX_ACTIONS: Final = 100
_MAX_BATCHED: Final = 25
_TRANSACTION_BYTES: Final = 4 * 1024 * 1024
TOKEN_SECONDS: Final = 600
BUSY: Final = "Another request holds the item"


def _digest(request: Mapping[str, Any]) -> str:
    return json.dumps(request["TransactItems"], sort_keys=True, default=repr)


def _returned(return_values: str, write: Write, old: Item | None, new: Item | None) -> Answer:
    """Return the attributes that ReturnValues requests."""
    if return_values == "NONE":
        return {}
    shown: Item | None = old if return_values.endswith("_OLD") else new
    if return_values.startswith("UPDATED_"):
        update = write.expressions.update
        touched = update.touched if update else {}
        shown = {name: shown[name] for name in touched if name in shown} if shown else None
    return {"Attributes": encode_item(shown)} if shown else {}


class WriteApi(Core):
    """The operations that write."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._tokens: dict[str, tuple[str, float]] = {}

    def _single(self, kind: str, request: dict[str, Any], allowed: frozenset[str]) -> Answer:
        return_values = request.get("ReturnValues", "NONE")
        if return_values not in allowed:
            raise Invalid("Return values set to invalid value")
        write = read_write(kind, self._table(request["TableName"]), request)
        if write.identity in self.busy:
            raise Refusal(f"{self.busy[write.identity]}Exception", BUSY)
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
            if self._is_unprocessed("BatchWriteItem", name, entry):
                left.setdefault(name, []).append(entry)
            else:
                write.table.write(write.key, write.outcome())
        return {"UnprocessedItems": left}

    @operation("TransactWriteItems", ("TransactItems",), ("ClientRequestToken",))
    def transact_write_items(self, request: dict[str, Any]) -> Answer:
        token = request.get("ClientRequestToken")
        digest = ""
        if token is not None:
            digest = _digest(request)
            known, until = self._tokens.get(token, ("", 0.0))
            if self.clock() < until:
                if known == digest:
                    return {}
                raise Refusal("IdempotentParameterMismatchException", "")
        writes = self._read_actions(request["TransactItems"])
        outcomes = self._outcomes(writes, self.busy)
        for write, new in zip(writes, outcomes, strict=True):
            if write.kind != "ConditionCheck":
                write.table.write(write.key, new)
        if token is not None:
            self._tokens[token] = digest, self.clock() + TOKEN_SECONDS
        return {}

    def _read_actions(self, actions: list[Mapping[str, Any]]) -> list[Write]:
        if not 1 <= len(actions) <= _MAX_ACTIONS:
            raise Invalid("Member must have length less than or equal to 100")
        writes = []
        for entry in actions:
            if len(entry) != 1 or not _ACTIONS.issuperset(entry):
                raise Invalid("TransactItems can only contain one of Check, Put, Update or Delete")
            ((kind, action),) = entry.items()
            if kind == "ConditionCheck" and "ConditionExpression" not in action:
                raise Invalid("conditionExpression: Member must not be null")
            writes.append(read_write(kind, self._table(action["TableName"]), action))
        if len({write.identity for write in writes}) != len(writes):
            raise Invalid("Transaction request cannot include multiple operations on one item")
        if sum(write.payload for write in writes) > _TRANSACTION_BYTES:
            payload = sum(write.exact_payload() for write in writes)
            if payload > _TRANSACTION_BYTES:
                raise Invalid(f"Transaction payload size cannot exceed 4MB. Payload Size: {payload}")
        return writes

    @staticmethod
    def _outcomes(writes: list[Write], busy: Mapping[tuple[str, Key], str]) -> list[Stored | None]:
        outcomes: list[Stored | None] = []
        reasons: list[dict[str, Any]] = []
        failed = False
        for write in writes:
            reason: dict[str, Any] = {"Code": "None"}
            try:
                if busy and write.identity in busy:
                    failed = True
                    reason = {"Code": busy[write.identity], "Message": BUSY}
                else:
                    outcomes.append(write.outcome())
            except ConditionFailed as refusal:
                failed = True
                reason = {
                    **refusal.extra,
                    "Code": "ConditionalCheckFailed",
                    "Message": CONDITION_FAILED,
                }
            except InvalidForItem as refusal:
                failed = True
                reason = {"Code": "ValidationError", "Message": refusal.message}
            reasons.append(reason)
        if failed:
            raise cancelled(reasons)
        return outcomes
