"""Reads Scores and Rankings in DynamoDB for an audit."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from standings.aws.dynamodb.calls import DynamoDBClient, Item, batch_get, query_items, store_errors
from standings.aws.dynamodb.keys import PLACES, entry_key, index_key, member_item_key, node_key, shard_of
from standings.aws.dynamodb.rankings.rankings import MAX_LANES
from standings.aws.dynamodb.rankings.tier_trees import lane_count, lane_of, shards_ever
from standings.aws.dynamodb.scores.member_items import decode_image
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.boards.definitions import MAX_UNITS, Ranking
from standings.domain.members.member_item import Image
from standings.domain.scoring.sort_order import Place, decode_sort_key, sort_key
from standings.domain.tiers.tier_path import ROOT, Path
from standings.domain.tiers.tier_tree import summed
from standings.maintain.audit.report import Listed, Root, Snapshot, StoredRow
from standings.runtime.retry import Clock

UNIT_BYTES: Final = 4096
EVENTUAL: Final = 0.5
TRANSACTIONAL: Final = 2


class DynamoAuditReads:
    """Reads Scores and Rankings for one thread.

    `pair`, `edge` and `picture` read one moment; they raise StoreUnavailableError on a conflict with a write. The other
    reads may be a moment old. `units` counts the read units used, as if every item were under 4 KB, as all are.
    """

    def __init__(self, client: DynamoDBClient, scores: str, rankings: str, clock: Clock) -> None:
        self._client = client
        self._scores = scores
        self._rankings = rankings
        self._clock = clock
        # It only reads members: no receipts table is needed.
        self._members = DynamoScores(client, scores, "", clock)
        self.units = 0.0

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image]:
        images = self._members.members(board, slot, after, limit)
        size = sum(
            len(image.board) + len(image.member) + 60 + 13 * len(image.values) + 20 * len(image.tie_keys)
            for image in images
        )
        self.units += max(1.0, size / UNIT_BYTES)
        return images

    def images(self, board: str, members: Sequence[str]) -> dict[str, Image]:
        images = self._members.images([(board, member) for member in members])
        self.units += EVENTUAL * len(members)
        return {member: image for (_, member), image in images.items()}

    def rows(self, keys: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], StoredRow]:
        by_key = {entry_key(ranking.key, member): (ranking, member) for ranking, member in keys}
        rows = ((by_key[item["pk"]["S"]], item) for item in self._items(by_key))
        return {
            (ranking, member): _row(item, ranking, member, {ranking.metric.shards}) for (ranking, member), item in rows
        }

    def pair(self, ranking: Ranking, member: str) -> tuple[Image | None, StoredRow | None]:
        image, row, root = self._at_once(
            (self._scores, member_item_key(ranking.board, member)),
            (self._rankings, {"pk": {"S": entry_key(ranking.key, member)}}),
            (self._rankings, {"pk": {"S": node_key(ranking.key, ROOT)}}),
        )
        found = _row(row, ranking, member, _spreads(root, ranking)) if row else None
        return decode_image(image) if image else None, found

    def root(self, ranking: Ranking) -> Root:
        items = self._items([node_key(ranking.key, ROOT)])
        return _root(items[0] if items else {}, ranking)

    def nodes(self, ranking: Ranking, paths: Sequence[Path], lanes: int) -> dict[Path, Mapping[int, int]]:
        keys = {node_key(ranking.key, path, lane): path for path in paths for lane in range(lanes)}
        nodes: dict[Path, list[Item]] = {}
        for item in self._items(keys):
            nodes.setdefault(keys[item["pk"]["S"]], []).append(item)
        return {path: _counters(lanes_) for path, lanes_ in nodes.items()}

    def picture(self, ranking: Ranking, path: Path) -> Snapshot:
        root, (lanes,) = self._lanes(ranking, path)
        return Snapshot(root, _counters(lanes[: root.lanes]), lanes)

    def edge(self, ranking: Ranking, path: Path, digit: int) -> tuple[int, int]:
        root, (above, below) = self._lanes(ranking, path, (*path, digit))
        counted = _counters(above[: root.lanes])
        return counted.get(digit, 0), sum(_counters(below[: root.lanes]).values())

    def entries(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[Listed]:
        values = {":r": {"S": index_key(ranking.key, shard)}, ":s": {"S": beyond}}
        condition = "r = :r AND s > :s"
        if before is not None:
            # BETWEEN includes both ends, which are dropped below.
            condition = "r = :r AND s BETWEEN :s AND :e"
            values[":e"] = {"S": before}
            limit += 2
        items = query_items(self._client, limit, self._rankings, condition, values, IndexName=PLACES)
        size = sum(len(item["pk"]["S"]) + len(item["r"]["S"]) + len(item["s"]["S"]) + 20 for item in items)
        self.units += max(EVENTUAL, EVENTUAL * size / UNIT_BYTES)
        return [
            Listed(key, item["pk"]["S"].removeprefix(entry_key(ranking.key, "")), _place(key, ranking))
            for item in items
            if (key := item["s"]["S"]) not in {beyond, before}
        ]

    def _items(self, keys: Collection[str]) -> list[Item]:
        items = batch_get(self._client, self._rankings, [{"pk": {"S": key}} for key in keys], self._clock)
        self.units += EVENTUAL * len(keys)
        return items

    def _lanes(self, ranking: Ranking, *paths: Path) -> tuple[Root, list[list[Item]]]:
        root = node_key(ranking.key, ROOT)
        nodes = [[node_key(ranking.key, path, lane) for lane in range(MAX_LANES)] for path in paths]
        keys = dict.fromkeys([root, *chain.from_iterable(nodes)])
        items = dict(zip(keys, self._at_once(*((self._rankings, {"pk": {"S": key}}) for key in keys)), strict=True))
        return _root(items[root], ranking), [[items[key] for key in lanes] for lanes in nodes]

    def _at_once(self, *keys: tuple[str, Item]) -> list[Item]:
        """Items of one moment, by table and key. An item that does not exist is empty."""
        gets: Any = [{"Get": {"TableName": table, "Key": key}} for table, key in keys]
        with store_errors():
            answer = self._client.transact_get_items(TransactItems=gets)
        self.units += TRANSACTIONAL * len(gets)
        return [response.get("Item", {}) for response in answer["Responses"]]


def _row(item: Item, ranking: Ranking, member: str, spreads: Iterable[int]) -> StoredRow:
    homes = {index_key(ranking.key, shard_of(member, shards)) for shards in spreads}
    key = item["s"]["S"] if "s" in item else None
    version = int(item["v"]["N"]) if "v" in item else 0
    return StoredRow(key, version, at_home="r" in item and item["r"]["S"] in homes)


def _spreads(root: Item, ranking: Ranking) -> set[int]:
    """The numbers of shards that are or were in use: of the definition, named by the root, and 1 before that."""
    return {1, ranking.metric.shards, *shards_ever(root)}


def _root(item: Item, ranking: Ranking) -> Root:
    return Root(lane_count(item), max(_spreads(item, ranking)))


def _counters(lanes: Iterable[Item]) -> dict[int, int]:
    return summed(lane_of(item).counters for item in lanes)


def _place(key: str, ranking: Ranking) -> Place | None:
    """The place that a sort key encodes; None if it is not a valid key. Such a key may be anywhere in the order."""
    try:
        place, member = decode_sort_key(key, ties_by_instant=ranking.metric.ties_by_instant)
    except (KeyError, IndexError):
        return None
    return place if sort_key(place, member) == key and abs(place.sort_value) <= MAX_UNITS else None
