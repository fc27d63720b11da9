"""Reads Scores and Rankings in DynamoDB for an audit."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import cast

from standings.aws.dynamodb.calls import DynamoDBClient, Item
from standings.aws.dynamodb.counted_reads import CountedReads
from standings.aws.dynamodb.keys import entry_key, index_key, lane_count, lane_of, node_key
from standings.aws.dynamodb.rankings.audit_tables import AuditTables, decoded_place, spreads, stored_row
from standings.aws.dynamodb.rankings.rankings import MAX_LANES
from standings.aws.dynamodb.rankings.rolling_audit_reads import RollingAuditReads
from standings.aws.dynamodb.scores.member_items import decode_stored
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.boards.definitions import Ranking
from standings.domain.members.member_item import Image
from standings.domain.rolling.blocks import Block
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.tiers.tier_path import ROOT, Path
from standings.domain.tiers.tier_tree import summed
from standings.maintain.audit.report import Listed, Root, Snapshot, StoredRow, StoredSteps
from standings.ports.rankings import Partition
from standings.ports.scores import DamagedItem
from standings.runtime.retry import Clock


class DynamoAuditReads:
    """Reads Scores and Rankings for one thread.

    `pair`, `moment`, `edge` and `picture` read one moment; they raise StoreUnavailableError on a conflict with a write.
    The other reads may be a moment old. What reads the tree of a rolling window raises DamagedLog.

    - `steps` are the rows of a rolling window, `listed` are its list items by block and member.
    - `root`, `nodes`, `edge`, `picture` read a ranking's tree, and `entries` a partition of the sorted index.
    """

    def __init__(self, client: DynamoDBClient, scores: str, rankings: str, clock: Clock) -> None:
        self._counted = CountedReads(client)
        counted = cast("DynamoDBClient", self._counted)
        self._tables = AuditTables(counted, scores, rankings, clock)
        self._rolling = RollingAuditReads(self._tables)
        # It only reads members: no receipts table is needed.
        self._members = DynamoScores(counted, scores, "", clock)

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
        found = stored_row(row, ranking.key, member, spreads(root, ranking.metric)) if row else None
        return decode_stored(image) if image else None, found

    def steps(self, rankings: RollingRankings, members: Sequence[str]) -> dict[str, StoredSteps]:
        return self._rolling.steps(rankings, members)

    def listed(
        self, rankings: RollingRankings, keys: Sequence[tuple[Block, str]]
    ) -> dict[tuple[Block, str], StoredRow]:
        return self._rolling.listed(rankings, keys)

    def moment(
        self, rankings: RollingRankings, member: str, blocks: Sequence[Block]
    ) -> tuple[Image | None, StoredSteps | None, dict[Block, StoredRow]]:
        return self._rolling.moment(rankings, member, blocks)

    def root(self, ranking: Ranking) -> Root:
        if ranking.window.rolling:
            return self._rolling.root(ranking)
        key = node_key(ranking.key, ROOT)
        return _root(self._tables.items([key]).get(key, {}), ranking)

    def nodes(self, ranking: Ranking, paths: Sequence[Path], lanes: int) -> dict[Path, Mapping[int, int]]:
        if ranking.window.rolling:
            return self._rolling.nodes(ranking, paths)
        keys = {node_key(ranking.key, path, lane): path for path in paths for lane in range(lanes)}
        nodes: dict[Path, list[Item]] = {}
        for key, item in self._tables.items(keys).items():
            nodes.setdefault(keys[key], []).append(item)
        return {path: _counters(lanes_) for path, lanes_ in nodes.items()}

    def picture(self, ranking: Ranking, path: Path) -> Snapshot:
        if ranking.window.rolling:
            return self._rolling.picture(ranking, path)
        root, (lanes,) = self._lanes(ranking, path)
        return Snapshot(root, _counters(lanes[: root.lanes]), lanes)

    def edge(self, ranking: Ranking, path: Path, digit: int) -> tuple[int, int]:
        if ranking.window.rolling:
            return self._rolling.edge(ranking, path, digit)
        root, (above, below) = self._lanes(ranking, path, (*path, digit))
        counted = _counters(above[: root.lanes])
        return counted.get(digit, 0), sum(_counters(below[: root.lanes]).values())

    def entries(
        self, ranking: Ranking, partition: Partition, beyond: str, before: str | None, limit: int
    ) -> list[Listed]:
        items = self._tables.placed(index_key(*partition), beyond, before, limit)
        if ranking.window.rolling:
            return [self._rolling.listed_entry(ranking, item) for item in items]
        named = ((item["s"]["S"], item["pk"]["S"].removeprefix(entry_key(ranking.key, ""))) for item in items)
        return [Listed(key, member, decoded_place(key, ranking.metric)) for key, member in named]

    def _lanes(self, ranking: Ranking, *paths: Path) -> tuple[Root, list[list[Item]]]:
        root = node_key(ranking.key, ROOT)
        nodes = [[node_key(ranking.key, path, lane) for lane in range(MAX_LANES)] for path in paths]
        keys = dict.fromkeys([root, *chain.from_iterable(nodes)])
        items = dict(zip(keys, self._tables.at_once(*map(self._tables.of_ranking, keys)), strict=True))
        return _root(items[root], ranking), [[items[key] for key in lanes] for lanes in nodes]


def _root(item: Item, ranking: Ranking) -> Root:
    return Root(lane_count(item), max(spreads(item, ranking.metric)))


def _counters(lanes: Iterable[Item]) -> dict[int, int]:
    return summed(lane_of(item).counters for item in lanes)
