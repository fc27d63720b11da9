"""Reads rolling windows for an audit: rows, the list, and trees with the entries of logs that their nodes lack."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from standings.aws.dynamodb.calls import Item
from standings.aws.dynamodb.keys import entry_key, index_key, log_key, node_key
from standings.aws.dynamodb.rankings.audit_tables import (
    AuditTables,
    decoded_place,
    is_at_home,
    spreads,
    version_of,
)
from standings.aws.dynamodb.rankings.rolling_items import (
    ahead_of,
    item_keys,
    list_key,
    list_range,
    log_bytes,
    log_count,
    log_of,
    positions,
    row_of,
)
from standings.aws.dynamodb.rankings.rolling_reads import read_with_logs
from standings.aws.dynamodb.rankings.rolling_windows import MAX_LOGS
from standings.aws.dynamodb.rankings.tier_trees import lane_of
from standings.aws.dynamodb.scores.member_items import decode_stored
from standings.domain.boards.definitions import MAX_UNITS, Ranking
from standings.domain.members.member_item import Image
from standings.domain.rolling.count_log import Log, node_deltas
from standings.domain.rolling.rolling_rankings import RollingRankings, rolling_of
from standings.domain.tiers.tier_path import Path
from standings.domain.tiers.tier_tree import summed
from standings.maintain.audit.report import (
    DamagedLog,
    Listed,
    ListedStep,
    Root,
    Snapshot,
    StoredItem,
    StoredSteps,
)
from standings.ports.errors import StoreRefusedError

UNREADABLE: Final = -1  # In place of the periods of a list item that cannot be read

Counters = Mapping[int, int]


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

    def listed(self, rankings: RollingRankings, keys: Sequence[tuple[int, str]]) -> dict[tuple[int, str], StoredItem]:
        by_key = {entry_key(rankings.at(first).key, member): (first, member) for first, member in keys}
        shards = {rankings.metric.shards}
        return {
            by_key[key]: _item(item, rankings, *by_key[key], shards) for key, item in self._tables.items(by_key).items()
        }

    def moment(
        self, rankings: RollingRankings, member: str, firsts: Sequence[int]
    ) -> tuple[Image | None, StoredSteps | None, dict[int, StoredItem]]:
        keys = [entry_key(rankings.key, member), log_key(rankings.key, 0)]
        keys += (entry_key(rankings.at(first).key, member) for first in firsts)
        read = self._tables.at_once(self._tables.of_member(rankings.board, member), *map(self._tables.of_ranking, keys))
        image, row, log, *items = read
        shards = spreads(log, rankings.metric)
        found = {
            first: _item(item, rankings, first, member, shards)
            for first, item in zip(firsts, items, strict=True)
            if item
        }
        return decode_stored(image) if image else None, _steps(row) if row else None, found

    def root(self, ranking: Ranking) -> Root:
        return _root(self._logs(ranking).first, ranking)

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
        return Snapshot(_root(logs.first, ranking), logs.counters(path, node), (node, logs.lacking(path, node)))

    def edge(self, ranking: Ranking, path: Path, digit: int) -> tuple[int, int]:
        child = (*path, digit)
        logs, (above, below) = self._at_once(ranking, path, child)
        return logs.counters(path, above).get(digit, 0), sum(logs.counters(child, below).values())

    def entries(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[Listed]:
        rankings = rolling_of(ranking)
        found: list[Listed] = []
        for item in self._tables.placed(index_key(list_key(rankings, ranking.period), shard), beyond, before, limit):
            key = item["s"]["S"]
            named = item_keys(rankings).fullmatch(item["pk"]["S"])
            first, member = (int(named[1]), named[2]) if named else (None, item["pk"]["S"])
            found.append(Listed(key, member, decoded_place(key, ranking.metric), first, _range(rankings, item)))
        return found

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


def _root(first: Item, ranking: Ranking) -> Root:
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


def _item(item: Item, rankings: RollingRankings, named: int, member: str, shards: Iterable[int]) -> StoredItem:
    if "s" not in item:
        return StoredItem(version_of(item), None)
    first, until = _range(rankings, item) or (UNREADABLE, UNREADABLE)
    step = ListedStep(first, until, item["s"]["S"])
    return StoredItem(version_of(item), step, is_at_home(item, list_key(rankings, named), member, shards))


def _range(rankings: RollingRankings, item: Item) -> tuple[int, int] | None:
    """The first period of a list item, and the one in which its step ends; None if they cannot be read."""
    try:
        return list_range(rankings, item)
    except (LookupError, TypeError, ValueError):
        return None
