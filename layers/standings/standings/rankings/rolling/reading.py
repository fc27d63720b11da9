"""Reads rolling windows: members' rows, and the counts of tier nodes with the log entries that they lack."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from standings.aws.dynamodb.tables import Item, ReadKeys, entry_key, lane_of, log_key, node_key, shards_ever
from standings.domain.boards import Ranking
from standings.domain.scoring import sort_key
from standings.domain.tiers import Path, summed
from standings.rankings.rolling import steps as rolling
from standings.runtime.clock import TtlCache
from standings.stores import Entry, Node, StoreRefusedError

Missing = Callable[[str, int, int, int], tuple[rolling.NodeDeltas, int]]
TRIES: Final = 3  # How often logs and nodes are read again while folds go on


class RollingReads:
    """The rolling windows as one request reads them. Counts are of the moment at which it read the logs last.

    A node may lack entries of a log. So the logs are read first, and the entries that a node lacks are added to it.
    Where a node has taken more than was read, the logs are read again. `known` caches the number of a window's logs;
    `logs` are those that the request has read.
    """

    def __init__(self, read: ReadKeys, known: TtlCache[str, int], logs: "dict[str, Logs]") -> None:
        self._read = read
        self._known = known
        self._logs = logs

    def entries(self, wanted: Iterable[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        """The entries of members; those without a place are left out. The logs are read with the rows.

        Raises StoreRefusedError if a row is damaged.
        """
        labels = {(ranking, member): entry_key(rolling.rolling_of(ranking).key, member) for ranking, member in wanted}
        windows = dict.fromkeys(rolling.rolling_of(ranking).key for ranking, _ in labels)
        items = self._with_logs(windows, dict.fromkeys(labels.values()))
        found: dict[tuple[Ranking, str], Entry] = {}
        for (ranking, member), key in labels.items():
            if key not in items:
                continue
            row = rolling.row_of(items[key])
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
            by_window[rolling.rolling_of(ranking).key].append(key)
        self._with_logs([window for window in by_window if window not in self._logs], ())
        items = self._read(list(labels.values()))
        for _ in range(TRIES):
            ahead = {
                window: keys
                for window, keys in by_window.items()
                if any(ahead_of(self._logs[window].by_number, items[key]) for key in keys if key in items)
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
            read = {number: rolling.log_of(item) for number, item in found.items()}
            self._logs[window] = Logs(read, max(shards_ever(found.get(0, {}))))
        return items

    def _missing(self, window: str, number: int, position: int, period: int) -> tuple[rolling.NodeDeltas, int]:
        """The changes of a period's nodes from a position of a log on, and when the latest of the log was written."""
        entries = self._logs[window].by_number[number].since(position)
        written_at_ms = max((entry.written_at_ms for entry in entries), default=0)
        return rolling.node_deltas(entries, range(period, period + 1)), written_at_ms

    def _node(self, ranking: Ranking, path: Path, item: Item, missing: Missing) -> Node | None:
        window = rolling.rolling_of(ranking).key
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


class Logs(NamedTuple):
    """The logs of a window as they were read, by number, and every number of shards that log 0 names."""

    by_number: "Mapping[int, rolling.Log]"
    shards: int


def read_with_logs(
    read: ReadKeys, known: Mapping[str, int], keys: Iterable[str] = ()
) -> tuple[dict[str, Item], dict[str, int]]:
    """Read items together with the logs of windows. Returns both by key, and how many logs each window has.

    That is `{"berlin-2026#i4q7d": 1}`; `known` says how many it has at least. Another read follows where log 0 names
    more.
    """
    logs = [log_key(window, number) for window, count in known.items() for number in range(count)]
    wanted = [*keys, *logs]
    items = read(wanted) if wanted else {}
    counts = {
        window: max(count, rolling.log_count(items.get(log_key(window, 0), {}))) for window, count in known.items()
    }
    more = [log_key(window, number) for window in counts for number in range(known[window], counts[window])]
    items |= read(more) if more else {}
    return items, counts


def joined(earlier: Mapping[int, rolling.Log], later: Mapping[int, rolling.Log]) -> dict[int, rolling.Log] | None:
    """Two readings of a window's logs as one; None if nodes that were read in between may lack entries that were cut.

    It is None also if the earlier reading lacks a log.
    """
    if not later.keys() <= earlier.keys():
        return None
    logs = dict(earlier)
    for number, log in later.items():
        known = earlier[number]
        if log.base > known.end:
            return None
        if log.end > known.end:
            logs[number] = rolling.Log(known.base, (*known.entries[: log.base - known.base], *log.entries))
    return logs


def positions(node: Item) -> dict[int, int]:
    """A node's position in each log that it has taken entries from: `{0: 812}`."""
    return {int(name[1:]): int(value["N"]) for name, value in node.items() if name[0] == "p" and name[1:].isdigit()}


def ahead_of(logs: Mapping[int, rolling.Log], node: Item) -> tuple[int, int] | None:
    """A log's number, and a node's position that is beyond the log's end: `(0, 812)`. None if there is none.

    A log that was not read counts as behind.
    """
    beyond = (
        (number, position)
        for number, position in positions(node).items()
        if number not in logs or position > logs[number].end
    )
    return next(beyond, None)
