"""The reads of a meter: definitions of tables, and items before and after a write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness.capacity_units import Item, Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Key = dict[str, Any]
Identity = tuple[str, ...]
_BATCH: Final = 100


def text_of(value: Mapping[str, Any]) -> str:
    ((_, plain),) = value.items()
    return plain if isinstance(plain, str) else repr(plain)


class Lookup:
    """Reads through a client; nothing is counted."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._schemas: dict[str, Schema] = {}

    def schema(self, table: str) -> Schema:
        if table not in self._schemas:
            self._schemas[table] = Schema.of(self._client.describe_table(TableName=table)["Table"])
        return self._schemas[table]

    def identity(self, table: str, item: Item) -> Identity:
        """Return the table and the key of an item, or of a key, as a tuple."""
        return (table, *(text_of(item[name]) for name in self.schema(table).key))

    def key(self, table: str, item: Item) -> Key:
        return {name: item[name] for name in self.schema(table).key}

    def by_identity(self, table: str, items: Iterable[Item]) -> dict[Identity, Item]:
        return {self.identity(table, item): item for item in items}

    def item(self, table: str, key: Key) -> Item | None:
        item: Item | None = self._client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
        return item

    def items(self, targets: Iterable[tuple[str, Key]]) -> dict[Identity, Item]:
        by_identity: dict[Identity, Item] = {}
        keys = list({self.identity(table, key): (table, key) for table, key in targets}.values())
        for start in range(0, len(keys), _BATCH):
            request: dict[str, Any] = {}
            for table, key in keys[start : start + _BATCH]:
                request.setdefault(table, {"Keys": [], "ConsistentRead": True})["Keys"].append(key)
            while request:
                answer = self._client.batch_get_item(RequestItems=request)
                for table, items in answer["Responses"].items():
                    by_identity |= self.by_identity(table, items)
                request = answer.get("UnprocessedKeys", {})
        return by_identity

    def rows_read(
        self, method: Callable[..., Any], request: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> list[Item]:
        """Return the rows that a page was made from, also if it only counts them."""
        whole = {name: value for name, value in request.items() if name != "Select"}
        if "Select" in request and answer["ScannedCount"]:
            answer = method(**{**whole, "Limit": answer["ScannedCount"]})
        items: list[Item] = answer.get("Items", [])
        return items


def partition_of(name: str, request: Mapping[str, Any]) -> str:
    """Return the value that a Query has for the partition key `name`."""
    if placeholder := re.search(rf"\b{name} = (:\w+)", request["KeyConditionExpression"]):
        return text_of(request["ExpressionAttributeValues"][placeholder[1]])
    raise ValueError(f"expected `{name} = :value`, got {request['KeyConditionExpression']!r}")
