"""Reads rankings for audits and announcements, consistently, and counts the read units."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast

from standings.aws.dynamodb.scores import DamagedItem, Scores, decode_stored
from standings.aws.dynamodb.tables import (
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
    member_item_key,
    node_key,
    on_places,
    query_items,
    shard_of,
    shards_ever,
    store_errors,
)
from standings.domain.boards import MAX_UNITS, Metric, Ranking
from standings.domain.members import Image
from standings.domain.scoring import Place, decode_sort_key, sort_key
from standings.domain.tiers import ROOT, Counters, Path, summed
from standings.rankings.calendar.pruning import Trees
from standings.rankings.calendar.storing import MAX_LANES
from standings.rankings.checking import DamagedLog, Listed, Root, Snapshot, StoredRow, StoredSteps
from standings.rankings.rolling.reading import ahead_of, positions, read_with_logs
from standings.rankings.rolling.steps import (
    Block,
    Log,
    RollingRankings,
    list_key,
    listed_member,
    log_bytes,
    log_count,
    log_of,
    node_deltas,
    rolling_of,
    row_of,
)
from standings.rankings.rolling.storing import MAX_LOGS
from standings.runtime.clock import Clock
from standings.stores import Partition, StoreRefusedError

# Counts the read units that DynamoDB charges.


class CountedReads:
    """A client of DynamoDB with those calls that audits make. `units` are the read units of all calls so far.

    DynamoDB names no units when it cancels a transaction, so those are not counted.
    """

    def __init__(self, client: DynamoDBClient) -> None:
        self._client = client
        self.units = 0.0

    def batch_get_item(self, **request: Any) -> Any:
        return self._counted(self._client.batch_get_item(**request, ReturnConsumedCapacity="TOTAL"))

    def query(self, **request: Any) -> Any:
        return self._counted(self._client.query(**request, ReturnConsumedCapacity="TOTAL"))

    def transact_get_items(self, **request: Any) -> Any:
        return self._counted(self._client.transact_get_items(**request, ReturnConsumedCapacity="TOTAL"))

    def _counted(self, answer: Any) -> Any:
        consumed = answer.get("ConsumedCapacity", [])
        # A query names one table; the others name each table that they read.
        self.units += sum(one["CapacityUnits"] for one in (consumed if isinstance(consumed, list) else [consumed]))
        return answer


# Reads Scores and Rankings for an audit: items by key, items of one moment, and parts of the sorted index.

Key = tuple[str, Item]  # A table, and the key of an item in it


class AuditTables:
    """The tables of Scores and Rankings."""

    def __init__(self, client: DynamoDBClient, scores: str, rankings: str, clock: Clock) -> None:
        self._client = client
        self._scores = scores
        self._rankings = rankings
        self._clock = clock

    def items(self, keys: Collection[str]) -> dict[str, Item]:
        """Items of Rankings by key; they may be a moment old."""
        return items_by_key(self._client, self._rankings, keys, self._clock)

    def at_once(self, *keys: Key) -> list[Item]:
        """Items of one moment. An item that does not exist is empty. StoreUnavailableError: conflict with a write."""
        gets: Any = [{"Get": {"TableName": table, "Key": key}} for table, key in keys]
        with store_errors():
            answer = self._client.transact_get_items(TransactItems=gets)
        return [response.get("Item", {}) for response in answer["Responses"]]

    def of_member(self, board: str, member: str) -> Key:
        """A member's item in Scores, for `at_once`."""
        return self._scores, member_item_key(board, member)

    def of_ranking(self, key: str) -> Key:
        """An item of Rankings, for `at_once`."""
        return self._rankings, item_key(key)

    def placed(self, partition: str, beyond: str, before: str | None, limit: int) -> list[Item]:
        """Up to `limit` items of a partition of the sorted index, between two sort keys."""
        request = on_places(self._rankings, partition, " AND s > :s", s=beyond)
        if before is not None:
            # BETWEEN includes both ends, which are dropped below.
            request = on_places(self._rankings, partition, " AND s BETWEEN :s AND :e", s=beyond, e=before)
            limit += 2
        items = query_items(self._client, limit, **request)
        return [item for item in items if item["s"]["S"] not in {beyond, before}]


def shard_counts(naming: Item, metric: Metric) -> set[int]:
    """The numbers of shards that are or were in use: of the definition, those that an item names, and 1 before that."""
    return {1, metric.shards, *shards_ever(naming)}


def stored_row(item: Item, key: str, member: str, numbers: Iterable[int]) -> StoredRow:
    """A row, or list item, of the list with this key. It is at home in its shard for one of some numbers of shards."""
    homes = {index_key(key, shard_of(member, shards)) for shards in numbers}
    placed = item["s"]["S"] if "s" in item else None
    return StoredRow(placed, version_of(item), "r" in item and item["r"]["S"] in homes)


def version_of(item: Item) -> int:
    """The version of a row or list item."""
    return int(item["v"]["N"]) if "v" in item else 0


def decoded_place(key: str, metric: Metric) -> Place | None:
    """The place that a sort key encodes; None if it is not a valid key. Such a key may be anywhere in the order."""
    try:
        place, member = decode_sort_key(key, ties_by_instant=metric.ties_by_instant)
    except (KeyError, IndexError):
        return None
    return place if sort_key(place, member) == key and abs(place.sort_value) <= MAX_UNITS else None


# Reads rankings of `all` and of calendar windows for an audit: trees in all their lanes.


class CalendarAuditReads:
    """The part of AuditReads that reads trees and entries of `all` and of calendar windows."""

    def __init__(self, tables: AuditTables) -> None:
        self._tables = tables

    def root(self, ranking: Ranking) -> Root:
        key = node_key(ranking.key, ROOT)
        return _root(self._tables.items([key]).get(key, {}), ranking)

    def nodes(self, ranking: Ranking, paths: Sequence[Path], lanes: int) -> dict[Path, Mapping[int, int]]:
        keys = {node_key(ranking.key, path, lane): path for path in paths for lane in range(lanes)}
        nodes: dict[Path, list[Item]] = {}
        for key, item in self._tables.items(keys).items():
            nodes.setdefault(keys[key], []).append(item)
        return {path: _counters(lanes_) for path, lanes_ in nodes.items()}

    def snapshot(self, ranking: Ranking, path: Path) -> Snapshot:
        root, (lanes,) = self._lanes(ranking, path)
        return Snapshot(root, _counters(lanes[: root.lanes]), lanes)

    def edge(self, ranking: Ranking, path: Path, digit: int) -> tuple[int, int]:
        root, (above, below) = self._lanes(ranking, path, (*path, digit))
        counted = _counters(above[: root.lanes])
        return counted.get(digit, 0), sum(_counters(below[: root.lanes]).values())

    def entry(self, ranking: Ranking, item: Item) -> Listed:
        key, member = item["s"]["S"], item["pk"]["S"].removeprefix(entry_key(ranking.key, ""))
        return Listed(key, member, decoded_place(key, ranking.metric))

    def _lanes(self, ranking: Ranking, *paths: Path) -> tuple[Root, list[list[Item]]]:
        root = node_key(ranking.key, ROOT)
        nodes = [[node_key(ranking.key, path, lane) for lane in range(MAX_LANES)] for path in paths]
        keys = dict.fromkeys([root, *chain.from_iterable(nodes)])
        items = dict(zip(keys, self._tables.at_once(*map(self._tables.of_ranking, keys)), strict=True))
        return _root(items[root], ranking), [[items[key] for key in lanes] for lanes in nodes]


def _root(item: Item, ranking: Ranking) -> Root:
    return Root(lane_count(item), max(shard_counts(item, ranking.metric)))


def _counters(lanes: Iterable[Item]) -> dict[int, int]:
    return summed(lane_of(item).counters for item in lanes)


# Reads rolling windows for an audit: rows, list items, and trees with the entries of logs that their nodes lack.


class _Change(NamedTuple):
    """What an entry of a log changes in the tree of one period."""

    number: int
    position: int
    by_path: Mapping[Path, Counters]


class _Logs(NamedTuple):
    """The logs of a window by number, and what they change in the tree of one period. `first` is the item of log 0."""

    first: Item
    by_number: Mapping[int, Log]
    changes: Sequence[_Change]

    def missing(self, path: Path, node: Item) -> list[tuple[int, int, Counters]]:
        """The changes that a node lacks: the log's number, the entry's position, and the counters."""
        at = positions(node)
        return [
            (number, position, by_path[path])
            for number, position, by_path in self.changes
            if path in by_path and position >= at.get(number, 0)
        ]

    def counters(self, path: Path, node: Item) -> dict[int, int]:
        """A node's counters at the end of the logs."""
        return summed([lane_of(node).counters, *(counters for _, _, counters in self.missing(path, node))])


class RollingAuditReads:
    """The part of AuditReads that reads rolling windows."""

    def __init__(self, tables: AuditTables) -> None:
        self._tables = tables
        self._known: dict[str, int] = {}  # The number of logs of each window

    def steps(self, rankings: RollingRankings, members: Sequence[str]) -> dict[str, StoredSteps]:
        by_key = {entry_key(rankings.key, member): member for member in members}
        return {by_key[key]: _steps(item) for key, item in self._tables.items(by_key).items()}

    def listed(
        self, rankings: RollingRankings, keys: Sequence[tuple[Block, str]]
    ) -> dict[tuple[Block, str], StoredRow]:
        by_key = {entry_key(list_key(rankings, block), member): (block, member) for block, member in keys}
        items = ((by_key[key], item) for key, item in self._tables.items(by_key).items())
        shards = {rankings.metric.shards}
        return {
            (block, member): stored_row(item, list_key(rankings, block), member, shards)
            for (block, member), item in items
        }

    def member_snapshot(
        self, rankings: RollingRankings, member: str, blocks: Sequence[Block]
    ) -> tuple[Image | None, StoredSteps | None, dict[Block, StoredRow]]:
        keys = [entry_key(rankings.key, member), log_key(rankings.key, 0)]
        keys += (entry_key(list_key(rankings, block), member) for block in blocks)
        read = self._tables.at_once(self._tables.of_member(rankings.board, member), *map(self._tables.of_ranking, keys))
        image, row, log, *items = read
        shards = shard_counts(log, rankings.metric)
        found = {
            block: stored_row(item, list_key(rankings, block), member, shards)
            for block, item in zip(blocks, items, strict=True)
            if item
        }
        return decode_stored(image) if image else None, _steps(row) if row else None, found

    def root(self, ranking: Ranking) -> Root:
        return _root_of(self._logs(ranking).first, ranking)

    def nodes(self, ranking: Ranking, paths: Sequence[Path], lanes: int) -> dict[Path, Counters]:
        del lanes  # A node of a rolling window has one
        logs = self._logs(ranking)
        keys = {path: node_key(ranking.key, path) for path in paths}
        items = self._tables.items(keys.values())
        if any(ahead_of(logs.by_number, item) for item in items.values()):
            logs = self._logs(ranking)
        nodes = {path: logs.counters(path, items.get(key, {})) for path, key in keys.items()}
        return {path: counters for path, counters in nodes.items() if counters}

    def snapshot(self, ranking: Ranking, path: Path) -> Snapshot:
        logs, (node,) = self._at_once(ranking, path)
        # Other changes of the window are no change of this node, and neither is a fold of them.
        return Snapshot(_root_of(logs.first, ranking), logs.counters(path, node), (node, logs.missing(path, node)))

    def edge(self, ranking: Ranking, path: Path, digit: int) -> tuple[int, int]:
        child = (*path, digit)
        logs, (above, below) = self._at_once(ranking, path, child)
        return logs.counters(path, above).get(digit, 0), sum(logs.counters(child, below).values())

    def entry(self, ranking: Ranking, item: Item) -> Listed:
        """A list item as an entry of a ranking."""
        key = item["s"]["S"]
        block, member = listed_member(rolling_of(ranking), item["pk"]["S"]) or (None, item["pk"]["S"])
        return Listed(key, member, decoded_place(key, ranking.metric), block)

    def _logs(self, ranking: Ranking) -> _Logs:
        """The logs of a ranking's window, which may be a moment old."""
        window = rolling_of(ranking).key
        items, counts = read_with_logs(self._tables.items, {window: self._known.get(window, 1)})
        self._known |= counts
        return self._decoded(ranking, items)

    def _at_once(self, ranking: Ranking, *paths: Path) -> tuple[_Logs, list[Item]]:
        """The logs and nodes of one moment. DamagedLog if a node has taken entries that its log never had."""
        window = rolling_of(ranking).key
        logs = [log_key(window, number) for number in range(MAX_LOGS)]
        keys = [*logs, *(node_key(ranking.key, path) for path in paths)]
        items = self._tables.at_once(*map(self._tables.of_ranking, keys))
        read = self._decoded(ranking, dict(zip(logs, items[:MAX_LOGS], strict=True)))
        for path, node in zip(paths, nodes := items[MAX_LOGS:], strict=True):
            if ahead := ahead_of(read.by_number, node):
                number, position = ahead
                why = f"node {bytes(path).hex()!r} of {ranking.key} is at {position}, which is beyond the log's end"
                raise DamagedLog(log_key(window, number), why)
        return read, nodes

    def _decoded(self, ranking: Ranking, items: Mapping[str, Item]) -> _Logs:
        window = rolling_of(ranking).key
        first = items.get(log_key(window, 0), {})
        found = {number: items.get(log_key(window, number), {}) for number in range(log_count(first))}
        logs = {number: _log(item) for number, item in found.items() if item}
        period = range(ranking.period, ranking.period + 1)
        changes = [
            _Change(number, log.base + index, {path: counters for (_, path), counters in deltas.items()})
            for number, log in logs.items()
            for index, entry in enumerate(log.entries)
            if (deltas := node_deltas([entry], period))
        ]
        return _Logs(first, logs, changes)


def _root_of(first: Item, ranking: Ranking) -> Root:
    return Root(1, max(shard_counts(first, ranking.metric)))


def _log(item: Item) -> Log:
    """The log that an item holds. DamagedLog if it cannot be read, or if it has lost or gained entries."""
    key = item["pk"]["S"]
    try:
        log = log_of(item)
        there, expected = sum(len(text["S"]) for text in item["l"]["L"]), log_bytes(item)
    except (StoreRefusedError, LookupError, ValueError) as error:
        raise DamagedLog(key, str(error)) from error
    if there != expected:
        raise DamagedLog(key, f"expected entries of {expected} bytes, got {there}")
    if not all(_is_value(value) for entry in log.entries for change in entry.changes for value in change[2:]):
        raise DamagedLog(key, "an entry has a sort value that no score has")
    return log


def _is_value(value: Any) -> bool:
    return value is None or (type(value) is int and abs(value) <= MAX_UNITS)


def _steps(item: Item) -> StoredSteps:
    row = row_of(item)
    if isinstance(row, str):
        return StoredSteps(version_of(item), None)
    is_sound = all(
        first < until and place.sort_value is not None and all(map(_is_value, place))
        for first, until, place in row.steps.steps
    )
    return StoredSteps(row.version, row.steps if is_sound else None)


# Reads Scores and Rankings in DynamoDB for an audit.


class AuditReads:
    """Reads Scores and Rankings for one thread.

    `pair`, `moment`, `edge` and `picture` read one moment; they raise StoreUnavailableError on a conflict with a write.
    The other reads may be a moment old. What reads the tree of a rolling window raises DamagedLog.

    - `rolling.steps` are the rows of a rolling window, `rolling.listed` are its list items by block and member.
    - `root`, `nodes`, `edge`, `picture` of `tree` read a ranking's tree, and `entries` a partition of the sorted index.
    """

    def __init__(self, client: DynamoDBClient, scores: str, rankings: str, clock: Clock) -> None:
        self._counted = CountedReads(client)
        counted = cast("DynamoDBClient", self._counted)
        self._tables = AuditTables(counted, scores, rankings, clock)
        self._calendar = CalendarAuditReads(self._tables)
        self.rolling = RollingAuditReads(self._tables)
        # It only reads members: no receipts table is needed.
        self._members = Scores(counted, scores, "", clock)

    @property
    def units(self) -> float:
        """The read units used so far."""
        return self._counted.units

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image | DamagedItem]:
        return self._members.members(board, slot, after, limit)

    def images(self, board: str, members: Sequence[str]) -> dict[str, Image]:
        images = self._members.images([(board, member) for member in members], damaged=[])
        return {member: image for (_, member), image in images.items()}

    def rows(self, keys: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], StoredRow]:
        by_key = {entry_key(ranking.key, member): (ranking, member) for ranking, member in keys}
        rows = ((by_key[key], item) for key, item in self._tables.items(by_key).items())
        return {
            (ranking, member): stored_row(item, ranking.key, member, {ranking.metric.shards})
            for (ranking, member), item in rows
        }

    def pair(self, ranking: Ranking, member: str) -> tuple[Image | None, StoredRow | None]:
        image, row, root = self._tables.at_once(
            self._tables.of_member(ranking.board, member),
            self._tables.of_ranking(entry_key(ranking.key, member)),
            self._tables.of_ranking(node_key(ranking.key, ROOT)),
        )
        found = stored_row(row, ranking.key, member, shard_counts(root, ranking.metric)) if row else None
        return decode_stored(image) if image else None, found

    def entries(
        self, ranking: Ranking, partition: Partition, beyond: str, before: str | None, limit: int
    ) -> list[Listed]:
        items = self._tables.placed(index_key(*partition), beyond, before, limit)
        return [self.tree(ranking).entry(ranking, item) for item in items]

    def tree(self, ranking: Ranking) -> CalendarAuditReads | RollingAuditReads:
        """The reads of a ranking's tree and entries."""
        return ranking.window.of_kind(self._calendar, self.rolling)


# Reads the top of a ranking, for announcements: the sorted index, and what is strongly consistent.


class TopReads:
    """Reads of one ranking. Only `indexed` is eventually consistent. Every method may raise StoreUnavailableError."""

    def __init__(self, client: DynamoDBClient, rankings: str, clock: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._clock = clock
        self._trees = Trees(client, rankings, clock)
        # It reads no member's item: no scores table is needed.
        self._tables = AuditTables(client, "", rankings, clock)

    def shards(self, ranking: Ranking) -> int:
        """The highest number of shards that the sorted index has or had."""
        root = get_item(self._client, self._rankings, item_key(node_key(ranking.key, ROOT)), consistent=True)
        return max(shard_counts(root or {}, ranking.metric))

    def indexed(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[str]:
        """Up to `limit` sort keys of a shard of the sorted index, between two sort keys, in order."""
        items = self._tables.placed(index_key(ranking.key, shard), beyond, before, limit)
        return [item["s"]["S"] for item in items]

    def keys(self, ranking: Ranking, members: Collection[str]) -> dict[str, str | None]:
        """The sort key of each member's row; None for a member without a place."""
        by_key = {entry_key(ranking.key, member): member for member in members}
        items = items_by_key(self._client, self._rankings, by_key, self._clock, consistent=True)
        placed = {by_key[key]: item["s"]["S"] for key, item in items.items() if "s" in item}
        return {member: placed.get(member) for member in members}

    def counters(self, ranking: Ranking, paths: Sequence[Path]) -> Mapping[Path, Counters]:
        """The counters of nodes. A node that does not exist is left out."""
        nodes = self._trees.lanes(ranking, paths)
        return {path: summed(lane.counters for lane in lanes.values()) for path, lanes in nodes.items()}
