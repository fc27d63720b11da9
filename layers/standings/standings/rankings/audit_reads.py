"""What audits read of Scores and of a ranking: cheaply or at one moment, with the read units counted."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from typing import Any, Final, NamedTuple, cast

from standings.aws.dynamodb.scores import DamagedItem, Scores, decode_stored
from standings.aws.dynamodb.tables import (
    DynamoDBClient,
    Item,
    index_key,
    item_key,
    items_by_key,
    member_item_key,
    placed_items,
    shard_of,
    shards_ever,
    store_errors,
)
from standings.domain.boards import Metric, Ranking
from standings.domain.members import Image
from standings.domain.scoring import Place, are_possible, behind, decode_sort_key, encode_values, sort_key
from standings.domain.tiers import Counters, Path, path, span
from standings.runtime.clock import Clock

PAGE: Final = 500  # Entries that are read together


class AuditReads:
    """Reads Scores and Rankings for one thread.

    `at_once` and `with_member` read one moment. They raise StoreUnavailableError on a conflict with a write. The other
    reads are cheap: they may be a moment old. They are retried while the store is unavailable.
    """

    def __init__(self, client: DynamoDBClient, scores: str, rankings: str, clock: Clock) -> None:
        self._counted = _CountedReads(client)
        self._client = cast("DynamoDBClient", self._counted)
        self._scores = scores
        self._rankings = rankings
        self._clock = clock
        # It only reads members: no receipts table is needed.
        self._members = Scores(self._client, scores, "", clock)
        self.log_counts: dict[str, int] = {}
        """How many logs each rolling window had when it was read last, by the window's key. They never get fewer."""

    @property
    def units(self) -> float:
        """The read units used so far. DynamoDB names none when it cancels a transaction, so those are not counted."""
        return self._counted.units

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image | DamagedItem]:
        """Up to `limit` members of a slot of Scores, after a member."""
        return self._clock.retry(self._members.members, board, slot, after, limit)

    def images(self, board: str, members: Sequence[str]) -> dict[str, Image]:
        """Members' items in Scores. Those that do not exist or cannot be read are left out."""
        images = self._clock.retry(self._members.images, [(board, member) for member in members], damaged=[])
        return {member: image for (_, member), image in images.items()}

    def items(self, keys: Collection[str]) -> dict[str, Item]:
        """Items of Rankings by key."""
        return self._clock.retry(items_by_key, self._client, self._rankings, keys, self._clock)

    def placed(self, partition: str, beyond: str, before: str | None) -> list[Item]:
        """Up to `PAGE` items of a partition of the sorted index, between two sort keys."""
        return self._clock.retry(placed_items, self._client, self._rankings, partition, beyond, before, PAGE)

    def at_once(self, keys: Iterable[str]) -> list[Item]:
        """Items of Rankings. One that does not exist is empty."""
        return self._at_once([(self._rankings, item_key(key)) for key in keys])

    def with_member(self, board: str, member: str, keys: Iterable[str]) -> tuple[Image | None, list[Item]]:
        """A member's item in Scores, and items of Rankings. DamagedItem if the member's item cannot be read."""
        rankings = [(self._rankings, item_key(key)) for key in keys]
        image, *items = self._at_once([(self._scores, member_item_key(board, member)), *rankings])
        return decode_stored(image, self._clock.now()) if image else None, items

    def _at_once(self, keys: Sequence[tuple[str, Item]]) -> list[Item]:
        gets: Any = [{"Get": {"TableName": table, "Key": key}} for table, key in keys]
        with store_errors():
            answer = self._client.transact_get_items(TransactItems=gets)
        return [response.get("Item", {}) for response in answer["Responses"]]


class _CountedReads:
    """A client of DynamoDB. `units` are the read units of all calls so far."""

    def __init__(self, client: DynamoDBClient) -> None:
        self._client = client
        self.units = 0.0

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        return partial(self._counted, getattr(self._client, operation))

    def _counted(self, call: Callable[..., Any], **request: Any) -> Any:
        answer = call(**request, ReturnConsumedCapacity="TOTAL")
        consumed = answer.get("ConsumedCapacity", [])
        # A query names one table; the others name each table that they read.
        self.units += sum(one["CapacityUnits"] for one in (consumed if isinstance(consumed, list) else [consumed]))
        return answer


class Tree(ABC):
    """A ranking's tier tree and its entries in the sorted index.

    `lists` are the keys of the lists that hold the entries, `shards` is the highest number of their shards.
    """

    def __init__(self, reads: AuditReads, ranking: Ranking, lists: Sequence[str], shards: int) -> None:
        self._reads = reads
        self.ranking = ranking
        self._lists = lists
        self.shards = shards

    @abstractmethod
    def nodes(self, paths: Sequence[Path]) -> dict[Path, Counters]:
        """Read the counters of nodes cheaply: `{(): {62: 1}}`. A node that does not exist is left out."""

    @abstractmethod
    def at_once(self, *paths: Path) -> "list[Snapshot]":
        """Read nodes at one moment. StoreUnavailableError on a conflict with a write."""

    @abstractmethod
    def _member(self, item_key: str) -> str:
        """The member in the key of an item of the index."""

    def following(self, beyond: str) -> "Iterator[Listed]":
        """The entries after a sort key, in order."""
        return merge(*self._entries(self.shards, beyond), key=lambda entry: entry.key)

    def within(self, leaf: Path, shards: int) -> Iterator[tuple[str, int]]:
        """The members of the entries of a leaf, each with its last digit: `("u123", 83)` in the leaf `(62, 125)`."""
        first, last = span(leaf)
        for entries in self._entries(shards, encode_values(first), behind(last)):
            for entry in entries:
                if entry.place is not None:
                    yield entry.member, path(entry.place.values)[-1]

    def _entries(self, shards: int, beyond: str, before: str | None = None) -> "Iterator[Iterator[Listed]]":
        """The entries between two sort keys, in each partition."""
        partitions = (index_key(key, shard) for key in self._lists for shard in range(shards))
        return (self._partition(partition, beyond, before) for partition in partitions)

    def _partition(self, partition: str, beyond: str, before: str | None) -> "Iterator[Listed]":
        while True:
            page = self._reads.placed(partition, beyond, before)
            for item in page:
                beyond, item_key = item["s"]["S"], item["pk"]["S"]
                yield Listed(beyond, self._member(item_key), decoded_place(beyond, self.ranking.metric), item_key)
            if len(page) < PAGE:
                return


class Listed(NamedTuple):
    """An entry of a ranking: its sort key, its member, its place (None: the sort key is none), and its item's key."""

    key: str
    member: str
    place: Place | None
    item_key: str


def decoded_place(key: str, metric: Metric) -> Place | None:
    """The place that a sort key encodes; None if it is not a valid key. Such a key may be anywhere in the order."""
    try:
        place, member = decode_sort_key(key, metric)
    except (KeyError, IndexError):
        return None
    return place if sort_key(place, member) == key and are_possible(place.values, metric) else None


class Snapshot(NamedTuple):
    """A node at one moment: the number of shards, and its counters.

    Two snapshots with an equal `state` mean that nobody wrote the node in between.
    """

    shards: int
    counters: Counters
    state: object


class StoredRow(NamedTuple):
    """A member's row in a ranking, or its item in a list of a rolling window: `StoredRow("MvIu1", 1795256100000)`.

    `key` is the sort key of its entry (None: no entry). `version` is None if there is no such row. `at_home`: the entry
    is in the right shard for a number of shards that was ever used.
    """

    key: str | None = None
    version: int | None = None
    at_home: bool = True


def stored_row(item: Item, key: str, member: str, shard_counts: Iterable[int]) -> StoredRow:
    """The row of a member in the list with this key. `item` is empty if there is none."""
    if not item:
        return StoredRow()
    homes = {index_key(key, shard_of(member, shards)) for shards in shard_counts}
    placed = item["s"]["S"] if "s" in item else None
    return StoredRow(placed, version_of(item), "r" in item and item["r"]["S"] in homes)


def version_of(item: Item) -> int:
    """The version of a row or list item."""
    return int(item["v"]["N"]) if "v" in item else 0


def ever_used(naming: Item, metric: Metric) -> set[int]:
    """Every number of shards that was ever used: that of the definition, those that an item names, and 1 before."""
    return {1, metric.shards, *shards_ever(naming)}
