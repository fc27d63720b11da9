"""A stored table: the rules of its keys, its rows in order, its indexes and its stream, writes of items, pages of rows.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import total_ordering
from typing import Any, Final

from sortedcontainers import SortedList  # type: ignore[import-untyped]  # no type stubs

from tests.support.dynamodb.errors import (
    ITEM_TOO_LARGE,
    UPDATED_ITEM_TOO_LARGE,
    ConditionFailed,
    Invalid,
    InvalidForItem,
)
from tests.support.dynamodb.expressions import Expressions, Junction, Node, Test, Values, read_expressions
from tests.support.dynamodb.items import (
    ITEM_LIMIT,
    Item,
    Value,
    Wire,
    decode_item,
    encode,
    encode_item,
    json_value,
    read_units,
    same_item,
    stored_size,
    value_size,
)

LONGEST_KEY: Final = (2048, 1024)
"""The bytes of a hash and of a range at most."""
Key = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class KeySchema:
    """The attributes of a key: a hash and perhaps a range. All of them are texts."""

    names: tuple[str, ...]

    @property
    def hash(self) -> str:
        return self.names[0]

    @property
    def range(self) -> str | None:
        return self.names[1] if len(self.names) > 1 else None

    def of(self, item: Mapping[str, Value]) -> Key:
        return tuple([item[name] for name in self.names])

    def is_in(self, item: Mapping[str, Value]) -> bool:
        return all(name in item for name in self.names)

    @staticmethod
    def fits(place: int, value: Value) -> bool:
        """Whether a value is a text that is neither empty nor too long."""
        return type(value) is str and 0 < value_size(value) <= LONGEST_KEY[place]

    def read_key(self, wire: Mapping[str, Wire]) -> Item:
        """Decode a key. It must have exactly the attributes of this schema."""
        item = decode_item(wire)
        if len(item) != len(self.names):
            raise Invalid("The provided key element does not match the schema")
        self.check_item(item)
        return item

    def check_item(self, item: Item) -> None:
        for place, name in enumerate(self.names):
            if not self.fits(place, item.get(name)):
                raise Invalid(f"The key {name} is missing, no text, empty, or exceeds the size limit")


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
            if name in item and not self.key.fits(place, item[name]):
                raise InvalidForItem(f"The key {name} of the index {self.name} is no text, empty, or too long")


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The definition of a table, from CreateTable."""

    name: str
    key: KeySchema
    indexes: dict[str, IndexSchema]
    streams: bool
    index_attributes: frozenset[str]


def _key_schema(definition: list[dict[str, str]]) -> KeySchema:
    if [part["KeyType"] for part in definition] not in (["HASH"], ["HASH", "RANGE"]):
        raise NotImplementedError(f"expected one hash and at most one range in a key, got {definition}")
    return KeySchema(tuple(part["AttributeName"] for part in definition))


def read_schema(request: Mapping[str, Any]) -> TableSchema:
    key = _key_schema(request["KeySchema"])
    indexes: dict[str, IndexSchema] = {}
    for entry in request.get("GlobalSecondaryIndexes") or ():
        index_key, projection = _key_schema(entry["KeySchema"]), entry["Projection"]
        projected = frozenset({*key.names, *index_key.names, *projection.get("NonKeyAttributes", ())})
        everything = projection["ProjectionType"] == "ALL"
        indexes[entry["IndexName"]] = IndexSchema(entry["IndexName"], index_key, None if everything else projected)
    index_attributes = frozenset(name for index in indexes.values() for name in index.key.names)
    types = {entry["AttributeName"]: entry["AttributeType"] for entry in request["AttributeDefinitions"]}
    if types.keys() != {*key.names, *index_attributes}:
        raise Invalid("AttributeDefinitions must be of the attributes of all keys, and of no others")
    stream = request.get("StreamSpecification") or {}
    if {*types.values()} != {"S"} or stream.get("StreamViewType", _VIEW) != _VIEW:
        raise NotImplementedError(f"the engine has keys of texts only, and streams with {_VIEW} only")
    return TableSchema(request["TableName"], key, indexes, bool(stream.get("StreamEnabled")), index_attributes)


# The stream -----------------------------------------------------------------------------------------------------------

_FIRST: Final = 10**24
_NEAR_THE_EDGE: Final = 3
_VIEW: Final = "NEW_AND_OLD_IMAGES"
SERVICE: Final = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one item. The images are never modified."""

    number: int
    at: int
    old: Item | None
    new: Item | None
    by_service: bool


def _json_item(item: Item) -> dict[str, Any]:
    return {name: json_value(encode(value)) for name, value in item.items()}


class Shard(Sequence[dict[str, Any]]):
    """The records of one shard. Each read builds the records again.

    Sequence numbers are texts that must be compared as numbers, and only within a shard. In each shard they begin just
    below a power of ten, so code that compares them as texts fails soon.
    """

    def __init__(self, schema: TableSchema, arn: str, region: str, place: int) -> None:
        self.shard_id = f"shardId-{place:020d}-{zlib.crc32(arn.encode()):08x}"
        self._schema = schema
        self._arn = arn
        self._region = region
        self._place = place
        self._next = _FIRST * 10 ** (place % 4) - _NEAR_THE_EDGE
        self._changes: list[Change] = []

    def append(self, at: float, old: Item | None, new: Item | None, *, by_service: bool) -> None:
        self._changes.append(Change(self._next, int(at), old, new, by_service))
        self._next += 1

    def __len__(self) -> int:
        return len(self._changes)

    def __getitem__(self, index: Any) -> Any:
        changes = self._changes[index]
        return [self._record(change) for change in changes] if isinstance(changes, list) else self._record(changes)

    def _record(self, change: Change) -> dict[str, Any]:
        either: Any = change.old if change.new is None else change.new
        keys = {name: either[name] for name in self._schema.key.names}
        detail: dict[str, Any] = {
            "ApproximateCreationDateTime": change.at,
            "Keys": _json_item(keys),
            "SequenceNumber": str(change.number),
            "SizeBytes": stored_size(keys),
            "StreamViewType": _VIEW,
        }
        for name, image in (("NewImage", change.new), ("OldImage", change.old)):
            if image is not None:
                detail[name] = _json_item(image)
                detail["SizeBytes"] += stored_size(image)
        name = "INSERT" if change.old is None else "REMOVE" if change.new is None else "MODIFY"
        record: dict[str, Any] = {
            "eventID": f"{self._place:08x}{change.number:024x}"[-32:],
            "eventName": name,
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": self._region,
            "dynamodb": detail,
            "eventSourceARN": self._arn,
        }
        return {**record, "userIdentity": dict(SERVICE)} if change.by_service else record


# Rows and indexes -----------------------------------------------------------------------------------------------------

Place = tuple[Value, ...]
Written = Callable[[str, Item | None, Item | None], None]


class Stored:
    """An item and its size, which is computed on its first use. Writes never modify the item: they store a new one."""

    __slots__ = ("_size", "item")

    def __init__(self, item: Item) -> None:
        self.item: Final = item
        self._size = -1

    @property
    def size(self) -> int:
        if self._size < 0:
            self._size = stored_size(self.item)
        return self._size


_ALONE: Final[SortedList[Place]] = SortedList([()])


def item_of(stored: Stored | None) -> Item | None:
    return None if stored is None else stored.item


class Ordered:
    """The rows of a table or index, by hash key and then by ``Place``.

    A place begins with the range value, if there is one. No two rows of a hash key have the same place.
    """

    def __init__(self, key: KeySchema) -> None:
        self.key = key
        self._partitions: dict[Value, SortedList[Place]] = {}

    def add(self, value: Value, *places: Place) -> None:
        partition = self._partitions.get(value)
        if partition is None:
            self._partitions[value] = SortedList(places) if places != ((),) else _ALONE
        elif len(places) == 1:
            partition.add(places[0])
        else:
            partition.update(places)

    def remove(self, value: Value, place: Place) -> None:
        partition = self._partitions[value]
        if place:
            partition.remove(place)
        if not place or not partition:
            del self._partitions[value]

    def partition(self, value: Value) -> SortedList[Place]:
        return self._partitions.get(value) or SortedList()

    def row(self, value: Value, place: Place) -> Stored:
        raise NotImplementedError

    def place_of(self, item: Item) -> Place:
        """Return the place of an item. A key will do if it has all attributes of the place."""
        raise NotImplementedError


class Index(Ordered):
    """A global secondary index.

    A write only marks the row that it changes. A read of the index first brings in the marked rows, so many writes of
    one row cost one move.

    ``behind`` is how many seconds of ``clock`` a write waits before reads of the index see it. As long as it is being
    built (``is_built``), it cannot be read.
    """

    def __init__(self, schema: IndexSchema, table: "Table") -> None:
        super().__init__(schema.key)
        self.schema = schema
        self._table = table
        self._marked: dict[Key, float] = {}
        self._entries: dict[Key, Stored] = {}
        self.behind = 0.0
        self.is_built = True
        self.clock = table.clock

    @property
    def is_behind(self) -> bool:
        self.bring_in()
        return bool(self._marked)

    def mark(self, key: Key) -> None:
        self._marked.setdefault(key, self.clock() if self.behind else 0.0)

    def bring_in(self) -> None:
        added: dict[Value, list[Place]] = {}
        until = self.clock() - self.behind
        due = [key for key, at in self._marked.items() if not self.behind or at <= until]
        for key in due:
            del self._marked[key]
            stored = self._table.rows.get(key)
            new = stored.item if stored and self.key.is_in(stored.item) else None
            old = item_of(self._entries.get(key))
            if old is not None and (new is None or self.key.of(old) != self.key.of(new)):
                self.remove(old[self.key.hash], self.place_of(old))
            if new is not None and (old is None or self.key.of(old) != self.key.of(new)):
                added.setdefault(new[self.key.hash], []).append(self.place_of(new))
            if new is None:
                self._entries.pop(key, None)
            else:
                self._entries[key] = Stored(self.schema.project(new))
        for value, places in added.items():
            self.add(value, *places)

    def place_of(self, item: Item) -> Place:
        key = self._table.schema.key.of(item)
        return key if self.key.range is None else (item[self.key.range], *key)

    def row(self, value: Value, place: Place) -> Stored:
        del value  # the place alone identifies the item
        return self._entries[place if self.key.range is None else place[1:]]


class Table(Ordered):
    """One table. Only ``write`` changes its rows."""

    def __init__(
        self,
        schema: TableSchema,
        description: dict[str, Any],
        clock: Callable[[], float],
        written: Sequence[Written] = (),
    ) -> None:
        super().__init__(schema.key)
        self._written = written
        self.clock: Final = clock
        self.schema: Final = schema
        self.description = description
        self.rows: dict[Key, Stored] = {}
        self.indexes = {name: Index(index, self) for name, index in schema.indexes.items()}
        self.shards: list[Shard] = []
        self._shard_of: dict[Value, Shard] = {}
        self.expiry: str | None = None

    def place_of(self, item: Item) -> Place:
        return () if self.key.range is None else (item[self.key.range],)

    def row(self, value: Value, place: Place) -> Stored:
        return self.rows[(value, *place)]

    def write(self, key: Key, new: Stored | None, *, by_service: bool = False) -> None:
        """Store an item under a key, or delete the item under it if ``new`` is None."""
        old = self.rows.get(key)
        if new is None:
            if old is None:
                return
            del self.rows[key]
            self.remove(key[0], key[1:])
        else:
            self.rows[key] = new
            if old is None:
                self.add(key[0], key[1:])
        for index in self.indexes.values():
            index.mark(key)
        before, after = item_of(old), item_of(new)
        if self.shards and not same_item(before, after):
            shard = self._shard_of.get(key[0])
            if shard is None:
                shard = self._shard_of[key[0]] = self.shards[zlib.crc32(repr(key[0]).encode()) % len(self.shards)]
            shard.append(self.clock(), before, after, by_service=by_service)
        for hook in self._written:
            hook(self.schema.name, before, after)


# Writes ---------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Write:
    """One write of one item, after all checks that do not need the stored item."""

    kind: str
    table: Table
    key: Key
    item: Item
    expressions: Expressions
    return_old: bool

    @property
    def identity(self) -> tuple[str, Key]:
        return self.table.schema.name, self.key

    def payload(self) -> int:
        """Return the bytes that count towards the 4 MB limit of a transaction."""
        return stored_size(self.item) + sum(map(value_size, self.expressions.values.values()))

    def outcome(self) -> Stored | None:
        """Return the item that would be stored. Raise if the condition is false or the item is invalid."""
        old = self.table.rows.get(self.key)
        condition = self.expressions.condition
        if condition is not None and not condition(old.item if old else {}, self.expressions.values):
            raise ConditionFailed(encode_item(old.item) if self.return_old and old else None)
        if self.kind == "Update":
            return self._updated(old)
        if self.kind == "ConditionCheck":
            return old
        if self.kind == "Delete":
            return None
        for index in self.table.schema.indexes.values():
            index.check_item(self.item)
        return Stored(self.item)

    def _updated(self, old: Stored | None) -> Stored:
        update = self.expressions.update
        if update is None:
            return old or Stored(self.item)
        schema = self.table.schema
        for name in schema.key.names:
            if name in update.touched:
                raise InvalidForItem(f"Cannot update attribute {name}. This attribute is part of the key")
        after = update.apply(old.item if old else {}, self.expressions.values)
        if old is None:
            after.update(self.item)
        stored = Stored(after)
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
    if stored_size(item) > ITEM_LIMIT:
        raise Invalid(ITEM_TOO_LARGE)
    expressions = read_expressions(request, "ConditionExpression", *(["UpdateExpression"] if kind == "Update" else []))
    return Write(kind, table, table.schema.key.of(item), item, expressions, return_old)


# Key conditions -------------------------------------------------------------------------------------------------------

_OPERATORS: Final = frozenset({"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"})


@total_ordering
class _Above:
    """Greater than every value. With ``prefix``, greater than every value that begins with it."""

    def __init__(self, prefix: str | None = None) -> None:
        self._prefix = prefix

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = object.__hash__

    def __gt__(self, other: Any) -> bool:
        return self._prefix is None or bool(other[: len(self._prefix)] <= self._prefix)


_TOP: Final = _Above()


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """The partition that a Query reads, and the bounds of the places in it: from the first, up to the second."""

    value: Value
    low: Place | None = None
    high: Place | None = None

    def stretch(self, partition: SortedList[Place]) -> tuple[int, int]:
        return (
            0 if self.low is None else partition.bisect_left(self.low),
            len(partition) if self.high is None else partition.bisect_left(self.high),
        )

    def has(self, place: Place) -> bool:
        return (self.low is None or place >= self.low) and (self.high is None or place < self.high)


def _bounds(operator: str, values: list[Value]) -> tuple[Place | None, Place | None]:
    low, high = values[0], values[-1]
    return {
        "BETWEEN": ((low,), (high, _TOP)),
        "begins_with": ((low,), (_Above(low),)),
        "=": ((low,), (low, _TOP)),
        "<": (None, (low,)),
        "<=": (None, (low, _TOP)),
        ">": ((low, _TOP), None),
        ">=": ((low,), None),
    }[operator]


def _key_test(test: Test, key: KeySchema, values: Values) -> tuple[str, str, list[Value]]:
    """Return attribute, operator and values of one part of a key condition."""
    if test.operator not in _OPERATORS:
        raise Invalid(f"Invalid operator used in KeyConditionExpression: {test.operator}")
    if test.name not in key.names:
        raise Invalid("Query condition missed key schema element")
    operands = [values[placeholder] for placeholder in test.values]
    if not all(key.fits(key.names.index(test.name), value) for value in operands):
        raise Invalid(f"The value of {test.name} is no text, empty, or too long")
    if operands[0] > operands[-1]:
        raise Invalid("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
    return test.name, test.operator, operands


def key_condition(node: Node, key: KeySchema, values: Values) -> KeyCondition:
    """Read a KeyConditionExpression and check it against the key of the table or index."""
    parts = node.parts if isinstance(node, Junction) and node.operator == "AND" else (node,)
    tests: dict[str, tuple[str, list[Value]]] = {}
    for part in parts:
        if not isinstance(part, Test):
            raise Invalid("Invalid operator used in KeyConditionExpression: AND, OR or NOT")
        name, operator, operands = _key_test(part, key, values)
        tests[name] = operator, operands
    if len(tests) != len(parts) or tests.get(key.hash, ("", []))[0] != "=":
        raise Invalid("Query condition missed key schema element, or has one twice")
    value = tests.pop(key.hash)[1][0]
    return KeyCondition(value, *(bounds for test in tests.values() for bounds in _bounds(*test)))


# Pages ----------------------------------------------------------------------------------------------------------------

PAGE_BYTES: Final = 1024 * 1024


@dataclass(slots=True)
class Page:
    """The rows that one call reads. It ends after ``limit`` rows, or when the rows exceed 1 MB together.

    After ``limit`` rows there always is a next page, which may be empty.
    """

    limit: int | None
    items: list[Item] = field(default_factory=list)
    last: Item | None = None
    size: int = 0

    def fill(self, rows: Ordered, places: Iterator[tuple[Value, Place]]) -> None:
        for value, place in places:
            stored = rows.row(value, place)
            self.items.append(stored.item)
            self.size += stored.size
            if len(self.items) == self.limit or (self.size > PAGE_BYTES and next(places, None) is not None):
                self.last = stored.item
                return


def _start(request: Mapping[str, Any], table: Table, rows: Ordered) -> Item | None:
    wire = request.get("ExclusiveStartKey")
    if not wire:
        return None
    start = decode_item(wire)
    if start.keys() != {*table.key.names, *rows.key.names}:
        raise Invalid("The provided starting key is invalid")
    return start


def query_rows(
    request: Mapping[str, Any], table: Table, rows: Ordered, expressions: Expressions
) -> Iterator[tuple[Value, Place]]:
    """Yield the rows that a Query reads, in its order, as (hash value, place)."""
    if expressions.keys is None:
        raise Invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    condition = key_condition(expressions.keys, rows.key, expressions.values)
    forward = request.get("ScanIndexForward", True)
    partition = rows.partition(condition.value)
    low, high = condition.stretch(partition)
    start = _start(request, table, rows)
    if start is not None:
        place = rows.place_of(start)
        if start[rows.key.hash] != condition.value or not condition.has(place):
            raise Invalid("The provided starting key does not match the range key predicate")
        # Nothing can follow such a key. In an index it can: other items may have the same place there.
        low_end = condition.low == place and (condition.high is None or condition.high[-1] is _TOP)
        high_end = condition.high == (*place, _TOP)
        if rows is table and low_end != high_end and high_end == forward:
            raise Invalid("The provided starting key is outside query boundaries based on provided conditions")
        if forward:
            low = max(low, partition.bisect_right(place))
        else:
            high = min(high, partition.bisect_left(place))
    for place in partition.islice(low, high, reverse=not forward):
        yield condition.value, place


def read_page(request: Mapping[str, Any], table: Table, expressions: Expressions) -> dict[str, Any]:
    """Answer a Query."""
    rows: Ordered = table
    if "IndexName" in request:
        if request["IndexName"] not in table.indexes or request.get("ConsistentRead"):
            raise Invalid(f"There is no index {request['IndexName']} with consistent reads")
        index = table.indexes[request["IndexName"]]
        if not index.is_built:
            raise Invalid(f"Cannot read from backfilling global secondary index: {index.schema.name}")
        index.bring_in()
        rows = index
    if request.get("Limit", 1) < 1:
        raise Invalid("Limit must be greater than or equal to 1")
    page = Page(request.get("Limit"))
    page.fill(rows, query_rows(request, table, rows, expressions))
    answer: dict[str, Any] = {"Count": len(page.items), "ScannedCount": len(page.items)}
    if request.get("Select") != "COUNT":
        answer["Items"] = [*map(encode_item, page.items)]
    if request.get("ReturnConsumedCapacity", "NONE") != "NONE":
        units = read_units(page.size, consistent=request.get("ConsistentRead", False))
        answer["ConsumedCapacity"] = {"TableName": request["TableName"], "CapacityUnits": units}
    if page.last is not None:
        names = dict.fromkeys((*table.key.names, *rows.key.names))
        answer["LastEvaluatedKey"] = encode_item({name: page.last[name] for name in names})
    return answer
