"""Reads rankings for answers: entries, tier nodes and parts of the sorted index, of both kinds of windows."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from typing import Final, Self

from standings.aws.dynamodb import tables
from standings.aws.dynamodb.tables import DynamoDBClient, Item, ReadKeys
from standings.domain.boards import Ranking
from standings.domain.scoring import decode_sort_key
from standings.domain.tiers import ROOT, Counters, Path, summed
from standings.rankings.rolling.reading import Logs, RollingReads
from standings.rankings.rolling.steps import lists_of
from standings.runtime.clock import RANKING_TTL_S, Clock, TtlCache
from standings.stores import Entry, Lanes, Node, Part, Partition, Span

SIDE_BY_SIDE: Final = 24  # The most requests that one question sends in parallel
NodeId = tuple[Ranking, Path]


class RankingReads:
    """The rankings as queries read them. Each call reads its items in parallel; it may raise StoreUnavailableError.

    Reads of calendar rankings and of the sorted index are eventually consistent. Those of rolling windows are strongly
    consistent.
    """

    def __init__(self, client: DynamoDBClient, table: str, clock: Clock) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._pool = ThreadPoolExecutor(max_workers=SIDE_BY_SIDE, thread_name_prefix="reads")
        self._calendar = CalendarReads(partial(self._read, consistent=False), clock)
        self._log_counts: TtlCache[str, int] = TtlCache(clock, RANKING_TTL_S)
        self._logs: dict[str, Logs] | None = None

    def for_request(self) -> Self:
        """The same rankings for one request, which keeps the logs of rolling windows that it has read."""
        reads = copy(self)
        reads._logs = {}  # noqa: SLF001 - its own class
        return reads

    @property
    def _rolling(self) -> RollingReads:
        """The reads of rolling windows; outside a request, each call reads the logs."""
        return RollingReads(self._read, self._log_counts, {} if self._logs is None else self._logs)

    def entries(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        """Read entries: `{(Ranking(…), "u123"): Entry(…)}`. A member without a place is left out."""
        rolling = [one for one in wanted if one[0].window.rolling]
        calendar = [one for one in wanted if not one[0].window.rolling]
        if not rolling:
            return self._calendar.entries(calendar)
        others = self._pool.submit(self._calendar.entries, calendar) if calendar else None
        found = self._rolling.entries(rolling)
        return found | others.result() if others is not None else found

    def nodes(self, wanted: Sequence[NodeId]) -> dict[NodeId, Node]:
        """Read nodes of tier trees. A node that does not exist is left out."""
        rolling = [one for one in wanted if one[0].window.rolling]
        calendar = [one for one in wanted if not one[0].window.rolling]
        if not rolling:
            return self._calendar.nodes(calendar)
        others = self._pool.submit(self._calendar.nodes, calendar) if calendar else None
        found = self._rolling.nodes(rolling)
        return found | others.result() if others is not None else found

    def _read(self, keys: Collection[str], *, consistent: bool = True) -> dict[str, Item]:
        wanted = list(keys)
        if len(wanted) == 1 and not consistent:
            item = tables.get_item(self._client, self._table, tables.item_key(wanted[0]))
            return {} if item is None else {wanted[0]: item}
        typed = [tables.item_key(key) for key in wanted]
        parts = [typed[start : start + tables.MAX_KEYS] for start in range(0, len(typed), tables.MAX_KEYS)]
        read = partial(tables.batch_get, self._client, self._table, clock=self._clock, consistent=consistent)
        pages = map(read, parts) if len(parts) == 1 else self._pool.map(read, parts)
        return {item["pk"]["S"]: item for page in pages for item in page}

    def partitions(self, ranking: Ranking, shards: int) -> list[Partition]:
        """The partitions of the sorted index that hold a ranking's entries, for a number of shards."""
        return [Partition(key, shard) for key in lists_of(ranking) for shard in range(shards)]

    def spans(
        self, ranking: Ranking, spans: Sequence[Span], paths: Sequence[Path]
    ) -> tuple[list[list[Entry]], dict[Path, Node]]:
        """Read the entries of each span, and nodes."""
        # This thread reads the nodes, or else the first span, so the usual question needs only one more thread. On the
        # pool, nodes of more than `MAX_KEYS` keys would wait for the pool.
        first = [] if paths else spans[:1]
        others = [self._pool.submit(self._span, ranking, span) for span in spans[len(first) :]]
        nodes = self.nodes([(ranking, path) for path in paths])
        entries = [self._span(ranking, span) for span in first] + [other.result() for other in others]
        return entries, {path: node for (_, path), node in nodes.items()}

    def _span(self, ranking: Ranking, span: Span) -> list[Entry]:
        side = ">" if span.forward else "<"
        ends = {} if span.beyond is None else {"condition": f" AND s {side} :s", "s": span.beyond}
        request = tables.on_places(self._table, tables.index_key(*span.partition), **ends)
        items = tables.query_items(self._client, span.limit, **request, ScanIndexForward=span.forward)
        return [entry_of(item, ranking) for item in items]

    def counts(self, parts: Sequence[Part], most: int) -> list[tuple[int, str | None]]:
        """Count up to `most` entries of each part: `[(300, None), (500, "MvIu7…")]`.

        With each count comes the key at which the rest of the part begins; None: all of it is counted.
        """

        def count(part: Part) -> tuple[int, str | None]:
            (partition, first, last), condition = part, " AND s BETWEEN :first AND :last"
            request = tables.on_places(self._table, tables.index_key(*partition), condition, first=first, last=last)
            answers = list(tables.query(self._client, most, **request, Select="COUNT"))
            # An answer that ends with the range's last entry names it too, and DynamoDB refuses a range behind its end.
            end = answers[-1].get("LastEvaluatedKey", {"s": {"S": last}})["s"]["S"]
            return sum(answer["Count"] for answer in answers), f"{end}\0" if end < last else None

        return list(self._pool.map(count, parts))


class CalendarReads:
    """Reads calendar rankings through `read`, with its consistency.

    A node has an item for each lane; the root's item in lane 0 has the number of lanes. The number of each ranking is
    remembered, since it never decreases. If it is not known, the root is read together with the other nodes.
    """

    def __init__(self, read: ReadKeys, clock: Clock) -> None:
        self._read = read
        self._counts: TtlCache[str, int] = TtlCache(clock, RANKING_TTL_S)

    def entries(self, wanted: Iterable[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        """The entries of members. A member without a place is left out."""
        labels = {tables.entry_key(ranking.key, member): (ranking, member) for ranking, member in wanted}
        items = self._read(labels) if labels else {}
        return {labels[key]: entry_of(item, labels[key][0]) for key, item in items.items() if "s" in item}

    def nodes(self, wanted: Iterable[NodeId]) -> dict[NodeId, Node]:
        """Nodes of tier trees. A node that does not exist is left out."""
        found: dict[NodeId, Node] = {}
        for node, items in self._items(wanted).items():
            lanes = [tables.lane_of(item) for item in items.values()]
            # While members move, reads of lanes may be of different moments, and a sum may be below 0.
            counters = {digit: max(count, 0) for digit, count in summed(lane.counters for lane in lanes).items()}
            written_at_ms = max((lane.written_at_ms for lane in lanes if lane.written_at_ms is not None), default=None)
            found[node] = Node(counters, written_at_ms, max(tables.shards_ever(items.get(0, {}))))
        return found

    def lanes(self, ranking: Ranking, paths: Iterable[Path]) -> dict[Path, Lanes]:
        """The lanes of a ranking's nodes. A node without lanes is left out."""
        nodes = self._items([(ranking, path) for path in paths])
        return {
            path: {lane: tables.lane_of(item) for lane, item in items.items()} for (_, path), items in nodes.items()
        }

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
            tables.node_key(ranking.key, path, lane): ((ranking, path), lane)
            for ranking, path in to_read
            for lane in range(done[ranking.key], counts[ranking.key])
        }:
            done = dict(counts)
            for key, item in self._read(labels).items():
                node, lane = labels[key]
                items.setdefault(node, {})[lane] = item
                if lane == 0:
                    counts[node[0].key] = max(counts[node[0].key], tables.lane_count(item))
        for ranking, path in to_read:
            if path == ROOT:
                self._counts.put(ranking.key, max(counts[ranking.key], self._counts.get(ranking.key) or 1))
        return {node: lanes for node, lanes in items.items() if node in nodes}


def entry_of(item: Item, ranking: Ranking) -> Entry:
    """The entry that an item of a ranking's sorted index holds."""
    key = item["s"]["S"]
    return Entry(key, *decode_sort_key(key, ranking.metric), int(item["t"]["N"]))


class TopReads(CalendarReads):
    """What an announcement reads, strongly consistently but for `indexed`. May raise StoreUnavailableError."""

    def __init__(self, client: DynamoDBClient, rankings: str, clock: Clock) -> None:
        super().__init__(partial(tables.items_by_key, client, rankings, clock=clock, consistent=True), clock)
        self._client = client
        self._rankings = rankings

    def shards(self, ranking: Ranking) -> int:
        """The highest number of shards that the sorted index has or had."""
        root = tables.get_item(
            self._client, self._rankings, tables.item_key(tables.node_key(ranking.key, ROOT)), consistent=True
        )
        return max(tables.shards_ever(root or {}, ranking.metric.shards))

    def indexed(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[str]:
        """Up to `limit` sort keys of a shard of the sorted index, between two sort keys: `["MvIu123", "MvIu7"]`."""
        items = tables.placed_items(
            self._client, self._rankings, tables.index_key(ranking.key, shard), beyond, before, limit
        )
        return [item["s"]["S"] for item in items]

    def keys(self, ranking: Ranking, members: Collection[str]) -> dict[str, str | None]:
        """The sort key of each member's row: `{"u123": "MvIu123", "u7": None}`. None: the member has no place."""
        entries = self.entries((ranking, member) for member in members)
        keys = {member: entry.key for (_, member), entry in entries.items()}
        return {member: keys.get(member) for member in members}

    def counters(self, ranking: Ranking, paths: Sequence[Path]) -> Mapping[Path, Counters]:
        """The counters of nodes. A node that does not exist is left out."""
        nodes = self.lanes(ranking, paths)
        return {path: summed(lane.counters for lane in lanes.values()) for path, lanes in nodes.items()}
