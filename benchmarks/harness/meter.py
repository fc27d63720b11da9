"""A client that counts what every request would cost on DynamoDB, by the published rules.

It wraps an engine, and looks at the items before and after each write. Nobody else may write them meanwhile. The
engine's own figures do not go into the count.

A failed condition, and every action of a cancelled transaction, costs as much as the larger of the current item and the
item to be put, and nothing in the indexes. A cancelled transaction counts for both of its rounds; the documentation
does not say whether DynamoDB charges both.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, TypeVar

from botocore.exceptions import ClientError

from tests.support.dynamodb.items import Item, item_size, same_item, stored_size
from tests.support.dynamodb.table import IndexSchema, Stored, Table

Answer = dict[str, Any]
Target = tuple[str, str]
Name = TypeVar("Name")
READ_BYTES: Final = 4096
WRITE_BYTES: Final = 1024
TRANSACTIONAL: Final = 2
_PAID_FAILURES: Final = {"ConditionalCheckFailedException", "TransactionCanceledException"}


@dataclass(frozen=True, slots=True)
class Units:
    """Read units, write units and round trips."""

    read: float = 0.0
    write: float = 0.0
    round_trips: int = 0

    def __add__(self, other: "Units") -> "Units":
        return Units(self.read + other.read, self.write + other.write, self.round_trips + other.round_trips)

    def __sub__(self, other: "Units") -> "Units":
        return Units(self.read - other.read, self.write - other.write, self.round_trips - other.round_trips)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The counts up to a moment; the difference of two snapshots has the counts between them.

    `operations` has units by name (`BatchGetItem`). `targets` has units by partition key in a table (`Rankings`) or an
    index (`Rankings/places`).
    """

    operations: Mapping[str, Units]
    targets: Mapping[Target, Units]

    @property
    def total(self) -> Units:
        return sum(self.operations.values(), Units())

    @property
    def tables(self) -> dict[str, Units]:
        """The sums by table and by index, without round trips."""
        sums: dict[str, Units] = defaultdict(Units)
        for (table, _), units in self.targets.items():
            sums[table] += units
        return dict(sums)

    def __sub__(self, earlier: "Snapshot") -> "Snapshot":
        return Snapshot(_difference(self.operations, earlier.operations), _difference(self.targets, earlier.targets))


def _difference(later: Mapping[Name, Units], earlier: Mapping[Name, Units]) -> dict[Name, Units]:
    differences = {name: units - earlier.get(name, Units()) for name, units in later.items()}
    return {name: units for name, units in differences.items() if units != Units()}


class Meter:
    """Wraps an engine and counts; operations that it does not know pass through uncounted. Threads may share it."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._operations: dict[str, Units] = defaultdict(Units)
        self._targets: dict[Target, Units] = defaultdict(Units)
        self._counting = Lock()  # `+=` reads, adds and writes: without it, what another thread adds meanwhile is lost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def snapshot(self) -> Snapshot:
        """Return the counts so far; subtract an earlier snapshot for the counts since."""
        return Snapshot(dict(self._operations), dict(self._targets))

    def requests(self, operation: str) -> int:
        """Return how many requests of a kind (`TransactWriteItems`) were sent so far."""
        return self._operations[operation].round_trips

    def get_item(self, **request: Any) -> Answer:
        answer = self._call("GetItem", self._client.get_item, request)
        consistent = request.get("ConsistentRead", False)
        self._count_read("GetItem", request["TableName"], request["Key"], consistent=consistent)
        return answer

    def batch_get_item(self, **request: Any) -> Answer:
        answer = self._call("BatchGetItem", self._client.batch_get_item, request)
        for table, part in request["RequestItems"].items():
            left = answer["UnprocessedKeys"].get(table, {}).get("Keys", [])
            for key in part["Keys"]:
                if key not in left:
                    self._count_read("BatchGetItem", table, key, consistent=part.get("ConsistentRead", False))
        return answer

    def transact_get_items(self, **request: Any) -> Answer:
        answer = self._call("TransactGetItems", self._client.transact_get_items, request)
        for get in (action["Get"] for action in request["TransactItems"]):
            self._count_read("TransactGetItems", get["TableName"], get["Key"], consistent=True, factor=TRANSACTIONAL)
        return answer

    def query(self, **request: Any) -> Answer:
        answer = self._call("Query", self._client.query, request)
        table, index = request["TableName"], request.get("IndexName")
        schema = self._client.table(table).schema
        partition = _partition_of((schema.indexes[index] if index else schema).key.hash, request)
        rows = answer.get("Items", [])
        if "Select" in request and answer["ScannedCount"]:  # It only counted these rows
            whole = {name: value for name, value in request.items() if name != "Select"}
            rows = self._client.query(**{**whole, "Limit": answer["ScannedCount"]})["Items"]
        units = _read(sum(map(item_size, rows)), consistent=request.get("ConsistentRead", False))
        self._add("Query", (f"{table}/{index}" if index else table, partition), Units(read=units))
        return answer

    def put_item(self, **request: Any) -> Answer:
        return self._write("PutItem", self._client.put_item, request, [(request["TableName"], request)])

    def update_item(self, **request: Any) -> Answer:
        return self._write("UpdateItem", self._client.update_item, request, [(request["TableName"], request)])

    def delete_item(self, **request: Any) -> Answer:
        return self._write("DeleteItem", self._client.delete_item, request, [(request["TableName"], request)])

    def batch_write_item(self, **request: Any) -> Answer:
        parts = request["RequestItems"].items()
        actions = [(table, action) for table, entries in parts for entry in entries for action in entry.values()]
        return self._write("BatchWriteItem", self._client.batch_write_item, request, actions)

    def transact_write_items(self, **request: Any) -> Answer:
        actions = [(action["TableName"], action) for entry in request["TransactItems"] for action in entry.values()]
        return self._write(
            "TransactWriteItems", self._client.transact_write_items, request, actions, factor=TRANSACTIONAL
        )

    def _write(
        self,
        operation: str,
        method: Callable[..., Any],
        request: dict[str, Any],
        actions: Iterable[tuple[str, Mapping[str, Any]]],
        factor: int = 1,
    ) -> Answer:
        writes = [_Item(self._client.table(table), action, factor) for table, action in actions]
        try:
            answer = self._call(operation, method, request)
        except ClientError as error:
            if error.response["Error"]["Code"] in _PAID_FAILURES:
                for write in writes:
                    put = item_size(write.action["Item"]) if "Item" in write.action else 0
                    self._add(operation, write.target, write.units(put))
            raise
        left = answer.get("UnprocessedItems", {}).values()
        undone = [action for entries in left for entry in entries for action in entry.values()]
        for write in writes:
            if write.action not in undone:
                new = write.now()
                self._add(operation, write.target, write.units(new.size if new else 0))
                for index in write.table.schema.indexes.values():
                    self._count_entry(operation, write, index, new)
        return answer

    def _count_entry(self, operation: str, write: "_Item", index: IndexSchema, new: Stored | None) -> None:
        old_entry, new_entry = _entry(index, write.before), _entry(index, new)
        if entry := new_entry or old_entry:
            target = f"{write.table.schema.name}/{index.name}", entry[index.key.hash]
            self._add(operation, target, Units(write=_index_units(index, old_entry, new_entry)))

    def _count_read(
        self, operation: str, table: str, key: Mapping[str, Any], *, consistent: bool, factor: int = 1
    ) -> None:
        found = _Item(self._client.table(table), {"Key": key}, factor)
        units = factor * _read(found.before.size if found.before else 0, consistent=consistent)
        self._add(operation, found.target, Units(read=units))

    def _call(self, operation: str, method: Callable[..., Any], request: dict[str, Any]) -> Answer:
        self._add(operation, None, Units(round_trips=1))
        answer: Answer = method(**request)
        return answer

    def _add(self, operation: str, target: Target | None, units: Units) -> None:
        with self._counting:
            self._operations[operation] += units
            if target is not None:
                self._targets[target] += units


class _Item:
    """One item that an action reads or writes: as it was before, and as it is by now."""

    def __init__(self, table: Table, action: Mapping[str, Any], factor: int) -> None:
        names, attributes = table.schema.key.names, action.get("Item") or action["Key"]
        self.table = table
        self.action = action
        self._factor = factor
        self._key = tuple(attributes[name]["S"] for name in names)
        self.before = self.now()

    @property
    def target(self) -> Target:
        return self.table.schema.name, self._key[0]

    def now(self) -> Stored | None:
        return self.table.rows.get(self._key)

    def units(self, size: int) -> Units:
        """Return the units of a write after which the item has this size."""
        larger = max(size, self.before.size if self.before else 0)
        return Units(write=self._factor * _written(larger))


def _read(size: int, *, consistent: bool) -> float:
    """Return the units of one read of so many bytes; a missing item has 0."""
    units = max(1, -(-size // READ_BYTES))
    return float(units) if consistent else units / 2


def _written(size: int) -> float:
    """Return the units of one write; `size` is the larger of the item before and after it."""
    return float(max(1, -(-size // WRITE_BYTES)))


def _entry(index: IndexSchema, stored: Stored | None) -> Item | None:
    """Return the entry that an index has for an item, None if it has none."""
    return index.project(stored.item) if stored is not None and index.key.is_in(stored.item) else None


def _index_units(index: IndexSchema, old: Item | None, new: Item | None) -> float:
    """Return the units that a write of the table costs in an index, in a transaction or not.

    - A new or a removed entry costs one write.
    - An entry whose key changes costs a delete and a put.
    - An entry with another projected attribute costs one write.
    - An entry that stays the same costs nothing.
    """
    sizes = [stored_size(entry) for entry in (old, new) if entry is not None]
    if old is not None and new is not None and index.key.of(old) == index.key.of(new):
        return 0.0 if same_item(old, new) else _written(max(sizes))
    return sum(map(_written, sizes))


def _partition_of(name: str, request: Mapping[str, Any]) -> str:
    """Return the value that a Query has for the partition key `name`."""
    if placeholder := re.search(rf"\b{name} = (:\w+)", request["KeyConditionExpression"]):
        value: str = request["ExpressionAttributeValues"][placeholder[1]]["S"]
        return value
    raise ValueError(f"expected `{name} = :value`, got {request['KeyConditionExpression']!r}")
