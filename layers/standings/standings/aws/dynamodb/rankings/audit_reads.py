"""Scores and Rankings in DynamoDB, as an audit looks at them."""

from collections.abc import Iterable, Mapping, Sequence
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
from standings.maintain.audit.audit_reads import Listed, Pair, ParentChild, Root, Snapshot, StoredRow
from standings.runtime.retry import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

UNIT_BYTES: Final = 4096
EVENTUAL: Final = 0.5
TRANSACTIONAL: Final = 2


class DynamoAuditReads:
    """Scores and Rankings side by side (`maintain.audit.audit_reads.AuditReads`). For one thread.

    Units are counted as if every item were under 4 KB, which all of ours are.
    """

    def __init__(self, client: "DynamoDBClient", scores: str, rankings: str, pacing: Clock) -> None:
        self._client = client
        self._scores = scores
        self._rankings = rankings
        self._pacing = pacing
        # It lists members, and never comes near a receipt.
        self._listing = DynamoScores(client, scores, "", pacing)
        self.units = 0.0

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image]:
        images = self._listing.members(board, slot, after, limit)
        self.units += max(1.0, sum(map(_size, images)) / UNIT_BYTES)
        return images

    def images(self, board: str, members: Sequence[str]) -> dict[str, Image]:
        items = batch_get(
            self._client, self._scores, [member_item_key(board, member) for member in members], self._pacing
        )
        self.units += EVENTUAL * len(members)
        return {image.member: image for image in map(decode_image, items)}

    def rows(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], StoredRow]:
        keys = {entry_key(ranking, member): (ranking, member) for ranking, member in wanted}
        items = batch_get(self._client, self._rankings, [{"pk": {"S": key}} for key in keys], self._pacing)
        self.units += EVENTUAL * len(keys)
        asked = ((keys[item["pk"]["S"]], item) for item in items)
        return {
            (ranking, member): _row(item, ranking, member, {ranking.metric.shards}) for (ranking, member), item in asked
        }

    def pair(self, ranking: Ranking, member: str) -> Pair:
        image, row, root = self._at_once(
            (self._scores, member_item_key(ranking.board, member)),
            (self._rankings, {"pk": {"S": entry_key(ranking, member)}}),
            (self._rankings, {"pk": {"S": node_key(ranking, ROOT)}}),
        )
        return Pair(
            decode_image(image) if image is not None else None,
            _row(row, ranking, member, _spreads(root, ranking)) if row is not None else None,
        )

    def root(self, ranking: Ranking) -> Root:
        items = batch_get(self._client, self._rankings, [{"pk": {"S": node_key(ranking, ROOT)}}], self._pacing)
        self.units += EVENTUAL
        return _root(items[0] if items else None, ranking)

    def nodes(self, ranking: Ranking, paths: Sequence[Path], lanes: int) -> dict[Path, Mapping[int, int]]:
        keys = {node_key(ranking, path, lane): path for path in paths for lane in range(lanes)}
        items = batch_get(self._client, self._rankings, [{"pk": {"S": key}} for key in keys], self._pacing)
        self.units += EVENTUAL * len(keys)
        found: dict[Path, list[Item]] = {}
        for item in items:
            found.setdefault(keys[item["pk"]["S"]], []).append(item)
        return {path: _counters(some) for path, some in found.items()}

    def picture(self, ranking: Ranking, path: Path) -> Snapshot:
        root, (lanes,) = self._lanes(ranking, path)
        return Snapshot(root, _counters(lanes[: root.lanes]), lanes)

    def edge(self, ranking: Ranking, path: Path, digit: int) -> ParentChild:
        root, (above, below) = self._lanes(ranking, path, (*path, digit))
        counted = _counters(above[: root.lanes])
        return ParentChild(counted.get(digit, 0), sum(_counters(below[: root.lanes]).values()))

    def entries(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[Listed]:
        values = {":r": {"S": index_key(ranking, shard)}, ":s": {"S": beyond}}
        condition = "r = :r AND s > :s"
        if before is not None:
            # Both ends are included, and asked for is neither.
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

    def _lanes(self, ranking: Ranking, *paths: Path) -> tuple[Root, list[list[Item | None]]]:
        """What the root says, and all lanes of some nodes that there could ever be: of one moment."""
        keys = dict.fromkeys([node_key(ranking, ROOT)])
        keys |= dict.fromkeys(node_key(ranking, path, lane) for path in paths for lane in range(MAX_LANES))
        items = self._at_once(*((self._rankings, {"pk": {"S": key}}) for key in keys))
        found = dict(zip(keys, items, strict=True))
        root = _root(found[node_key(ranking, ROOT)], ranking)
        return root, [[found[node_key(ranking, path, lane)] for lane in range(MAX_LANES)] for path in paths]

    def _at_once(self, *wanted: tuple[str, Mapping[str, Any]]) -> list[Item | None]:
        gets: Any = [{"Get": {"TableName": table, "Key": key}} for table, key in wanted]
        try:
            answer = self._client.transact_get_items(TransactItems=gets)
        except (ClientError, BotoCoreError) as error:
            raise store_error(error) from error
        self.units += TRANSACTIONAL * len(gets)
        return [one.get("Item") or None for one in answer["Responses"]]


def _row(item: Item, ranking: Ranking, member: str, spreads: Iterable[int]) -> StoredRow:
    homes = {index_key(ranking, shard_of(member, shards)) for shards in spreads}
    partition = item["r"]["S"] if "r" in item else None
    key = item["s"]["S"] if "s" in item else None
    return StoredRow(key, int(item["v"]["N"]) if "v" in item else 0, at_home=partition in homes)


def _spreads(root: Item | None, ranking: Ranking) -> set[int]:
    """Over how many shards entries may be spread: today, at any time that the root names, or before it named one."""
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
    """The place that a sort key says; None for what is no key of ours, and stands anywhere in the order."""
    try:
        place, member = decode_sort_key(key, ties_by_instant=ranking.metric.ties_by_instant)
    except (KeyError, IndexError):
        return None
    return place if sort_key(place, member) == key and abs(place.sort_value) <= MAX_UNITS else None


def _size(image: Image) -> int:
    return len(image.board) + len(image.member) + 60 + 13 * len(image.values) + 20 * len(image.tie_keys)
