"""Read and write units of one item, by DynamoDB's published rules.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.support.dynamodb.items import item_size

if TYPE_CHECKING:
    from collections.abc import Mapping

READ_BYTES: Final = 4096
WRITE_BYTES: Final = 1024
TRANSACTIONAL: Final = 2

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Units:
    """Read units, write units and round trips."""

    read: float = 0.0
    write: float = 0.0
    round_trips: int = 0

    def __add__(self, other: Units) -> Units:
        return Units(self.read + other.read, self.write + other.write, self.round_trips + other.round_trips)

    def __sub__(self, other: Units) -> Units:
        return Units(self.read - other.read, self.write - other.write, self.round_trips - other.round_trips)


@dataclass(frozen=True, slots=True)
class Index:
    """A global secondary index: its key, and the attributes that it projects (None: all)."""

    name: str
    key: tuple[str, ...]
    projected: frozenset[str] | None

    def entry(self, item: Item | None) -> Item | None:
        """Return the entry that the index has for an item, None if it has none."""
        if item is None or not all(name in item for name in self.key):
            return None
        if self.projected is None:
            return item
        return {name: value for name, value in item.items() if name in self.projected}

    def write_units(self, before: Item | None, after: Item | None) -> float:
        """Return the units that a write of the table costs in this index, in a transaction or not.

        - A new or a removed entry costs one write.
        - An entry whose key changes costs a delete and a put.
        - An entry with another projected attribute costs one write.
        - An entry that stays the same costs nothing.
        """
        old, new = self.entry(before), self.entry(after)
        if old is None or new is None:
            present = new if old is None else old
            return 0.0 if present is None else written(item_size(present))
        if any(old[name] != new[name] for name in self.key):
            return written(item_size(old)) + written(item_size(new))
        return 0.0 if old == new else written(max(item_size(old), item_size(new)))


@dataclass(frozen=True, slots=True)
class Schema:
    """The key of a table and its indexes."""

    key: tuple[str, ...]
    indexes: tuple[Index, ...]

    @staticmethod
    def of(description: Mapping[str, Any]) -> Schema:
        key = _key_names(description["KeySchema"])
        indexes = []
        for index in description.get("GlobalSecondaryIndexes", ()):
            index_key = _key_names(index["KeySchema"])
            projection = index["Projection"]
            projected = frozenset({*key, *index_key, *projection.get("NonKeyAttributes", ())})
            everything = projection["ProjectionType"] == "ALL"
            indexes.append(Index(index["IndexName"], index_key, None if everything else projected))
        return Schema(key, tuple(indexes))

    def index(self, name: str) -> Index:
        return next(index for index in self.indexes if index.name == name)


def _key_names(key_schema: list[dict[str, str]]) -> tuple[str, ...]:
    ordered = sorted(key_schema, key=lambda part: part["KeyType"] != "HASH")
    return tuple(part["AttributeName"] for part in ordered)


def read(size: int, *, consistent: bool) -> float:
    """Return the units of one read of so many bytes; a missing item has 0."""
    units = max(1, -(-size // READ_BYTES))
    return float(units) if consistent else units / 2


def written(size: int) -> float:
    """Return the units of one write; `size` is the larger of the item before and after it."""
    return float(max(1, -(-size // WRITE_BYTES)))


def larger(*items: Item | None) -> int:
    """Return the size of the largest of these items, 0 if all are None."""
    return max((item_size(item) for item in items if item is not None), default=0)
