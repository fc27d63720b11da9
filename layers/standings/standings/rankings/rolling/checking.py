"""Checks rolling windows: members' rows and list items against their items in Scores, and how an audit reads trees."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from standings.aws.dynamodb import tables
from standings.aws.dynamodb.tables import Item, entry_key, lane_of, log_key, node_key
from standings.domain.boards import MAX_UNITS, Metric, Ranking
from standings.domain.coverage import Coverage
from standings.domain.members import Image
from standings.domain.scoring import Place, are_possible, sort_key
from standings.domain.tiers import Counters, Path, summed
from standings.rankings.findings import AuditReads, Difference, Findings, Kind, Listed, Snapshot, StoredRow, Tree
from standings.rankings.rolling import steps as rolling
from standings.rankings.rolling.reading import ahead_of, positions, read_with_logs
from standings.rankings.rolling.steps import Block, Log, RollingRankings, Steps
from standings.rankings.rolling.storing import MAX_LOGS
from standings.stores import SLOTS, StoreRefusedError

MAX_ITEMS: Final = 90  # List items that are read at one moment, in addition to the member's item, its row and a log
PAGE_SIZE: Final = 1000  # Members that are listed together to find those that have changed lately
NO_STEPS: Final = Steps(0)
Moment = tuple[Image | None, Sequence[Item]]
"""A member's item in Scores, and its row, log 0, and some list items. Those that do not exist are empty."""


@dataclass(frozen=True)
class RollingChecks:
    """Compares the rows and the lists of one rolling window with members' items.

    A row follows from the member's item, and its items in the lists of blocks follow from the row. List items are
    written before the row, and a row is written after its item. So a list item is right if it is what the row says, or
    what the member's item says. One that is newer than the row may be on its way.
    """

    findings: Findings
    rankings: RollingRankings
    coverage: Coverage

    def members(self, images: Sequence[Image]) -> None:
        """Compare the rows of members with their items, and the list items that both lead to."""
        rows = self._rows([image.member for image in images])
        members = [_Member(self, image.member, image, rows.get(image.member, {})) for image in images]
        items = self.findings.reads.items([key for member in members for key in member.keys.values()])
        self.findings.looked_at["rows"] += len(images)
        self.findings.looked_at["list_items"] += sum(len(member.keys) for member in members)
        shards = {self.rankings.metric.shards}
        for member in members:
            keys = member.keys.items()
            doubts = [block for block, key in keys if any(member.of_item(block, items.get(key, {}), shards))]
            if doubts or any(member.of_row()):
                self._recheck(member.name, doubts)

    def surplus(self, period: int, entries: Iterable[Listed]) -> None:
        """Compare list items to which no row and no item leads. `entries` has the entries of a period.

        Each is compared in the first of its periods that can be read. The others are compared with their rows
        (`members`).
        """
        now, low = self.findings.clock.now(), self.readable()
        named = (rolling.listed_member(self.rankings, entry.item_key) for entry in entries)
        new = [one for one in named if one is not None and period == max(one[0].first, low)]
        images = self.findings.reads.images(self.rankings.board, list(dict.fromkeys(name for _, name in new)))
        for block, name in new:
            expected = rolling.steps_of(images.get(name), self.rankings, now)
            if block not in expected.by_block(self.rankings.window, low):
                self._recheck(name, [block], surplus=True)

    def moving(self, period: int) -> dict[str, Place | None] | None:
        """The places in a period, by their rows, of the members that changed within `grace`: `{"u123": Place(-300)}`.

        For these members list, row and index may disagree for a moment. None if the time was over.
        """
        places: dict[str, Place | None] = {}
        for names in self._recent():
            rows = self._rows(names)
            found = {name: _decoded_row(rows.get(name, {}), self.rankings.metric)[1] for name in names}
            places |= {name: steps.place(period) for name, steps in found.items() if steps is not None}
            if self.findings.clock.monotonic() >= self.findings.deadline:
                return None
        return places

    def readable(self) -> int:
        """The first period that can be read now."""
        now = self.findings.clock.now()
        period = self.rankings.first_open(now)
        while now >= (self.coverage.readable_until(self.rankings.at(period)) or 0):
            period += 1
        return period

    def _recent(self) -> Iterator[list[str]]:
        """The members of the board whose items have changed within `grace`, a part at a time."""
        for slot in range(SLOTS):
            after = None
            while True:
                page = self.findings.reads.members(self.rankings.board, slot, after, PAGE_SIZE)
                yield [one.member for one in page if isinstance(one, Image) and self.findings.is_recent(one)]
                if len(page) < PAGE_SIZE:
                    break
                after = page[-1].member

    def _rows(self, names: Sequence[str]) -> dict[str, Item]:
        by_key = {entry_key(self.rankings.key, name): name for name in names}
        return {by_key[key]: row for key, row in self.findings.reads.items(by_key).items()}

    def _recheck(self, name: str, blocks: Sequence[Block], *, surplus: bool = False) -> None:
        """Compare a member's row and list items at one moment, and report differences. `surplus`: only the items."""
        for start in range(0, max(1, len(blocks)), MAX_ITEMS):
            some = blocks[start : start + MAX_ITEMS]
            keys = [entry_key(self.rankings.key, name), log_key(self.rankings.key, 0)]
            keys += (entry_key(rolling.list_key(self.rankings, block), name) for block in some)
            read = partial(self.findings.reads.with_member, self.rankings.board, name, keys)
            with_row = start == 0 and not surplus
            self.findings.recheck(read, partial(self._differences, name, some, with_row=with_row, surplus=surplus))

    def _differences(
        self, name: str, blocks: Sequence[Block], moment: Moment, *, with_row: bool, surplus: bool
    ) -> Iterator[Difference]:
        image, (row, log, *items) = moment
        member, shards = _Member(self, name, image, row), tables.shards_ever(log, 1, self.rankings.metric.shards)
        if with_row:
            yield from member.of_row()
        for block, item in zip(blocks, items, strict=True):
            if not surplus or image is None or block not in member.keys:
                yield from member.of_item(block, item, shards)


class _Member:
    """A member in a rolling window: its item, its row, and the steps that follow from the item.

    Periods that cannot be read are not compared, and neither are those for which the row is not complete. `keys` has
    the keys of the list items that row and item lead to, by their blocks.
    """

    def __init__(self, checks: RollingChecks, name: str, image: Image | None, row: Item) -> None:
        self._findings, self._rankings = checks.findings, checks.rankings
        self.name = name
        self._image = image
        self._version, self._stored = _decoded_row(row, checks.rankings.metric)
        self._expected = rolling.steps_of(image, checks.rankings, checks.findings.clock.now())
        self._low = max(checks.readable(), (self._stored or NO_STEPS).low)
        self._by_row, self._by_item = (
            {block: sort_key(place, name) for block, place in steps.by_block(checks.rankings.window, self._low).items()}
            for steps in (self._stored or NO_STEPS, self._expected)
        )
        blocks = sorted(self._by_row.keys() | self._by_item.keys())
        self.keys = {block: entry_key(rolling.list_key(checks.rankings, block), name) for block in blocks}

    def of_row(self) -> Iterator[Difference]:
        """The first difference between the row and the member's item, if there is one."""
        stored = self._stored or NO_STEPS
        steps = (*self._expected.steps, *stored.steps)
        edges = sorted({max(edge, self._low) for step in steps for edge in (step.first, step.until)})
        differing = (at for at in edges if self._expected.place(at) != stored.place(at))
        at = next(differing, self._low)
        places = self._expected.place(at), stored.place(at)
        expected, found = (None if place is None else sort_key(place, self.name) for place in places)
        row = StoredRow(found, self._version)
        kind = self._findings.kind_of(self._image, row, expected)
        if self._stored is None:
            kind, row = Kind.WRONG, row._replace(key="damaged")
        return row.difference(kind, self._rankings.at(at).key, self.name, expected, self._image)

    def of_item(self, block: Block, item: Item, shard_counts: Iterable[int]) -> Iterator[Difference]:
        """The difference between the list item of a block and the row, if there is one."""
        key = rolling.list_key(self._rankings, block)
        row = StoredRow.of(item, key, self.name, shard_counts)
        kind, expected = self._kind_of(block, row), self._by_row.get(block)
        return row._replace(version=self._version).difference(kind, key, self.name, expected, self._image)

    def _kind_of(self, block: Block, item: StoredRow) -> Kind | None:
        by_row, image = self._by_row.get(block), self._image
        if block.until <= self._low or (image is None and item.key is None):
            return None
        if image is None:
            return Kind.PHANTOM if item.key == by_row else Kind.LISTED
        if item.version is not None and item.version > image.version:
            return Kind.LISTED
        if item.key in {by_row, self._by_item.get(block)}:
            return None if item.key is None or item.at_home else Kind.MISPLACED
        is_newer = item.version is not None and (self._version is None or item.version > self._version)
        return Kind.BEHIND if is_newer and self._findings.is_recent(image) else Kind.LISTED


def _decoded_row(item: Item, metric: Metric) -> tuple[int | None, Steps | None]:
    """A row's version (None: there is no row), and its steps: None if they cannot be decoded."""
    if not item:
        return None, NO_STEPS
    row = rolling.row_of(item)
    if isinstance(row, str):
        return tables.version_of(item), None
    is_sound = all(
        first < until and are_possible(place.values, metric) and abs(place.since or 0) <= MAX_UNITS
        for first, until, place in row.steps.steps
    )
    return row.version, row.steps if is_sound else None


class RollingTree(Tree):
    """The tree of a period of a rolling window, and the items of the lists of all blocks that contain the period.

    The true count of a node is what it stores + the log entries that are not folded into it. Methods raise DamagedLog.
    """

    def __init__(self, reads: AuditReads, ranking: Ranking) -> None:
        super().__init__(reads, ranking, rolling.lists_of(ranking), 1)
        self._rankings = rolling.rolling_of(ranking)
        self.shards = self._logs().shards

    def nodes(self, paths: Sequence[Path]) -> dict[Path, Counters]:
        """Read the counters of nodes, with the entries that they lack."""
        logs = self._logs()
        keys = {path: node_key(self.ranking.key, path) for path in paths}
        items = self._reads.items(keys.values())
        if any(ahead_of(logs.by_number, item) for item in items.values()):
            logs = self._logs()
        nodes = {path: logs.counters(path, items.get(key, {})) for path, key in keys.items()}
        return {path: counters for path, counters in nodes.items() if counters}

    def at_once(self, *paths: Path) -> list[Snapshot]:
        """Read nodes with the logs of that moment."""
        keys = [log_key(self._rankings.key, number) for number in range(MAX_LOGS)]
        keys += (node_key(self.ranking.key, path) for path in paths)
        items = self._reads.at_once(keys)
        logs = _Logs(self.ranking, dict(zip(keys, items, strict=True)))
        return [logs.snapshot(path, node) for path, node in zip(paths, items[MAX_LOGS:], strict=True)]

    def _member(self, item_key: str) -> str:
        named = rolling.listed_member(self._rankings, item_key)
        return item_key if named is None else named[1]

    def _logs(self) -> "_Logs":
        """The logs of the window, which may be a moment old."""
        window = self._rankings.key
        items, counts = read_with_logs(self._reads.items, {window: self._reads.log_counts.get(window, 1)})
        self._reads.log_counts |= counts
        return _Logs(self.ranking, items)


class _Logs:
    """The logs of a window by number, and what each entry of theirs changes in the tree of one period."""

    def __init__(self, ranking: Ranking, items: Mapping[str, Item]) -> None:
        self._ranking = ranking
        self._window = rolling.rolling_of(ranking).key
        first = items.get(log_key(self._window, 0), {})
        self.shards = max(tables.shards_ever(first, 1, ranking.metric.shards))
        numbers = range(rolling.log_count(first))
        found = {number: items.get(log_key(self._window, number)) for number in numbers}
        self.by_number = {number: _log(item, ranking.metric) for number, item in found.items() if item}
        self._changes = [
            (number, log.base + index, deltas)
            for number, log in self.by_number.items()
            for index, entry in enumerate(log.entries)
            if (deltas := rolling.node_deltas([entry], range(ranking.period, ranking.period + 1)))
        ]

    def counters(self, path: Path, node: Item) -> dict[int, int]:
        """The true count of a node."""
        return summed([lane_of(node).counters, *(counters for _, _, counters in self._missing(path, node))])

    def snapshot(self, path: Path, node: Item) -> Snapshot:
        """A node that was read together with the logs. DamagedLog if it has taken entries that its log never had."""
        if ahead := ahead_of(self.by_number, node):
            number, position = ahead
            which = f"node {bytes(path).hex()!r} of {self._ranking.key}"
            raise DamagedLog(log_key(self._window, number), f"{which} is at {position}, which is beyond the log's end")
        # Other changes of the window are no change of a node, and neither is a fold of them.
        return Snapshot(self.shards, self.counters(path, node), (node, self._missing(path, node)))

    def _missing(self, path: Path, node: Item) -> list[tuple[int, int, Counters]]:
        """The changes that a node lacks: the log's number, the entry's position, and the counters."""
        at, label = positions(node), (self._ranking.period, path)
        return [
            (number, position, deltas[label])
            for number, position, deltas in self._changes
            if label in deltas and position >= at.get(number, 0)
        ]


def _log(item: Item, metric: Metric) -> Log:
    """The log that an item holds. DamagedLog if it cannot be read, or if it has lost or gained entries."""
    key = item["pk"]["S"]
    try:
        log = rolling.log_of(item)
        there, expected = sum(len(text["S"]) for text in item["l"]["L"]), rolling.log_bytes(item)
    except (StoreRefusedError, LookupError, ValueError) as error:
        raise DamagedLog(key, str(error)) from error
    if there != expected:
        raise DamagedLog(key, f"expected entries of {expected} bytes, got {there}")
    places = (place for entry in log.entries for change in entry.changes for place in (change.old, change.new))
    if not all(place is None or are_possible(place, metric) for place in places):
        raise DamagedLog(key, "an entry has a sort value that no score has")
    return log


class DamagedLog(Exception):
    """A log cannot be read: its key, and why."""
