"""Checks calendar rankings: members' rows against their items in Scores, and how an audit reads their trees."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from standings.aws.dynamodb.tables import Item, entry_key, lane_count, lane_of, node_key, shards_ever
from standings.domain.boards import Ranking
from standings.domain.members import Image, place
from standings.domain.scoring import sort_key
from standings.domain.tiers import ROOT, Counters, Path, summed
from standings.rankings.calendar.storing import MAX_LANES
from standings.rankings.findings import AuditReads, Difference, Findings, Kind, Listed, Snapshot, StoredRow, Tree

Pair = tuple[Image | None, StoredRow]
"""A member's item in Scores, and its row in a ranking."""


@dataclass(frozen=True)
class CalendarChecks:
    """Compares rows with members' items. `ranked` gives the rankings that an item is part of, hidden or not."""

    findings: Findings
    ranked: Callable[[Image], Iterator[Ranking]]

    def members(self, images: Sequence[Image], seen: Callable[[Image, Ranking], None] | None) -> None:
        """Compare the rows of members with their items. `seen` is called with each item and ranking."""
        ranked = [(image, ranking) for image in images for ranking in self.ranked(image)]
        rows = self.findings.reads.items([entry_key(ranking.key, image.member) for image, ranking in ranked])
        self.findings.looked_at["rows"] += len(ranked)
        for image, ranking in ranked:
            if seen is not None:
                seen(image, ranking)
            row = rows.get(entry_key(ranking.key, image.member), {})
            pair: Pair = image, StoredRow.of(row, ranking.key, image.member, {ranking.metric.shards})
            differences = partial(self._differences, ranking, image.member)
            self.findings.check(pair, partial(self._read, ranking, image.member), differences)

    def surplus(self, ranking: Ranking, entries: Sequence[Listed]) -> None:
        """Compare members that have entries, but no items in the ranking. The others are compared by `members`."""
        names = [entry.member for entry in entries]
        images = self.findings.reads.images(ranking.board, names)
        for name in names:
            image = images.get(name)
            if image is None or ranking not in set(self.ranked(image)):
                self.findings.recheck(partial(self._read, ranking, name), partial(self._differences, ranking, name))

    def _read(self, ranking: Ranking, member: str) -> Pair:
        keys = [entry_key(ranking.key, member), node_key(ranking.key, ROOT)]
        image, (row, root) = self.findings.reads.with_member(ranking.board, member, keys)
        return image, StoredRow.of(row, ranking.key, member, shards_ever(root, 1, ranking.metric.shards))

    def _differences(self, ranking: Ranking, member: str, pair: Pair) -> Iterator[Difference]:
        image, row = pair
        there = place(image, ranking)
        expected = None if there is None else sort_key(there, member)
        kind = self.findings.kind_of(image, row, expected)
        if kind is None and expected is not None and not row.at_home:
            kind = Kind.MISPLACED
        return row.difference(kind, ranking.key, member, expected, image)


class CalendarTree(Tree):
    """The tree and the entries of a calendar ranking: a node is the sum of its lanes, and the root names their number.

    The number is read once. A read of one moment sums the lanes that the root names at that moment.
    """

    def __init__(self, reads: AuditReads, ranking: Ranking) -> None:
        key = node_key(ranking.key, ROOT)
        root = reads.items([key]).get(key, {})
        super().__init__(reads, ranking, [ranking.key], max(shards_ever(root, 1, ranking.metric.shards)))
        self._lanes = lane_count(root)

    def nodes(self, paths: Sequence[Path]) -> dict[Path, Counters]:
        """Read the counters of nodes, in all their lanes."""
        keys = {node_key(self.ranking.key, path, lane): path for path in paths for lane in range(self._lanes)}
        lanes: dict[Path, list[Item]] = {}
        for key, item in self._reads.items(keys).items():
            lanes.setdefault(keys[key], []).append(item)
        return {path: _sum(items) for path, items in lanes.items()}

    def at_once(self, *paths: Path) -> list[Snapshot]:
        """Read nodes at one moment, in all lanes that there may be."""
        root = node_key(self.ranking.key, ROOT)
        nodes = [[node_key(self.ranking.key, path, lane) for lane in range(MAX_LANES)] for path in paths]
        keys = dict.fromkeys([root, *(key for lanes in nodes for key in lanes)])
        items = dict(zip(keys, self._reads.at_once(keys), strict=True))
        count, shards = lane_count(items[root]), max(shards_ever(items[root], 1, self.ranking.metric.shards))
        found = [[items[key] for key in lanes] for lanes in nodes]
        return [Snapshot(shards, _sum(lanes[:count]), (count, lanes)) for lanes in found]

    def _member(self, item_key: str) -> str:
        return item_key.removeprefix(entry_key(self.ranking.key, ""))


def _sum(lanes: Sequence[Item]) -> Counters:
    return summed(lane_of(item).counters for item in lanes)
