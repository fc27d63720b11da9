"""The read model in DynamoDB, as readers see it."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

from standings.aws.dynamodb.calls import MAX_KEYS, Item, batch_get, get_item, query
from standings.aws.dynamodb.keys import PLACES, entry_key, index_key
from standings.aws.dynamodb.rankings.tier_trees import KnownLanes, lane_of
from standings.aws.dynamodb.scores.board_records import list_boards, read_records
from standings.aws.dynamodb.scores.scores import read_image
from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.scoring.sort_order import decode_sort_key
from standings.domain.tiers.tier_path import Path
from standings.domain.tiers.tier_tree import summed
from standings.ports.board_records import BoardRecord
from standings.ports.ranking_reads import Entry, Node, Span
from standings.runtime.retry import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

SIDE_BY_SIDE: Final = 16
"""Requests that one question has under way at once."""

T = TypeVar("T")


class DynamoRankingsReader:
    """Rankings, the list of boards and members' items (`ports.ranking_reads.RankingsReader`).

    Reads are eventually consistent, but for a member's item.
    """

    def __init__(self, client: "DynamoDBClient", rankings: str, scores: str, pacing: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._scores = scores
        self._pacing = pacing
        self._lanes = KnownLanes(pacing)
        self._pool = ThreadPoolExecutor(max_workers=SIDE_BY_SIDE, thread_name_prefix="reads")

    def entries(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        found = self._items({entry_key(ranking, member): (ranking, member) for ranking, member in wanted})
        return {asked: _entry(item, asked[0]) for asked, item in found.items() if "s" in item}

    def nodes(self, wanted: Sequence[tuple[Ranking, Path]]) -> dict[tuple[Ranking, Path], Node]:
        found = self._lanes.read(wanted, self._items)
        return {asked: _node(lanes) for asked, lanes in found.items()}

    def _items(self, keys: dict[str, T]) -> dict[T, Item]:
        """The items of Rankings under some keys, by what the keys stand for."""
        all_keys: list[Item] = [{"pk": {"S": key}} for key in keys]
        if len(all_keys) == 1:
            item = get_item(self._client, self._rankings, all_keys[0])
            items = [item] if item is not None else []
        elif len(all_keys) <= MAX_KEYS:
            items = self._batch(all_keys)
        else:
            parts = [all_keys[start : start + MAX_KEYS] for start in range(0, len(all_keys), MAX_KEYS)]
            found = self._pool.map(self._batch, parts)
            items = [item for part in found for item in part]
        return {keys[item["pk"]["S"]]: item for item in items}

    def _batch(self, keys: Sequence[Item]) -> list[Item]:
        return batch_get(self._client, self._rankings, keys, self._pacing)

    def spans(
        self, ranking: Ranking, spans: Sequence[Span], paths: Sequence[Path]
    ) -> tuple[list[list[Entry]], dict[Path, Node]]:
        others = [self._pool.submit(self._span, ranking, span) for span in spans[1:]]
        # One request is this thread's own: the usual question needs just one other.
        nodes = self._pool.submit(self.nodes, [(ranking, path) for path in paths]) if paths else None
        entries = [self._span(ranking, span) for span in spans[:1]]
        entries += [other.result() for other in others]
        return entries, {path: node for (_, path), node in nodes.result().items()} if nodes is not None else {}

    def counts(self, ranking: Ranking, shards: int, ranges: Sequence[tuple[str, str]], most: int) -> list[int]:
        asked = [(shard, first, last) for first, last in ranges for shard in range(shards)]
        found = list(self._pool.map(lambda one: self._count(ranking, one, most), asked))
        return [sum(found[start : start + shards]) for start in range(0, len(found), shards)]

    def record(self, board: str) -> BoardRecord | None:
        return read_records(self._client, self._scores, [board], self._pacing).get(board)

    def boards(self, prefix: str, after: str | None, limit: int) -> list[str]:
        return list_boards(self._client, self._scores, prefix, after, limit)

    def image(self, board: str, member: str) -> Image | None:
        return read_image(self._client, self._scores, (board, member))

    def _span(self, ranking: Ranking, span: Span) -> list[Entry]:
        values = {":r": {"S": index_key(ranking, span.shard)}}
        condition = "r = :r"
        if span.beyond is not None:
            condition += " AND s > :s" if span.forward else " AND s < :s"
            values[":s"] = {"S": span.beyond}
        request = {**self._index(condition, values), "ScanIndexForward": span.forward}
        return [_entry(item, ranking) for item in self._query(request, span.limit)]

    def _count(self, ranking: Ranking, asked: tuple[int, str, str], most: int) -> int:
        shard, first, last = asked
        values = {":r": {"S": index_key(ranking, shard)}, ":first": {"S": first}, ":last": {"S": last}}
        request = {**self._index("r = :r AND s BETWEEN :first AND :last", values), "Select": "COUNT"}
        return sum(answer["Count"] for answer in query(self._client, request, most))

    def _index(self, condition: str, values: dict[str, dict[str, str]]) -> dict[str, Any]:
        return {
            "TableName": self._rankings,
            "IndexName": PLACES,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
        }

    def _query(self, request: dict[str, Any], limit: int) -> list[Item]:
        return [item for answer in query(self._client, request, limit) for item in answer["Items"]]


def _entry(item: Item, ranking: Ranking) -> Entry:
    key = item["s"]["S"]
    return Entry(key, *decode_sort_key(key, ties_by_instant=ranking.metric.ties_by_instant), int(item["t"]["N"]))


def _node(lanes: Mapping[int, Item]) -> Node:
    """A node as all its lanes together make it; what it was spread over, its first lane says."""
    read = [lane_of(item) for item in lanes.values()]
    # Lanes may be of different moments, while members move.
    counters = {digit: max(count, 0) for digit, count in summed(lane.counters for lane in read).items()}
    written_at_ms = max((lane.written_at_ms for lane in read if lane.written_at_ms is not None), default=None)
    first = lanes.get(0, {})
    return Node(counters, written_at_ms, max(map(int, first["n"]["NS"])) if "n" in first else 1)
