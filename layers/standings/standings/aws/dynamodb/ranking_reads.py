"""Reads rankings for answers: entries, tier nodes and spans of the sorted index, of both kinds of windows."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache, partial
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

from standings.aws.dynamodb.rolling import log_count, log_of, positions, positions_known, row_of
from standings.aws.dynamodb.scores import BoardRecords, Scores
from standings.aws.dynamodb.tables import (
    COUNTERS,
    MAX_KEYS,
    DynamoDBClient,
    Item,
    entry_key,
    get_item,
    index_key,
    item_key,
    items_by_key,
    lane_count,
    lane_of,
    log_key,
    node_key,
    on_places,
    query,
    query_items,
    shards_ever,
    transact,
)
from standings.domain.boards import BoardRecord, Ranking
from standings.domain.members import Image
from standings.domain.rolling import Log, NodeDeltas, joined, node_deltas, rolling_of
from standings.domain.scoring import decode_sort_key, sort_key
from standings.domain.tiers import ROOT, Path, summed
from standings.runtime.clock import RANKING_TTL_S, Clock, TtlCache
from standings.stores import CancelReason, Entry, Lanes, Node, Part, Removal, Span, StoreRefusedError

# Reads and prunes tier trees. A node has an item for each lane; the root's item in lane 0 has the number of lanes.

NodeId = tuple[Ranking, Path]
T = TypeVar("T")
V = TypeVar("V")
ReadKeys = Callable[[Collection[str]], dict[str, Item]]  # Reads items by key


class KnownLanes:
    """Reads nodes in all their lanes. It remembers each ranking's number of lanes, which never decreases.

    If the number is not known, it reads the root together with the other nodes.
    """

    def __init__(self, clock: Clock) -> None:
        self._counts: TtlCache[str, int] = TtlCache(clock, RANKING_TTL_S)

    def read(self, wanted: Iterable[NodeId], read: ReadKeys) -> dict[NodeId, dict[int, Item]]:
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
            for key, item in read(labels).items():
                node, lane = labels[key]
                items.setdefault(node, {})[lane] = item
                if lane == 0:
                    counts[node[0].key] = max(counts[node[0].key], lane_count(item))
        for ranking, path in to_read:
            if path == ROOT:
                self._counts.put(ranking.key, max(counts[ranking.key], self._counts.get(ranking.key) or 1))
        return {node: lanes for node, lanes in items.items() if node in nodes}


class Trees:
    """Tier trees lane by lane. Reads are strongly consistent."""

    def __init__(self, client: DynamoDBClient, rankings: str, clock: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._clock = clock
        self._lanes = KnownLanes(clock)

    def lanes(self, ranking: Ranking, paths: Sequence[Path]) -> dict[Path, Lanes]:
        """Read the lanes of nodes, strongly consistently. A node without lanes is left out."""
        nodes = self._lanes.read([(ranking, path) for path in paths], self._read)
        return {path: {lane: lane_of(item) for lane, item in items.items()} for (_, path), items in nodes.items()}

    def _read(self, keys: Collection[str]) -> dict[str, Item]:
        return items_by_key(self._client, self._rankings, keys, self._clock, consistent=True)

    def remove(self, ranking: Ranking, nodes: Mapping[Path, Lanes], counters: Sequence[Removal]) -> list[CancelReason]:
        """Remove nodes and counters in one transaction, if their lanes have not changed. Empty: it succeeded."""
        actions = [action for path, lanes in nodes.items() for action in self._node_out(ranking, path, lanes)]
        actions += [action for removal in counters for action in self._counters_out(ranking, removal)]
        return [reason for _, reason, _, _ in transact(self._client, actions)] if actions else []

    def _node_out(self, ranking: Ranking, path: Path, lanes: Lanes) -> Iterator[dict[str, Any]]:
        for number, lane in lanes.items():
            condition = {"ConditionExpression": "v = :v", "ExpressionAttributeValues": {":v": {"N": str(lane.version)}}}
            yield {"Delete": {**self._target(ranking, path, number), **condition}}

    def _counters_out(self, ranking: Ranking, removal: Removal) -> Iterator[dict[str, Any]]:
        for number, lane in removal.lanes.items():
            counters = {COUNTERS[digit]: lane.counters[digit] for digit in removal.digits if digit in lane.counters}
            if counters:
                values = {f":{name}": {"N": str(count)} for name, count in counters.items()}
                update = {
                    "UpdateExpression": f"SET v = v + :one REMOVE {', '.join(counters)}",
                    "ConditionExpression": " AND ".join(f"{name} = :{name}" for name in counters),
                    "ExpressionAttributeValues": {":one": {"N": "1"}, **values},
                }
                yield {"Update": {**self._target(ranking, removal.path, number), **update}}

    def _target(self, ranking: Ranking, path: Path, lane: int) -> dict[str, Any]:
        return {"TableName": self._rankings, "Key": item_key(node_key(ranking.key, path, lane))}


# Reads rolling windows for one request: rows, and counts from nodes and logs.
#
# A node may lack entries of a log. So the logs are read first, and the entries that a node lacks are added to it.
# Where a node has taken more than was read, the logs are read again.

TRIES: Final = 3  # How often logs and nodes are read again while folds go on

Missing = Callable[[str, int, int, int], tuple[NodeDeltas, int]]


def read_with_logs(
    read: ReadKeys, known: Mapping[str, int], keys: Iterable[str] = ()
) -> tuple[dict[str, Item], dict[str, int]]:
    """Read items together with the logs of windows. Returns both, and how many logs each window has.

    `known` says how many it has at least. Another read follows where log 0 names more.
    """
    logs = [log_key(window, number) for window, count in known.items() for number in range(count)]
    wanted = [*keys, *logs]
    items = read(wanted) if wanted else {}
    counts = {window: max(count, log_count(items.get(log_key(window, 0), {}))) for window, count in known.items()}
    more = [log_key(window, number) for window in counts for number in range(known[window], counts[window])]
    items |= read(more) if more else {}
    return items, counts


class Logs(NamedTuple):
    """The logs of a window as they were read, by number, and every number of shards that log 0 names."""

    by_number: Mapping[int, Log]
    shards: int


class RollingReads:
    """The rolling windows as one request reads them. Counts are of the moment at which it read the logs last."""

    def __init__(self, read: ReadKeys, known: TtlCache[str, int]) -> None:
        self._read = read
        self._known = known
        self._logs: dict[str, Logs] = {}

    def entries(self, wanted: Iterable[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        """The entries of members; those without a place are left out. The logs are read with the rows."""
        labels = {(ranking, member): entry_key(rolling_of(ranking).key, member) for ranking, member in wanted}
        windows = dict.fromkeys(rolling_of(ranking).key for ranking, _ in labels)
        items = self._with_logs(windows, dict.fromkeys(labels.values()))
        found: dict[tuple[Ranking, str], Entry] = {}
        for (ranking, member), key in labels.items():
            if key not in items:
                continue
            row = row_of(items[key])
            if isinstance(row, str):
                raise StoreRefusedError(row)
            place = row.steps.place(ranking.period)
            if place is not None:
                found[ranking, member] = Entry(sort_key(place, member), place, member, int(items[key]["t"]["N"]))
        return found

    def nodes(self, wanted: Iterable[tuple[Ranking, Path]]) -> dict[tuple[Ranking, Path], Node]:
        """The nodes of tier trees, with the entries that they lack."""
        labels = {(ranking, path): node_key(ranking.key, path) for ranking, path in wanted}
        by_window: defaultdict[str, list[str]] = defaultdict(list)
        for (ranking, _), key in labels.items():
            by_window[rolling_of(ranking).key].append(key)
        self._with_logs([window for window in by_window if window not in self._logs], ())
        items = self._read(list(labels.values()))
        for _ in range(TRIES):
            ahead = {
                window: keys
                for window, keys in by_window.items()
                if not positions_known([items[key] for key in keys if key in items], self._logs[window].by_number)
            }
            if not ahead:
                break
            items |= self._catch_up(ahead)
        missing = cache(self._missing)  # Many nodes lack the same entries
        nodes = {label: self._node(*label, items.get(key, {}), missing) for label, key in labels.items()}
        return {label: node for label, node in nodes.items() if node is not None}

    def _catch_up(self, nodes: Mapping[str, Sequence[str]]) -> dict[str, Item]:
        """Read the logs of windows again. Returns the nodes read again: where no log has what they may lack."""
        before = {window: self._logs[window].by_number for window in nodes}
        self._with_logs(nodes, ())
        again: list[str] = []
        for window, keys in nodes.items():
            logs = joined(before[window], self._logs[window].by_number)
            if logs is None:
                again += keys
            else:
                self._logs[window] = self._logs[window]._replace(by_number=logs)
        return self._read(again) if again else {}

    def _with_logs(self, windows: Iterable[str], keys: Iterable[str]) -> dict[str, Item]:
        """Read items together with the logs of windows, and keep the logs."""
        items, counts = read_with_logs(self._read, {window: self._known.get(window) or 1 for window in windows}, keys)
        for window, count in counts.items():
            self._known.put(window, count)
            found = {number: items[key] for number in range(count) if (key := log_key(window, number)) in items}
            read = {number: log_of(item) for number, item in found.items()}
            self._logs[window] = Logs(read, max(shards_ever(found.get(0, {}))))
        return items

    def _missing(self, window: str, number: int, position: int, period: int) -> tuple[NodeDeltas, int]:
        """The changes of a period's nodes from a position of a log on, and when the latest of the log was written."""
        entries = self._logs[window].by_number[number].since(position)
        written_at_ms = max((entry.written_at_ms for entry in entries), default=0)
        return node_deltas(entries, range(period, period + 1)), written_at_ms

    def _node(self, ranking: Ranking, path: Path, item: Item, missing: Missing) -> Node | None:
        window = rolling_of(ranking).key
        logs = self._logs[window]
        at = positions(item)
        parts = [lane_of(item).counters]
        stamps = [int(item["t"]["N"])] if item else []
        for number, log in logs.by_number.items():
            changes, written_at_ms = missing(window, number, max(log.base, at.get(number, log.base)), ranking.period)
            if (ranking.period, path) in changes:
                parts.append(changes[ranking.period, path])
                stamps.append(written_at_ms)
        if not stamps:
            return None
        counters = {digit: max(count, 0) for digit, count in summed(parts).items()}
        return Node(counters, max(stamps), logs.shards)


# Reads Rankings, boards and members for queries.

SIDE_BY_SIDE: Final = 24  # The most requests that one question sends in parallel


class QueryReads:
    """The tables as queries read them. Each call reads all its items in parallel.

    Reads of Rankings and of the list of boards are eventually consistent. Others are strongly consistent.
    """

    def __init__(self, client: DynamoDBClient, rankings: str, scores: str, clock: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._clock = clock
        self._boards = BoardRecords(client, scores, clock)
        # It only reads members: no receipts table is needed.
        self._members = Scores(client, scores, "", clock)
        self._lanes = KnownLanes(clock)
        self._pool = ThreadPoolExecutor(max_workers=SIDE_BY_SIDE, thread_name_prefix="reads")
        self._logs: TtlCache[str, int] = TtlCache(clock, RANKING_TTL_S)
        self._of_request: RollingReads | None = None

    def for_request(self) -> "QueryReads":
        """The same tables for one request, which keeps the logs of rolling windows that it has read."""
        reads = copy(self)
        reads._of_request = self._rolling  # noqa: SLF001 - its own class
        return reads

    @property
    def _rolling(self) -> RollingReads:
        """The reads of rolling windows; outside a request, each call reads the logs."""
        return self._of_request or RollingReads(self._read, self._logs)

    def entries(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        """Read entries of members. A member without a place is left out."""
        return self._of_both_kinds(wanted, self._rolling.entries, self._entries)

    def _entries(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        labels = {entry_key(ranking.key, member): (ranking, member) for ranking, member in wanted}
        items = self._read(labels, consistent=False) if labels else {}
        return {labels[key]: _entry(item, labels[key][0]) for key, item in items.items() if "s" in item}

    def nodes(self, wanted: Sequence[tuple[Ranking, Path]]) -> dict[tuple[Ranking, Path], Node]:
        """Read nodes of tier trees. A node that does not exist is left out."""
        return self._of_both_kinds(wanted, self._rolling.nodes, self._nodes)

    def _nodes(self, wanted: Sequence[tuple[Ranking, Path]]) -> dict[tuple[Ranking, Path], Node]:
        nodes = self._lanes.read(wanted, partial(self._read, consistent=False)) if wanted else {}
        return {node: _node(lanes) for node, lanes in nodes.items()}

    def _of_both_kinds(
        self,
        wanted: Sequence[tuple[Ranking, T]],
        read_rolling: Callable[[Sequence[tuple[Ranking, T]]], dict[tuple[Ranking, T], V]],
        read_others: Callable[[Sequence[tuple[Ranking, T]]], dict[tuple[Ranking, T], V]],
    ) -> dict[tuple[Ranking, T], V]:
        """Read rolling windows and the others, in parallel."""
        rolling: list[tuple[Ranking, T]] = []
        others: list[tuple[Ranking, T]] = []
        for one in wanted:
            one[0].window.of_kind(others, rolling).append(one)
        first = self._pool.submit(read_others, others) if rolling and others else None
        found = read_rolling(rolling) if rolling else {}
        return found | (first.result() if first is not None else read_others(others))

    def _read(self, keys: Collection[str], *, consistent: bool = True) -> dict[str, Item]:
        wanted = list(keys)
        if len(wanted) == 1 and not consistent:
            item = get_item(self._client, self._rankings, item_key(wanted[0]))
            return {} if item is None else {wanted[0]: item}
        parts = [wanted[start : start + MAX_KEYS] for start in range(0, len(wanted), MAX_KEYS)]
        read = partial(items_by_key, self._client, self._rankings, clock=self._clock, consistent=consistent)
        pages = map(read, parts) if len(parts) == 1 else self._pool.map(read, parts)
        return dict(chain.from_iterable(page.items() for page in pages))

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

    def counts(self, parts: Sequence[Part], most: int) -> list[tuple[int, str | None]]:
        """Count up to `most` entries of each part, and say where its rest begins; None: all of it is counted."""

        def count(part: Part) -> tuple[int, str | None]:
            (partition, first, last), condition = part, " AND s BETWEEN :first AND :last"
            request = on_places(self._rankings, index_key(*partition), condition, first=first, last=last)
            answers = list(query(self._client, most, **request, Select="COUNT"))
            # An answer that ends with the range's last entry names it too, and DynamoDB refuses a range behind its end.
            end = answers[-1].get("LastEvaluatedKey", {"s": {"S": last}})["s"]["S"]
            return sum(answer["Count"] for answer in answers), f"{end}\0" if end < last else None

        return list(self._pool.map(count, parts))

    def record(self, board: str) -> BoardRecord | None:
        """Read a board's record, strongly consistently; None for a board without events."""
        return self._boards.records([board]).get(board)

    def boards(self, prefix: str, after: str | None, limit: int) -> list[str]:
        """List the names of boards that start with a prefix and sort after `after`, in order."""
        return self._boards.names(after, limit, prefix)

    def image(self, board: str, member: str) -> Image | None:
        """Read a member's item, strongly consistently; None if it does not exist."""
        return self._members.image((board, member))

    def _span(self, ranking: Ranking, span: Span) -> list[Entry]:
        side = ">" if span.forward else "<"
        ends = {} if span.beyond is None else {"condition": f" AND s {side} :s", "s": span.beyond}
        request = on_places(self._rankings, index_key(*span.partition), **ends)
        items = query_items(self._client, span.limit, **request, ScanIndexForward=span.forward)
        return [_entry(item, ranking) for item in items]


def _entry(item: Item, ranking: Ranking) -> Entry:
    key = item["s"]["S"]
    return Entry(key, *decode_sort_key(key, ties_by_instant=ranking.metric.ties_by_instant), int(item["t"]["N"]))


def _node(items: Mapping[int, Item]) -> Node:
    lanes = [lane_of(item) for item in items.values()]
    # While members move, reads of lanes may be of different moments, and a sum may be below 0.
    counters = {digit: max(count, 0) for digit, count in summed(lane.counters for lane in lanes).items()}
    written_at_ms = max((lane.written_at_ms for lane in lanes if lane.written_at_ms is not None), default=None)
    return Node(counters, written_at_ms, max(shards_ever(items.get(0, {}))))
