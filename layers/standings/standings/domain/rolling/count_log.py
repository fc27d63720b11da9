"""The log of a rolling window: changes of counts that its tier nodes may not have taken in yet.

A transaction appends one entry to a log: the changes of all members that it moves. A *fold* later takes entries into
the nodes, and cuts them off the log. Entries have positions, which never come again: `base` is that of the first one
that is left. A node remembers its position in each log, which is that of the first entry that it lacks. So a node and
the entries from its position on are the count at the end of the log.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from standings.domain.rolling.steps import CountChange
from standings.domain.tiers.tier_path import Path
from standings.domain.tiers.tier_tree import deltas

NodeDeltas = dict[tuple[int, Path], dict[int, int]]
"""Changes of counters by digit, for each node: its period and path."""


class LogEntry(NamedTuple):
    """The changes of one transaction, and when the latest of its changes was written, in milliseconds."""

    written_at_ms: int
    changes: Sequence[CountChange]


class Log(NamedTuple):
    """A log as it was read: the position of its first entry, and the entries."""

    base: int
    entries: Sequence[LogEntry] = ()

    @property
    def end(self) -> int:
        """The position behind the last entry."""
        return self.base + len(self.entries)

    def since(self, position: int) -> Sequence[LogEntry]:
        """The entries from a position on."""
        return self.entries[max(0, position - self.base) :]


def encode_entry(entry: LogEntry) -> str:
    """An entry as text: the time, then four numbers for each change. Ranges are given from where the last one ended."""
    numbers: list[int | None] = [entry.written_at_ms]
    last = 0
    for first, until, old, new in entry.changes:
        numbers += (first - last, until - first, old, new if old is None or new is None else new - old)
        last = until
    return orjson.dumps(numbers).decode()


def decode_entry(text: str) -> LogEntry:
    """The entry in a text. Raises ValueError for any other text."""
    numbers = orjson.loads(text)
    if not _is_entry(numbers):
        raise ValueError(f"expected an entry of a log, got {text[:80]!r}")
    written_at_ms, *numbers = numbers
    changes: list[CountChange] = []
    last = 0
    for gap, length, old, new in zip(*[iter(numbers)] * 4, strict=True):
        first = last + gap
        last = first + length
        changes.append(CountChange(first, last, old, new if old is None or new is None else old + new))
    return LogEntry(written_at_ms, changes)


def _is_entry(numbers: Any) -> bool:
    if type(numbers) is not list or len(numbers) % 4 != 1:
        return False
    types = set(map(type, (numbers[0], *numbers[1::4], *numbers[2::4])))
    value_types = set(map(type, (*numbers[3::4], *numbers[4::4])))
    return types == {int} and value_types <= {int, type(None)} and min(numbers[2::4], default=1) > 0


def node_deltas(entries: Iterable[LogEntry], periods: range) -> NodeDeltas:
    """The net change of every counter that some entries change in these periods."""
    by_range: defaultdict[tuple[int, int], list[tuple[int | None, int | None]]] = defaultdict(list)
    for change in _changes(entries, periods):
        by_range[change.first, change.until].append((change.old, change.new))
    net: NodeDeltas = {}
    for (first, until), moves in by_range.items():
        of_range = deltas(moves)
        for period in range(first, until):
            for path, counters in of_range.items():
                node = net.setdefault((period, path), {})
                for digit, count in counters.items():
                    node[digit] = node.get(digit, 0) + count
    changed = {node: {digit: n for digit, n in counters.items() if n} for node, counters in net.items()}
    return {node: counters for node, counters in changed.items() if counters}


def fold_deltas(entries: Iterable[LogEntry], periods: range) -> NodeDeltas:
    """The net change of every counter of every node that some entry changes.

    Nodes whose changes cancel each other out are among them, without counters: another fold may have brought such a
    node to a position in between.
    """
    net: NodeDeltas = {}
    for entry in entries:
        for label, counters in node_deltas([entry], periods).items():
            node = net.setdefault(label, {})
            for digit, count in counters.items():
                node[digit] = node.get(digit, 0) + count
    return {label: {digit: n for digit, n in counters.items() if n} for label, counters in net.items()}


def _changes(entries: Iterable[LogEntry], periods: range) -> Iterator[CountChange]:
    for entry in entries:
        for change in entry.changes:
            first, until = max(change.first, periods.start), min(change.until, periods.stop)
            if first < until:
                yield change._replace(first=first, until=until)


def joined(earlier: Mapping[int, Log], later: Mapping[int, Log]) -> dict[int, Log] | None:
    """Two readings of a window's logs as one; None if nodes that were read in between may lack what the later has cut.

    That is so too if a log was not known at the earlier reading.
    """
    if not later.keys() <= earlier.keys():
        return None
    logs = dict(earlier)
    for number, log in later.items():
        known = earlier[number]
        if log.base > known.end:
            return None
        if log.end > known.end:
            logs[number] = Log(known.base, (*known.entries[: log.base - known.base], *log.entries))
    return logs
