"""A stored table: its rows, their order, its secondary indexes and its stream."""

from __future__ import annotations

import hashlib
import zlib
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from sortedcontainers import SortedList  # type: ignore[import-untyped]  # no type stubs

from tests.support.dynamodb.storage.sizes import stored_size
from tests.support.dynamodb.storage.values import Item, Value, encode, same_item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.dynamodb.storage.schema import IndexSchema, Key, KeySchema, TableSchema
    from tests.support.dynamodb.storage.streams import Shard

Place = tuple[Value, ...]
Written = Callable[[str, Item | None, Item | None], None]


class Stored:
    """An item and its size. Writes never modify the item: they store a new one.

    ``bound`` is an upper bound of the size. The size itself is computed on its first use.
    """

    __slots__ = ("_size", "bound", "item")

    def __init__(self, item: Item, bound: int | None = None) -> None:
        self.item: Final = item
        self._size = -1
        self.bound = self.size if bound is None else bound

    @property
    def size(self) -> int:
        if self._size < 0:
            self._size = stored_size(self.item)
        return self._size


_ALONE: Final[SortedList[Place]] = SortedList([()])


def item_of(stored: Stored | None) -> Item | None:
    return None if stored is None else stored.item


def _spread(value: Value) -> bytes:
    """Return the position of a hash key in a Scan: a hash, so always the same."""
    return hashlib.md5(repr(encode(value)).encode(), usedforsecurity=False).digest()


class Ordered:
    """The rows of a table or index, by hash key and then by ``Place``.

    A place begins with the range value, if there is one. No two rows of a hash key have the same place.
    """

    def __init__(self, key: KeySchema) -> None:
        self.key = key
        self._partitions: dict[Value, SortedList[Place]] = {}
        self._scan: list[tuple[bytes, Value]] | None = None

    def add(self, value: Value, place: Place) -> None:
        partition = self._partitions.get(value)
        if partition is None:
            self._partitions[value] = SortedList([place]) if place else _ALONE
            self._scan = None
        else:
            partition.add(place)

    def add_all(self, value: Value, places: Sequence[Place]) -> None:
        """Add many rows of one hash key, sorting them once."""
        partition = self._partitions.get(value)
        if partition is None:
            self._partitions[value] = SortedList(places)
            self._scan = None
        else:
            partition.update(places)

    def remove(self, value: Value, place: Place) -> None:
        partition = self._partitions[value]
        if place:
            partition.remove(place)
        if not place or not partition:
            del self._partitions[value]
            self._scan = None

    def partition(self, value: Value) -> SortedList[Place]:
        return self._partitions.get(value) or SortedList()

    def scan_order(self, after: Value | None) -> Sequence[tuple[bytes, Value]]:
        """Return the hash keys in the order of a Scan, from ``after`` on, including it."""
        if self._scan is None:
            self._scan = sorted((_spread(value), value) for value in self._partitions)
        if after is None:
            return self._scan
        return self._scan[bisect_left(self._scan, (_spread(after),)) :]

    def row(self, value: Value, place: Place) -> Stored:
        raise NotImplementedError

    def place_of(self, item: Item) -> Place:
        """Return the place of an item. A key will do if it has all attributes of the place."""
        raise NotImplementedError


class Index(Ordered):
    """A global secondary index.

    A write only marks the row that it changes. A read of the index first brings in the marked rows, so many writes of
    one row cost one move.

    ``behind`` is how many seconds of ``clock`` a write waits before reads of the index see it.
    """

    def __init__(self, schema: IndexSchema, table: Table) -> None:
        super().__init__(schema.key)
        self.schema = schema
        self._table = table
        self._marked: dict[Key, float] = {}
        self._entries: dict[Key, Item] = {}
        self.behind = 0.0
        self.clock = table.clock

    @property
    def is_behind(self) -> bool:
        """Whether a read would miss writes."""
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
            old = self._entries.get(key)
            if old is not None and (new is None or self._moved(old, new)):
                self.remove(old[self.key.hash], self.place_of(old))
            if new is not None and (old is None or self._moved(old, new)):
                added.setdefault(new[self.key.hash], []).append(self.place_of(new))
            if new is None:
                self._entries.pop(key, None)
            else:
                self._entries[key] = new
        for value, places in added.items():
            self.add_all(value, places)

    def _moved(self, old: Item, new: Item) -> bool:
        return any(old[name] != new[name] for name in self.key.names)

    def place_of(self, item: Item) -> Place:
        key = self._table.schema.key.of(item)
        return key if self.key.range is None else (item[self.key.range], *key)

    def row(self, value: Value, place: Place) -> Stored:
        del value  # the place alone identifies the item
        key = place if self.key.range is None else place[1:]
        item = self.schema.project(self._entries[key])
        return Stored(item)


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
            shard = zlib.crc32(repr(key[0]).encode()) % len(self.shards)
            self.shards[shard].append(self.clock(), before, after, by_service=by_service)
        for hook in self._written:
            hook(self.schema.name, before, after)
