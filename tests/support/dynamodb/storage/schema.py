"""The definition of a table, and the rules of its keys.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from tests.support.dynamodb.api.errors import Invalid, InvalidForItem
from tests.support.dynamodb.storage.sizes import value_size
from tests.support.dynamodb.storage.values import Item, Value, Wire, decode_item, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_HASH_LENGTH: Final = 2048
MAX_RANGE_LENGTH: Final = 1024
SHORT: Final = MAX_RANGE_LENGTH // 4
"""A text of at most this many characters fits into any key: UTF-8 takes at most 4 bytes per character."""
_PYTHON_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "S": (str,),
    "N": (int, Decimal),
    "B": (bytes,),
}
Key = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class KeySchema:
    """The attributes of a key: a hash and perhaps a range."""

    names: tuple[str, ...]
    types: tuple[str, ...]

    @property
    def hash(self) -> str:
        return self.names[0]

    @property
    def range(self) -> str | None:
        return self.names[1] if len(self.names) > 1 else None

    def of(self, item: Mapping[str, Value]) -> Key:
        return tuple(item[name] for name in self.names)

    def is_in(self, item: Mapping[str, Value]) -> bool:
        return all(name in item for name in self.names)

    def check_value(self, place: int, value: Value) -> None:
        """Reject a key value that is empty or too long."""
        if value in {"", b""}:
            raise Invalid(
                "One or more parameter values are not valid. The AttributeValue for a key "
                f"attribute cannot contain an empty string value. Key: {self.names[place]}"
            )
        if value_size(value) > (MAX_RANGE_LENGTH if place else MAX_HASH_LENGTH):
            raise InvalidForItem(
                "One or more parameter values were invalid: Size of hashkey has exceeded the "
                "maximum size limit of 2048 bytes"
                if not place
                else "One or more parameter values were invalid: Aggregated size of all range "
                "keys has exceeded the size limit of 1024 bytes"
            )

    def fits(self, place: int, value: Value) -> bool:
        return type(value) in _PYTHON_TYPES[self.types[place]]

    def read_key(self, wire: Mapping[str, Wire]) -> Item:
        """Decode a key. It must have exactly the attributes of this schema."""
        item = decode_item(wire)
        if len(item) == len(self.names) and all(
            type(value := item.get(name)) is str and kind == "S" and 0 < len(value) <= SHORT
            for name, kind in zip(self.names, self.types, strict=True)
        ):
            return item
        if len(item) != len(self.names) or not self.is_in(item):
            raise Invalid("The provided key element does not match the schema")
        for place, name in enumerate(self.names):
            if not self.fits(place, item[name]):
                raise Invalid("The provided key element does not match the schema")
            self.check_value(place, item[name])
        return item

    def check_item(self, item: Item) -> None:
        """Reject an item without a valid key."""
        for place, name in enumerate(self.names):
            if name not in item:
                raise Invalid(f"One or more parameter values were invalid: Missing the key {name} in the item")
            if not self.fits(place, item[name]):
                raise Invalid(
                    f"One or more parameter values were invalid: Type mismatch for key {name} "
                    f"expected: {self.types[place]} actual: {kind_of(item[name])}"
                )
            self.check_value(place, item[name])


@dataclass(frozen=True, slots=True)
class IndexSchema:
    """A global secondary index. ``projected`` is None if it contains all attributes."""

    name: str
    key: KeySchema
    projected: frozenset[str] | None

    def project(self, item: Item) -> Item:
        if self.projected is None:
            return item
        return {name: value for name, value in item.items() if name in self.projected}

    def check_item(self, item: Item) -> None:
        """Reject an item whose attributes have a wrong type or size for this index. The attributes may be missing."""
        for place, name in enumerate(self.key.names):
            if name not in item:
                continue
            value = item[name]
            if not self.key.fits(place, value):
                raise InvalidForItem(
                    f"One or more parameter values were invalid: Type mismatch for Index Key {name}"
                    f" Expected: {self.key.types[place]} Actual: {kind_of(value)}"
                    f" IndexName: {self.name}"
                )
            if value in {"", b""}:
                raise InvalidForItem(
                    "One or more parameter values are not valid. A value specified for a secondary"
                    " index key is not supported. The AttributeValue for a key attribute cannot "
                    f"contain an empty string value. IndexName: {self.name}, IndexKey: {name}"
                )
            if value_size(value) > (MAX_RANGE_LENGTH if place else MAX_HASH_LENGTH):
                raise InvalidForItem(
                    "One or more parameter values were invalid: Size of the index key has exceeded"
                    f" the limit. IndexName: {self.name}, IndexKey: {name}"
                )


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The definition of a table, from CreateTable."""

    name: str
    key: KeySchema
    indexes: dict[str, IndexSchema]
    stream_view: str | None
    index_attributes: frozenset[str]


def _key_schema(definition: list[dict[str, str]], types: Mapping[str, str]) -> KeySchema:
    by_type: dict[str, list[str]] = {"HASH": [], "RANGE": []}
    for part in definition:
        by_type[part["KeyType"]].append(part["AttributeName"])
    if len(by_type["HASH"]) != 1 or len(by_type["RANGE"]) > 1:
        raise NotImplementedError(f"expected one hash and at most one range in a key, got {definition}")
    names = (*by_type["HASH"], *by_type["RANGE"])
    missing = [name for name in names if name not in types]
    if missing:
        raise Invalid(
            "One or more parameter values were invalid: Some index key attributes are not defined "
            f"in AttributeDefinitions. Keys: {missing}"
        )
    return KeySchema(names, tuple(types[name] for name in names))


def read_schema(request: Mapping[str, Any]) -> TableSchema:
    """Read the arguments of CreateTable."""
    types = {entry["AttributeName"]: entry["AttributeType"] for entry in request["AttributeDefinitions"]}
    if request.get("LocalSecondaryIndexes"):
        raise NotImplementedError("expected no LocalSecondaryIndexes: the engine does not have them")
    key = _key_schema(request["KeySchema"], types)
    indexes: dict[str, IndexSchema] = {}
    for entry in request.get("GlobalSecondaryIndexes") or ():
        index_key = _key_schema(entry["KeySchema"], types)
        projection = entry["Projection"]
        projected = (
            None
            if projection["ProjectionType"] == "ALL"
            else frozenset({*key.names, *index_key.names, *projection.get("NonKeyAttributes", ())})
        )
        indexes[entry["IndexName"]] = IndexSchema(entry["IndexName"], index_key, projected)
    used = {*key.names, *(name for index in indexes.values() for name in index.key.names)}
    if used != types.keys():
        raise Invalid(
            "One or more parameter values were invalid: Number of attributes in KeySchema does "
            "not exactly match number of attributes defined in AttributeDefinitions"
        )
    stream = request.get("StreamSpecification") or {}
    return TableSchema(
        name=request["TableName"],
        key=key,
        indexes=indexes,
        stream_view=stream["StreamViewType"] if stream.get("StreamEnabled") else None,
        index_attributes=frozenset(name for index in indexes.values() for name in index.key.names),
    )
