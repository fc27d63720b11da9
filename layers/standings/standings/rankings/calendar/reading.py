"""Reads calendar rankings: members' entries, and tier nodes in all their lanes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from standings.aws.dynamodb.tables import (
    DynamoDBClient,
    Item,
    ReadKeys,
    entry_key,
    get_item,
    index_key,
    item_key,
    items_by_key,
    lane_count,
    lane_of,
    node_key,
    placed_items,
    shards_ever,
)
from standings.domain.boards import Ranking
from standings.domain.scoring import decode_sort_key
from standings.domain.tiers import ROOT, Counters, Path, summed
from standings.runtime.clock import RANKING_TTL_S, Clock, TtlCache
from standings.stores import Entry, Lanes, Node

NodeId = tuple[Ranking, Path]


class CalendarReads:
    """Reads through `read`, with its consistency.

    A node has an item for each lane; the root's item in lane 0 has the number of lanes. The number of each ranking is
    remembered, since it never decreases. If it is not known, the root is read together with the other nodes.
    """

    def __init__(self, read: ReadKeys, clock: Clock) -> None:
        self._read = read
        self._counts: TtlCache[str, int] = TtlCache(clock, RANKING_TTL_S)

    def entries(self, wanted: Iterable[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        """The entries of members. A member without a place is left out."""
        labels = {entry_key(ranking.key, member): (ranking, member) for ranking, member in wanted}
        items = self._read(labels) if labels else {}
        return {labels[key]: entry_of(item, labels[key][0]) for key, item in items.items() if "s" in item}

    def nodes(self, wanted: Iterable[NodeId]) -> dict[NodeId, Node]:
        """Nodes of tier trees. A node that does not exist is left out."""
        return {node: _node(lanes) for node, lanes in self._items(wanted).items()}

    def lanes(self, ranking: Ranking, paths: Iterable[Path]) -> dict[Path, Lanes]:
        """The lanes of a ranking's nodes. A node without lanes is left out."""
        nodes = self._items([(ranking, path) for path in paths])
        return {path: {lane: lane_of(item) for lane, item in items.items()} for (_, path), items in nodes.items()}

    def _items(self, wanted: Iterable[NodeId]) -> dict[NodeId, dict[int, Item]]:
        """The items of nodes, by lane. A node without items is left out."""
        nodes = dict.fromkeys(wanted)
        rankings = {ranking.key: ranking for ranking, _ in nodes}
        known = {key: self._counts.get(key) for key in rankings}
        to_read = nodes | {(rankings[key], ROOT): None for key, count in known.items() if count is None}
        done = dict.fromkeys(rankings, 0)
        counts = {key: count or 1 for key, count in known.items()}
        items: dict[NodeId, dict[int, Item]] = {}
        while labels := {
            node_key(ranking.key, path, lane): ((ranking, path), lane)
            for ranking, path in to_read
            for lane in range(done[ranking.key], counts[ranking.key])
        }:
            done = dict(counts)
            for key, item in self._read(labels).items():
                node, lane = labels[key]
                items.setdefault(node, {})[lane] = item
                if lane == 0:
                    counts[node[0].key] = max(counts[node[0].key], lane_count(item))
        for ranking, path in to_read:
            if path == ROOT:
                self._counts.put(ranking.key, max(counts[ranking.key], self._counts.get(ranking.key) or 1))
        return {node: lanes for node, lanes in items.items() if node in nodes}


class TopReads:
    """What an announcement reads of one ranking. Every method may raise StoreUnavailableError.

    All but `indexed` is strongly consistent.
    """

    def __init__(self, client: DynamoDBClient, rankings: str, clock: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._consistent = CalendarReads(partial(items_by_key, client, rankings, clock=clock, consistent=True), clock)

    def shards(self, ranking: Ranking) -> int:
        """The highest number of shards that the sorted index has or had."""
        root = get_item(self._client, self._rankings, item_key(node_key(ranking.key, ROOT)), consistent=True)
        return max(ranking.metric.shards, *shards_ever(root or {}))

    def indexed(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[str]:
        """Up to `limit` sort keys of a shard of the sorted index, between two sort keys, in order."""
        items = placed_items(self._client, self._rankings, index_key(ranking.key, shard), beyond, before, limit)
        return [item["s"]["S"] for item in items]

    def keys(self, ranking: Ranking, members: Collection[str]) -> dict[str, str | None]:
        """The sort key of each member's row; None for a member without a place."""
        entries = self._consistent.entries((ranking, member) for member in members)
        keys = {member: entry.key for (_, member), entry in entries.items()}
        return {member: keys.get(member) for member in members}

    def counters(self, ranking: Ranking, paths: Sequence[Path]) -> Mapping[Path, Counters]:
        """The counters of nodes. A node that does not exist is left out."""
        nodes = self._consistent.lanes(ranking, paths)
        return {path: summed(lane.counters for lane in lanes.values()) for path, lanes in nodes.items()}


def entry_of(item: Item, ranking: Ranking) -> Entry:
    """The entry that an item of a ranking's sorted index holds."""
    key = item["s"]["S"]
    return Entry(key, *decode_sort_key(key, ties_by_instant=ranking.metric.ties_by_instant), int(item["t"]["N"]))


def _node(items: Mapping[int, Item]) -> Node:
    lanes = [lane_of(item) for item in items.values()]
    # While members move, reads of lanes may be of different moments, and a sum may be below 0.
    counters = {digit: max(count, 0) for digit, count in summed(lane.counters for lane in lanes).items()}
    written_at_ms = max((lane.written_at_ms for lane in lanes if lane.written_at_ms is not None), default=None)
    return Node(counters, written_at_ms, max(shards_ever(items.get(0, {}))))
