"""A client that counts what every request would cost on DynamoDB.

It wraps an engine or a botocore client. It counts by the published rules and ignores the consumed capacity in the
answers: DynamoDB Local counts transactions with an index wrongly, and the engine counts nothing. It reads the items
before and after each write through the same client, uncounted, so it is slow. Nobody else may write them meanwhile.

A failed condition, and every action of a cancelled transaction, costs as much as the larger of the current item and the
item to be put, and nothing in the indexes. A cancelled transaction counts for both of its rounds; the documentation
does not say whether DynamoDB charges both.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar

from botocore.exceptions import ClientError

from benchmarks.harness.capacity_units import TRANSACTIONAL, Item, Units, larger, read, written
from benchmarks.harness.lookup import Key, Lookup, partition_of, text_of
from tests.support.dynamodb.items import item_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Answer = dict[str, Any]
Target = tuple[str, str]
Name = TypeVar("Name")
_PAID_FAILURES: Final = {"ConditionalCheckFailedException", "TransactionCanceledException"}
EVERYWHERE: Final = "*"


def _difference(later: Mapping[Name, Units], earlier: Mapping[Name, Units]) -> dict[Name, Units]:
    differences = {name: units - earlier.get(name, Units()) for name, units in later.items()}
    return {name: units for name, units in differences.items() if units != Units()}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The counts up to a moment; the difference of two snapshots has the counts between them.

    `operations` has units by name (`BatchGetItem`). `targets` has units by partition key (`*` for a Scan) in a table
    (`Rankings`) or an index (`Rankings/places`).
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

    def __sub__(self, earlier: Snapshot) -> Snapshot:
        return Snapshot(_difference(self.operations, earlier.operations), _difference(self.targets, earlier.targets))


@dataclass(frozen=True, slots=True)
class _Write:
    """One write of one item: the item that it puts (None for an update or delete), and the item before it."""

    table: str
    key: Key
    put: Item | None
    factor: int
    before: Item | None = None


class Meter:
    """Wraps `client` and counts; operations that it does not know pass through uncounted. Threads may share it."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lookup = Lookup(client)
        self._operations: dict[str, Units] = defaultdict(Units)
        self._targets: dict[Target, Units] = defaultdict(Units)
        self._counting = Lock()  # `+=` reads, adds and writes: without it, what another thread adds meanwhile is lost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def snapshot(self) -> Snapshot:
        """Return the counts so far; subtract an earlier snapshot for the counts since."""
        return Snapshot(dict(self._operations), dict(self._targets))

    def get_item(self, **request: Any) -> Answer:
        answer = self._call("GetItem", self._client.get_item, request)
        units = read(larger(answer.get("Item")), consistent=request.get("ConsistentRead", False))
        self._count("GetItem", request["TableName"], request["Key"], Units(read=units))
        return answer

    def batch_get_item(self, **request: Any) -> Answer:
        answer = self._call("BatchGetItem", self._client.batch_get_item, request)
        for table, part in request["RequestItems"].items():
            left = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            keys = [key for key in part["Keys"] if key not in left]
            items = self._lookup.by_identity(table, answer["Responses"].get(table, []))
            for key in keys:
                size = larger(items.get(self._lookup.identity(table, key)))
                units = read(size, consistent=part.get("ConsistentRead", False))
                self._count("BatchGetItem", table, key, Units(read=units))
        return answer

    def transact_get_items(self, **request: Any) -> Answer:
        answer = self._call("TransactGetItems", self._client.transact_get_items, request)
        for action, response in zip(request["TransactItems"], answer["Responses"], strict=True):
            get = action["Get"]
            units = TRANSACTIONAL * read(larger(response.get("Item")), consistent=True)
            self._count("TransactGetItems", get["TableName"], get["Key"], Units(read=units))
        return answer

    def query(self, **request: Any) -> Answer:
        table, index = request["TableName"], request.get("IndexName")
        schema = self._lookup.schema(table)
        name = (schema.index(index).key if index else schema.key)[0]
        return self._page("Query", self._client.query, request, partition_of(name, request))

    def scan(self, **request: Any) -> Answer:
        return self._page("Scan", self._client.scan, request, EVERYWHERE)

    def put_item(self, **request: Any) -> Answer:
        return self._single("PutItem", self._client.put_item, request)

    def update_item(self, **request: Any) -> Answer:
        return self._single("UpdateItem", self._client.update_item, request)

    def delete_item(self, **request: Any) -> Answer:
        return self._single("DeleteItem", self._client.delete_item, request)

    def batch_write_item(self, **request: Any) -> Answer:
        writes = [
            self._read_write(table, entry.get("PutRequest") or entry["DeleteRequest"], 1)
            for table, entries in request["RequestItems"].items()
            for entry in entries
        ]
        return self._write("BatchWriteItem", self._client.batch_write_item, request, writes)

    def transact_write_items(self, **request: Any) -> Answer:
        actions = [action for entry in request["TransactItems"] for action in entry.values()]
        writes = [self._read_write(action["TableName"], action, TRANSACTIONAL) for action in actions]
        return self._write("TransactWriteItems", self._client.transact_write_items, request, writes)

    def _page(self, operation: str, method: Callable[..., Any], request: dict[str, Any], partition: str) -> Answer:
        answer = self._call(operation, method, request)
        rows = self._lookup.rows_read(method, request, answer)
        units = read(sum(map(item_size, rows)), consistent=request.get("ConsistentRead", False))
        table = request["TableName"]
        place = f"{table}/{request['IndexName']}" if "IndexName" in request else table
        self._add(operation, (place, partition), Units(read=units))
        return answer

    def _single(self, operation: str, method: Callable[..., Any], request: dict[str, Any]) -> Answer:
        return self._write(operation, method, request, [self._read_write(request["TableName"], request, 1)])

    def _read_write(self, table: str, action: Mapping[str, Any], factor: int) -> _Write:
        put = action.get("Item")
        return _Write(table, action["Key"] if put is None else self._lookup.key(table, put), put, factor)

    def _write(
        self, operation: str, method: Callable[..., Any], request: dict[str, Any], writes: Iterable[_Write]
    ) -> Answer:
        before = self._with_items(writes)
        try:
            answer = self._call(operation, method, request)
        except ClientError as error:
            if error.response["Error"]["Code"] in _PAID_FAILURES:
                for write in before:
                    self._charge(operation, write, write.put)
            raise
        self._charge_done(operation, before, answer.get("UnprocessedItems", {}))
        return answer

    def _with_items(self, writes: Iterable[_Write]) -> list[_Write]:
        listed = list(writes)
        try:
            items = self._lookup.items((write.table, write.key) for write in listed)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ValidationException":
                raise
            return listed  # the write will fail with the same error
        return [replace(write, before=items.get(self._identity(write))) for write in listed]

    def _charge_done(self, operation: str, writes: list[_Write], undone: Mapping[str, list[Any]]) -> None:
        left = {
            self._identity(self._read_write(table, entry.get("PutRequest") or entry["DeleteRequest"], 1))
            for table, entries in undone.items()
            for entry in entries
        }
        done = [write for write in writes if self._identity(write) not in left]
        after = self._lookup.items((write.table, write.key) for write in done)
        for write in done:
            new = after.get(self._identity(write))
            self._charge(operation, write, new)
            for index in self._lookup.schema(write.table).indexes:
                entry = index.entry(new) or index.entry(write.before)
                if entry is not None:
                    target = f"{write.table}/{index.name}", text_of(entry[index.key[0]])
                    self._add(operation, target, Units(write=index.write_units(write.before, new)))

    def _charge(self, operation: str, write: _Write, new: Item | None) -> None:
        units = write.factor * written(larger(write.before, new))
        self._count(operation, write.table, write.key, Units(write=units))

    def _identity(self, write: _Write) -> tuple[str, ...]:
        return self._lookup.identity(write.table, write.key)

    def _call(self, operation: str, method: Callable[..., Any], request: dict[str, Any]) -> Answer:
        self._add(operation, None, Units(round_trips=1))
        answer: Answer = method(**request)
        self._add(operation, None, Units(round_trips=answer.get("ResponseMetadata", {}).get("RetryAttempts", 0)))
        return answer

    def _count(self, operation: str, table: str, key: Key, units: Units) -> None:
        self._add(operation, (table, text_of(key[self._lookup.schema(table).key[0]])), units)

    def _add(self, operation: str, target: Target | None, units: Units) -> None:
        with self._counting:
            self._operations[operation] += units
            if target is not None:
                self._targets[target] += units
