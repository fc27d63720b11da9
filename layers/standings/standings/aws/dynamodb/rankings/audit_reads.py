"""Reads Scores and Rankings in DynamoDB for an audit."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from standings.aws.dynamodb.calls import Item, batch_get, query, store_error
from standings.aws.dynamodb.keys import PLACES, entry_key, index_key, member_item_key, node_key, shard_of
from standings.aws.dynamodb.rankings.rankings import MAX_LANES
from standings.aws.dynamodb.rankings.tier_trees import lane_of
from standings.aws.dynamodb.scores.member_items import decode_image
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.boards.definitions import MAX_UNITS
from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.scoring.sort_order import Place, decode_sort_key, sort_key
from standings.domain.tiers.tier_path import ROOT, Path
from standings.domain.tiers.tier_tree import summed
from standings.maintain.audit.report import Listed, Root, Snapshot, StoredRow
from standings.runtime.retry import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

UNIT_BYTES: Final = 4096
EVENTUAL: Final = 0.5
TRANSACTIONAL: Final = 2


class DynamoAuditReads:
    """Reads Scores and Rankings for one thread.

    `pair`, `edge` and `picture` read one moment; they raise StoreUnavailableError on a conflict with a write. The other
    reads may be a moment old. `units` counts the read units used, as if every item were under 4 KB, as all are.
    """

    def __init__(self, client: "DynamoDBClient", scores: str, rankings: str, pacing: Clock) -> None:
        self._client = client
        self._scores = scores
        self._rankings = rankings
        self._pacing = pacing
        # It only lists members: no receipts table is needed.
        self._listing = DynamoScores(client, scores, "", pacing)
        self.units = 0.0

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image]:
        """As `ports.scores.Scores.members`."""
        images = self._listing.members(board, slot, after, limit)
        self.units += max(1.0, sum(map(_size, images)) / UNIT_BYTES)
        return images

    def images(self, board: str, members: Sequence[str]) -> dict[str, Image]:
        """The items of members; a member without an item is left out."""
        items = batch_get(
            self._client, self._scores, [member_item_key(board, member) for member in members], self._pacing
        )
        self.units += EVENTUAL * len(members)
        return {image.member: image for image in map(decode_image, items)}

    def rows(self, keys: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], StoredRow]:
        """The rows of members, with or without an entry. Only the shard of the current definition is allowed."""
        by_key = {entry_key(ranking, member): (ranking, member) for ranking, member in keys}
        rows = ((by_key[item["pk"]["S"]], item) for item in self._items(by_key))
        return {
            (ranking, member): _row(item, ranking, member, {ranking.metric.shards}) for (ranking, member), item in rows
        }

    def pair(self, ranking: Ranking, member: str) -> tuple[Image | None, StoredRow | None]:
        """A member's item and row. Every shard that was ever in use is allowed."""
        image, row, root = self._at_once(
            (self._scores, member_item_key(ranking.board, member)),
            (self._rankings, {"pk": {"S": entry_key(ranking, member)}}),
            (self._rankings, {"pk": {"S": node_key(ranking, ROOT)}}),
        )
        stored = _row(row, ranking, member, _spreads(root, ranking)) if row is not None else None
        return decode_image(image) if image is not None else None, stored

    def root(self, ranking: Ranking) -> Root:
        items = self._items([node_key(ranking, ROOT)])
        return _root(items[0] if items else None, ranking)

    def nodes(self, ranking: Ranking, paths: Sequence[Path], lanes: int) -> dict[Path, Mapping[int, int]]:
        """The counters of nodes, summed over lanes; a node that does not exist is left out."""
        keys = {node_key(ranking, path, lane): path for path in paths for lane in range(lanes)}
        nodes: dict[Path, list[Item]] = {}
        for item in self._items(keys):
            nodes.setdefault(keys[item["pk"]["S"]], []).append(item)
        return {path: _counters(lanes_) for path, lanes_ in nodes.items()}

    def picture(self, ranking: Ranking, path: Path) -> Snapshot:
        root, (lanes,) = self._lanes(ranking, path)
        return Snapshot(root, _counters(lanes[: root.lanes]), lanes)

    def edge(self, ranking: Ranking, path: Path, digit: int) -> tuple[int, int]:
        """A node's counter for a child, and the sum of the child's own counters."""
        root, (above, below) = self._lanes(ranking, path, (*path, digit))
        counted = _counters(above[: root.lanes])
        return counted.get(digit, 0), sum(_counters(below[: root.lanes]).values())

    def entries(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[Listed]:
        """Entries of one shard of the index, in order, between two keys, both excluded (None: up to the end)."""
        values = {":r": {"S": index_key(ranking, shard)}, ":s": {"S": beyond}}
        condition = "r = :r AND s > :s"
        if before is not None:
            # BETWEEN includes both ends, which are dropped below.
            condition = "r = :r AND s BETWEEN :s AND :e"
            values[":e"] = {"S": before}
            limit += 2
        request = {
            "TableName": self._rankings,
            "IndexName": PLACES,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
        }
        items = [item for answer in query(self._client, request, limit) for item in answer["Items"]]
        size = sum(len(item["pk"]["S"]) + len(item["r"]["S"]) + len(item["s"]["S"]) + 20 for item in items)
        self.units += max(EVENTUAL, EVENTUAL * size / UNIT_BYTES)
        return [_listed(item, ranking) for item in items if item["s"]["S"] not in {beyond, before}]

    def _items(self, keys: Collection[str]) -> list[Item]:
        """The items of Rankings with these keys, eventually consistent."""
        items = batch_get(self._client, self._rankings, [{"pk": {"S": key}} for key in keys], self._pacing)
        self.units += EVENTUAL * len(keys)
        return items

    def _lanes(self, ranking: Ranking, *paths: Path) -> tuple[Root, list[list[Item | None]]]:
        """The root, and all possible lanes of some nodes, at one moment."""
        keys = dict.fromkeys([node_key(ranking, ROOT)])
        keys |= dict.fromkeys(node_key(ranking, path, lane) for path in paths for lane in range(MAX_LANES))
        items = self._at_once(*((self._rankings, {"pk": {"S": key}}) for key in keys))
        nodes = dict(zip(keys, items, strict=True))
        root = _root(nodes[node_key(ranking, ROOT)], ranking)
        return root, [[nodes[node_key(ranking, path, lane)] for lane in range(MAX_LANES)] for path in paths]

    def _at_once(self, *keys: tuple[str, Mapping[str, Any]]) -> list[Item | None]:
        """Items of one moment, by table and key."""
        gets: Any = [{"Get": {"TableName": table, "Key": key}} for table, key in keys]
        try:
            answer = self._client.transact_get_items(TransactItems=gets)
        except (ClientError, BotoCoreError) as error:
            raise store_error(error) from error
        self.units += TRANSACTIONAL * len(gets)
        return [response.get("Item") or None for response in answer["Responses"]]


def _row(item: Item, ranking: Ranking, member: str, spreads: Iterable[int]) -> StoredRow:
    homes = {index_key(ranking, shard_of(member, shards)) for shards in spreads}
    partition = item["r"]["S"] if "r" in item else None
    key = item["s"]["S"] if "s" in item else None
    return StoredRow(key, int(item["v"]["N"]) if "v" in item else 0, at_home=partition in homes)


def _spreads(root: Item | None, ranking: Ranking) -> set[int]:
    """The numbers of shards that are or were in use: of the definition, named by the root, and 1 before that."""
    named = {int(count) for count in root["n"]["NS"]} if root is not None and "n" in root else set()
    return {1, ranking.metric.shards, *named}


def _root(item: Item | None, ranking: Ranking) -> Root:
    lanes = int(item["l"]["N"]) if item is not None and "l" in item else 1
    return Root(lanes, max(_spreads(item, ranking)))


def _counters(lanes: Iterable[Item | None]) -> dict[int, int]:
    """The counters of a node, summed over its lanes."""
    return summed(lane_of(item).counters for item in lanes if item is not None)


def _listed(item: Item, ranking: Ranking) -> Listed:
    key = item["s"]["S"]
    return Listed(key, item["pk"]["S"].removeprefix(entry_key(ranking, "")), _place(key, ranking))


def _place(key: str, ranking: Ranking) -> Place | None:
    """The place that a sort key encodes; None if it is not a valid key. Such a key may be anywhere in the order."""
    try:
        place, member = decode_sort_key(key, ties_by_instant=ranking.metric.ties_by_instant)
    except (KeyError, IndexError):
        return None
    return place if sort_key(place, member) == key and abs(place.sort_value) <= MAX_UNITS else None


def _size(image: Image) -> int:
    return len(image.board) + len(image.member) + 60 + 13 * len(image.values) + 20 * len(image.tie_keys)
