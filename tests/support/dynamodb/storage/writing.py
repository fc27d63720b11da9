"""Checks a Put, Update, Delete or ConditionCheck and computes the item that it would store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.support.dynamodb.api.errors import (
    ITEM_TOO_LARGE,
    UPDATED_ITEM_TOO_LARGE,
    ConditionFailed,
    Invalid,
    InvalidForItem,
)
from tests.support.dynamodb.expressions.requests import Expressions, read_expressions
from tests.support.dynamodb.storage.sizes import ITEM_LIMIT, LARGEST_CHARACTER, size_bound, stored_size, value_size
from tests.support.dynamodb.storage.table import Stored, Table, item_of
from tests.support.dynamodb.storage.values import Item, decode_item, encode_item

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.dynamodb.storage.schema import Key

_CONDITION: Final = ("ConditionExpression",)
_UPDATE: Final = ("UpdateExpression", "ConditionExpression")


@dataclass(slots=True)
class Write:
    """One write of one item, after all checks that do not need the stored item.

    ``size`` is an upper bound of the size of the item or key. ``payload`` is an upper bound of that size plus the
    sizes of the expression's values.
    """

    kind: str
    table: Table
    key: Key
    item: Item
    size: int
    payload: int
    expressions: Expressions
    return_old: bool

    @property
    def identity(self) -> tuple[str, Key]:
        return self.table.schema.name, self.key

    def exact_payload(self) -> int:
        """Return the bytes that count towards the 4 MB limit of a transaction."""
        return stored_size(self.item) + sum(map(value_size, self.expressions.values.values()))

    def outcome(self) -> Stored | None:
        """Return the item that would be stored. Raise if the condition is false or the item is invalid."""
        old = self.table.rows.get(self.key)
        if not self.expressions.hold_for(item_of(old)):
            shown = encode_item(old.item) if self.return_old and old else None
            raise ConditionFailed(shown)
        if self.kind == "Delete":
            return None
        if self.kind == "ConditionCheck":
            return old
        if self.kind == "Put":
            for index in self.table.schema.indexes.values():
                index.check_item(self.item)
            return Stored(self.item, self.size)
        return self._updated(old)

    def _updated(self, old: Stored | None) -> Stored:
        update = self.expressions.update
        if update is None:
            return old or Stored(self.item, self.size)
        schema = self.table.schema
        for name in update.touched.keys() & self.item.keys():
            raise InvalidForItem(
                "One or more parameter values were invalid: Cannot update attribute "
                f"{name}. This attribute is part of the key"
            )
        before: Item = old.item if old else {}
        after = update.apply(before, self.expressions.values)
        if old is None:
            after.update(self.item)
        stored = Stored(after, (old.bound if old else 0) + self.payload + update.name_bytes)
        if stored.bound > ITEM_LIMIT:
            stored.bound = stored.size
            if stored.size > ITEM_LIMIT:
                raise InvalidForItem(UPDATED_ITEM_TOO_LARGE)
        if not schema.index_attributes.isdisjoint(update.touched):
            for index in schema.indexes.values():
                index.check_item(after)
        return stored


def read_write(kind: str, table: Table, request: Mapping[str, Any]) -> Write:
    """Check a write to a table. ``kind`` is the name of the action in TransactWriteItems."""
    return_old = request.get("ReturnValuesOnConditionCheckFailure", "NONE") == "ALL_OLD"
    if kind == "Put":
        item = decode_item(request["Item"])
        table.schema.key.check_item(item)
    else:
        item = table.schema.key.read_key(request["Key"])
    size = sum(len(name) * LARGEST_CHARACTER + size_bound(value) for name, value in item.items())
    if size > ITEM_LIMIT:
        size = stored_size(item)
        if size > ITEM_LIMIT:
            raise Invalid(ITEM_TOO_LARGE)
    expressions = read_expressions(request, _UPDATE if kind == "Update" else _CONDITION)
    payload = size + sum(map(size_bound, expressions.values.values()))
    key = table.schema.key.of(item)
    return Write(kind, table, key, item, size, payload, expressions, return_old)
