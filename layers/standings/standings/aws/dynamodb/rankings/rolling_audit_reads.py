"""Reads rolling windows for an audit: rows, list items, and trees with the entries of logs that their nodes lack."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from standings.aws.dynamodb.calls import Item
from standings.aws.dynamodb.keys import entry_key, lane_of, log_key, node_key
from standings.aws.dynamodb.rankings.audit_tables import AuditTables, decoded_place, spreads, stored_row, version_of
from standings.aws.dynamodb.rankings.rolling_items import (
    ahead_of,
    listed_member,
    log_bytes,
    log_count,
    log_of,
    positions,
    row_of,
)
from standings.aws.dynamodb.rankings.rolling_reads import read_with_logs
from standings.aws.dynamodb.rankings.rolling_windows import MAX_LOGS
from standings.aws.dynamodb.scores.member_items import decode_stored
from standings.domain.boards.definitions import MAX_UNITS, Ranking
from standings.domain.members.member_item import Image
from standings.domain.rolling.blocks import Block, list_key
from standings.domain.rolling.count_log import Log, node_deltas
from standings.domain.rolling.rolling_rankings import RollingRankings, rolling_of
from standings.domain.tiers.tier_path import Path
from standings.domain.tiers.tier_tree import Counters, summed
from standings.maintain.audit.report import DamagedLog, Listed, Root, Snapshot, StoredRow, StoredSteps
from standings.ports.errors import StoreRefusedError


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

    def lacking(self, path: Path, node: Item) -> list[tuple[int, int, Counters]]:
        """The changes that a node lacks: the log's number, the entry's position, and the counters."""
        at = positions(node)
        return [
            (number, position, by_path[path])
            for number, position, by_path in self.changes
            if path in by_path and position >= at.get(number, 0)
        ]

    def counters(self, path: Path, node: Item) -> dict[int, int]:
        """A node's counters at the end of the logs."""
        return summed([lane_of(node).counters, *(counters for _, _, counters in self.lacking(path, node))])


class RollingAuditReads:
    """The part of DynamoAuditReads that reads rolling windows."""

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

    def moment(
        self, rankings: RollingRankings, member: str, blocks: Sequence[Block]
    ) -> tuple[Image | None, StoredSteps | None, dict[Block, StoredRow]]:
        keys = [entry_key(rankings.key, member), log_key(rankings.key, 0)]
        keys += (entry_key(list_key(rankings, block), member) for block in blocks)
        read = self._tables.at_once(self._tables.of_member(rankings.board, member), *map(self._tables.of_ranking, keys))
        image, row, log, *items = read
        shards = spreads(log, rankings.metric)
        found = {
            block: stored_row(item, list_key(rankings, block), member, shards)
            for block, item in zip(blocks, items, strict=True)
            if item
        }
        return decode_stored(image) if image else None, _steps(row) if row else None, found

    def root(self, ranking: Ranking) -> Root:
        return _root_of(self._logs(ranking).first, ranking)

    def nodes(self, ranking: Ranking, paths: Sequence[Path]) -> dict[Path, Counters]:
        logs = self._logs(ranking)
        keys = {path: node_key(ranking.key, path) for path in paths}
        items = self._tables.items(keys.values())
        if any(ahead_of(logs.by_number, item) for item in items.values()):
            logs = self._logs(ranking)
        nodes = {path: logs.counters(path, items.get(key, {})) for path, key in keys.items()}
        return {path: counters for path, counters in nodes.items() if counters}

    def picture(self, ranking: Ranking, path: Path) -> Snapshot:
        logs, (node,) = self._at_once(ranking, path)
        # Other changes of the window are no change of this node, and neither is a fold of them.
        return Snapshot(_root_of(logs.first, ranking), logs.counters(path, node), (node, logs.lacking(path, node)))

    def edge(self, ranking: Ranking, path: Path, digit: int) -> tuple[int, int]:
        child = (*path, digit)
        logs, (above, below) = self._at_once(ranking, path, child)
        return logs.counters(path, above).get(digit, 0), sum(logs.counters(child, below).values())

    def listed_entry(self, ranking: Ranking, item: Item) -> Listed:
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
    return Root(1, max(spreads(first, ranking.metric)))


def _log(item: Item) -> Log:
    """The log that an item holds. DamagedLog if it cannot be read, or if it has lost or won entries."""
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
