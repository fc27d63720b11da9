"""Reads rolling windows for one request: rows, and counts from nodes and logs.

A node may lack entries of a log. So the logs are read first, and the entries that a node lacks are added to it. Where a
node has taken more than was read, the logs are read again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from standings.aws.dynamodb.calls import Item
from standings.aws.dynamodb.keys import entry_key, lane_of, log_key, node_key, shards_ever
from standings.aws.dynamodb.rankings.rolling_items import log_count, log_of, positions, positions_known, row_of
from standings.domain.boards.definitions import Ranking
from standings.domain.rolling.count_log import Log, NodeDeltas, joined, node_deltas
from standings.domain.rolling.rolling_rankings import rolling_of
from standings.domain.scoring.sort_order import sort_key
from standings.domain.tiers.tier_path import Path
from standings.domain.tiers.tier_tree import summed
from standings.ports.errors import StoreRefusedError
from standings.ports.rankings import Entry, Node
from standings.runtime.ttl_cache import TtlCache

TRIES: Final = 3  # How often logs and nodes are read again while folds go on

ReadKeys = Callable[[Sequence[str]], dict[str, Item]]  # Reads items by key, strongly consistently
Missing = Callable[[str, int, int, int], tuple[NodeDeltas, int]]


def read_with_logs(
    read: ReadKeys, known: Mapping[str, int], keys: Iterable[str] = ()
) -> tuple[dict[str, Item], dict[str, int]]:
    """Read items, and the logs of windows beside them. Returns them, and how many logs each window has.

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
        """The entries of members; those without a place are left out. The logs are read beside the rows."""
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
        """Read items, and the logs of windows beside them. Remembers the logs."""
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
