"""What one call of an audit finds and reads, cheaply or at one moment; its limits, and the method of all its checks."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from heapq import merge
from typing import Any, Final, NamedTuple, TypeVar, cast

from standings.aws.dynamodb import tables
from standings.aws.dynamodb.scores import DamagedItem, Scores, decode_stored
from standings.aws.dynamodb.tables import DynamoDBClient, Item
from standings.domain.boards import Metric, Ranking
from standings.domain.members import Image
from standings.domain.scoring import Place, are_possible, behind, decode_sort_key, encode_values, sort_key
from standings.domain.tiers import Counters, Path, path, span
from standings.runtime.clock import RETRIED_FOR_S, Clock
from standings.stores import StoreUnavailableError

MAX_EXAMPLES: Final = 20
LOOKED_AT: Final = ("members", "rows", "list_items", "rankings", "entries", "nodes")
PAGE: Final = 500  # Entries that are read together
T = TypeVar("T")


class Kind(StrEnum):
    """What an audit reports. BEHIND and UNSETTLED are not differences."""

    MISSING = "missing"  # Scores rank a member that has no entry
    WRONG = "wrong"  # an entry with another sort key than Scores give
    MISPLACED = "misplaced"  # an entry with the right sort key in the wrong partition of the index
    PHANTOM = "phantom"  # an entry of a member that Scores do not rank
    VERSION = "version"  # a row with a higher version than the member's item: it rejects valid moves
    LISTED = "wrong-list-item"  # an item of a rolling window's list that is not what the member's row says
    DAMAGED = "damaged"  # an item of Scores that cannot be read: its member is ranked as before, and gets no events
    LOG = "log"  # a log of a rolling window that cannot be read: the window's tiers are not compared
    COUNTER = "counter"  # a leaf's counter differs from its entries, or a node's counter from its child
    BEHIND = "behind"  # the stream has not brought the member's last change yet
    UNSETTLED = "unsettled"  # changed too often to be compared


NO_DIFFERENCE: Final = frozenset({Kind.BEHIND, Kind.UNSETTLED})
Difference = tuple[Kind, dict[str, Any]]
"""A finding and where it is: `(Kind.COUNTER, {"ranking": "b#G0Pa", "node": "41", "digit": 7, "counted": 2, …})`."""


@dataclass(slots=True)
class Findings:
    """The findings of one call of an audit of a board, and what the call may use.

    `deadline` is in seconds of the monotonic clock, `grace` in milliseconds. `most_units` are the read units of `reads`
    at which the call ends; None: it has no such end. `looked_at` counts what was compared, `found` the findings by
    kind. `examples` holds the first differences with their keys.
    """

    board: str
    reads: "AuditReads"
    clock: Clock
    deadline: float
    grace: int
    most_units: float | None = None
    looked_at: Counter[str] = field(default_factory=Counter)
    found: Counter[Kind] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)

    def check(self, cheap: T, read: Callable[[], T], differences: Callable[[T], Iterable[Difference]]) -> None:
        """The method of every check: read cheaply, doubt what differs, read it at one moment, report what still does.

        `cheap` was read at different moments. At one moment every legal change is either complete or absent.
        """
        if any(differences(cheap)):
            self.recheck(read, differences)

    def recheck(self, read: Callable[[], T], differences: Callable[[T], Iterable[Difference]]) -> None:
        """Read what is in doubt at one moment, and report how it differs.

        A damaged item of Scores is not reported here, but once: where the members are listed.
        """
        try:
            moment = self.at_one_moment(read)
        except DamagedItem:
            return
        if moment is None:
            self.add(Kind.UNSETTLED)
        else:
            self.add_all(differences(moment))

    def at_one_moment(self, read: Callable[[], T]) -> T | None:
        """Read in a transaction; None if writes conflict for `RETRIED_FOR_S` or until the deadline."""
        backoff = self.clock.backoff(min(self.deadline, self.clock.after(RETRIED_FOR_S)))
        try:
            return backoff.retry(read)
        except StoreUnavailableError:
            return None

    def kind_of(self, image: Image | None, row: "StoredRow", expected: str | None) -> Kind | None:
        """The difference between an item and a row, by their versions and the sort keys of both.

        A row older than its item is BEHIND for up to `grace` after the item's last change. The entry of an item that is
        gone is a PHANTOM at once: nothing says when the item went.
        """
        if image is not None and row.version is not None and row.version > image.version:
            return Kind.VERSION
        if row.key == expected:
            return None
        if image is not None and (row.version is None or row.version < image.version) and self.is_recent(image):
            return Kind.BEHIND
        if expected is None:
            return Kind.PHANTOM
        return Kind.MISSING if row.key is None else Kind.WRONG

    def is_recent(self, image: Image) -> bool:
        """Whether the stream may not have brought an item's last change yet."""
        return self.clock.now() - image.written_at_ms < self.grace

    def is_over(self, reserve: float = 0.0) -> bool:
        """Whether the call must end: in `reserve` seconds its time is over, or its read units are used up."""
        is_spent = self.most_units is not None and self.reads.units >= self.most_units
        return is_spent or self.clock.monotonic() >= self.deadline - reserve

    def add(self, kind: Kind, **where: Any) -> None:
        """Count a finding; keep the first differences as examples."""
        self.found[kind] += 1
        if kind not in NO_DIFFERENCE and len(self.examples) < MAX_EXAMPLES:
            self.examples.append({"kind": kind.value, **where})

    def add_all(self, differences: Iterable[Difference]) -> None:
        """Count some differences."""
        for kind, where in differences:
            self.add(kind, **where)

    def drop(self) -> None:
        """Drop the findings. What was looked at stays counted."""
        self.found.clear()
        self.examples.clear()

    def report(self, cursor: dict[str, Any] | None, units: float) -> dict[str, Any]:
        """The report as JSON: `{"done": True, "cursor": None, "board": "b", "drift": 2, "found": {…}, …}`.

        `cursor` is None once the board is done; `units` are read units, approximately.
        """
        return {
            "done": cursor is None,
            "cursor": cursor,
            "board": self.board,
            "drift": sum(count for kind, count in self.found.items() if kind not in NO_DIFFERENCE),
            "found": {kind.value: self.found[kind] for kind in Kind},
            "examples": self.examples,
            "looked_at": {name: self.looked_at[name] for name in LOOKED_AT},
            "read_units": round(units),
        }


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
        return self._clock.retry(tables.items_by_key, self._client, self._rankings, keys, self._clock)

    def placed(self, partition: str, beyond: str, before: str | None) -> list[Item]:
        """Up to `PAGE` items of a partition of the sorted index, between two sort keys."""
        return self._clock.retry(tables.placed_items, self._client, self._rankings, partition, beyond, before, PAGE)

    def at_once(self, keys: Iterable[str]) -> list[Item]:
        """Items of Rankings. One that does not exist is empty."""
        return self._at_once([(self._rankings, tables.item_key(key)) for key in keys])

    def with_member(self, board: str, member: str, keys: Iterable[str]) -> tuple[Image | None, list[Item]]:
        """A member's item in Scores, and items of Rankings. DamagedItem if the member's item cannot be read."""
        rankings = [(self._rankings, tables.item_key(key)) for key in keys]
        image, *items = self._at_once([(self._scores, tables.member_item_key(board, member)), *rankings])
        return decode_stored(image, self._clock.now()) if image else None, items

    def _at_once(self, keys: Sequence[tuple[str, Item]]) -> list[Item]:
        gets: Any = [{"Get": {"TableName": table, "Key": key}} for table, key in keys]
        with tables.store_errors():
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
        partitions = (tables.index_key(key, shard) for key in self._lists for shard in range(shards))
        return (self._partition(partition, beyond, before) for partition in partitions)

    def _partition(self, partition: str, beyond: str, before: str | None) -> "Iterator[Listed]":
        while True:
            page = self._reads.placed(partition, beyond, before)
            for item in page:
                beyond, key = item["s"]["S"], item["pk"]["S"]
                yield Listed(beyond, self._member(key), decoded_place(beyond, self.ranking.metric), key)
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

    @classmethod
    def of(cls, item: Item, key: str, member: str, shard_counts: Iterable[int]) -> "StoredRow":
        """The row of a member in the list with this key. `item` is empty if there is none."""
        if not item:
            return cls()
        homes = {tables.index_key(key, tables.shard_of(member, shards)) for shards in shard_counts}
        placed = item["s"]["S"] if "s" in item else None
        return cls(placed, tables.version_of(item), "r" in item and item["r"]["S"] in homes)

    def difference(
        self, kind: Kind | None, ranking: str, member: str, expected: str | None, image: Image | None
    ) -> Iterator[Difference]:
        """The difference between the row and what is expected: none without a kind."""
        if kind is not None:
            where = {"ranking": ranking, "member": member, "expected": expected, "found": self.key}
            yield kind, {**where, "item_version": image and image.version, "row_version": self.version}
