"""Reads Rankings, boards and members for queries."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from typing import Any, Final, TypeVar

from standings.aws.dynamodb.calls import MAX_KEYS, DynamoDBClient, Item, batch_get, get_item, query, query_items
from standings.aws.dynamodb.keys import PLACES, entry_key, index_key, lane_of, shards_ever
from standings.aws.dynamodb.rankings.rolling_reads import RollingReads
from standings.aws.dynamodb.rankings.tier_trees import KnownLanes
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.boards.definitions import Ranking
from standings.domain.members.member_item import Image
from standings.domain.scoring.sort_order import decode_sort_key
from standings.domain.tiers.tier_path import Path
from standings.domain.tiers.tier_tree import summed
from standings.ports.board_records import BoardRecord
from standings.ports.rankings import Entry, Node, Part, Partition, Span
from standings.runtime.retry import Clock
from standings.runtime.ttl_cache import RANKING_TTL_S, TtlCache

SIDE_BY_SIDE: Final = 24  # The most requests that one question sends in parallel
T = TypeVar("T")


class DynamoRankingsReader:
    """The tables as queries read them (`ports.rankings.RankingsReader`).

    Reads of Rankings and of the list of boards are eventually consistent. Others are strongly consistent.
    """

    def __init__(self, client: DynamoDBClient, rankings: str, scores: str, clock: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._clock = clock
        self._boards = DynamoBoards(client, scores, clock)
        # It only reads members: no receipts table is needed.
        self._members = DynamoScores(client, scores, "", clock)
        self._lanes = KnownLanes(clock)
        self._pool = ThreadPoolExecutor(max_workers=SIDE_BY_SIDE, thread_name_prefix="reads")
        self._logs: TtlCache[str, int] = TtlCache(clock, RANKING_TTL_S)
        self._of_request: RollingReads | None = None

    def for_request(self) -> "DynamoRankingsReader":
        """The same tables for one request, which keeps the logs of rolling windows that it has read."""
        reads = copy(self)
        reads._of_request = self._rolling  # noqa: SLF001 - its own class
        return reads

    @property
    def _rolling(self) -> RollingReads:
        """The reads of rolling windows; outside a request, each call reads the logs."""
        return self._of_request or RollingReads(self._read, self._logs)

    def entries(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        rolling, others = _by_kind(wanted)
        first = self._pool.submit(self._entries, others) if rolling and others else None
        entries = self._rolling.entries(rolling) if rolling else {}
        return entries | (first.result() if first is not None else self._entries(others))

    def _entries(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        labels = {entry_key(ranking.key, member): (ranking, member) for ranking, member in wanted}
        items = self._items(labels) if labels else {}
        return {(ranking, member): _entry(item, ranking) for (ranking, member), item in items.items() if "s" in item}

    def nodes(self, wanted: Sequence[tuple[Ranking, Path]]) -> dict[tuple[Ranking, Path], Node]:
        rolling, others = _by_kind(wanted)
        first = self._pool.submit(self._nodes, others) if rolling and others else None
        nodes = self._rolling.nodes(rolling) if rolling else {}
        return nodes | (first.result() if first is not None else self._nodes(others))

    def _nodes(self, wanted: Sequence[tuple[Ranking, Path]]) -> dict[tuple[Ranking, Path], Node]:
        return {node: _node(lanes) for node, lanes in self._lanes.read(wanted, self._items).items()} if wanted else {}

    def _items(self, labels: dict[str, T]) -> dict[T, Item]:
        return {labels[key]: item for key, item in self._read(list(labels), consistent=False).items()}

    def _read(self, keys: Sequence[str], *, consistent: bool = True) -> dict[str, Item]:
        wanted: list[Item] = [{"pk": {"S": key}} for key in keys]
        if len(keys) == 1 and not consistent:
            item = get_item(self._client, self._rankings, wanted[0])
            return {} if item is None else {keys[0]: item}
        parts = [wanted[start : start + MAX_KEYS] for start in range(0, len(wanted), MAX_KEYS)]
        read = partial(batch_get, self._client, self._rankings, clock=self._clock, consistent=consistent)
        pages = map(read, parts) if len(parts) == 1 else self._pool.map(read, parts)
        return {item["pk"]["S"]: item for page in pages for item in page}

    def spans(
        self, ranking: Ranking, spans: Sequence[Span], paths: Sequence[Path]
    ) -> tuple[list[list[Entry]], dict[Path, Node]]:
        # This thread reads the nodes, or else the first span, so the usual question needs only one more thread. On the
        # pool, nodes of more than `MAX_KEYS` keys would wait for the pool.
        first = [] if paths else spans[:1]
        others = [self._pool.submit(self._span, ranking, span) for span in spans[len(first) :]]
        nodes = self.nodes([(ranking, path) for path in paths])
        entries = [self._span(ranking, span) for span in first] + [other.result() for other in others]
        return entries, {path: node for (_, path), node in nodes.items()}

    def counts(self, parts: Sequence[Part], most: int) -> list[tuple[int, str | None]]:
        def count(part: Part) -> tuple[int, str | None]:
            condition = " AND s BETWEEN :first AND :last"
            values = {":first": {"S": part.first}, ":last": {"S": part.last}}
            request = self._on_index(part.partition, condition, values)
            answers = list(query(self._client, most, **request, Select="COUNT"))
            # An answer that ends with the range's last entry names it too, and DynamoDB refuses a range behind its end.
            last = answers[-1].get("LastEvaluatedKey", {"s": {"S": part.last}})["s"]["S"]
            return sum(answer["Count"] for answer in answers), _beyond(last) if last < part.last else None

        return list(self._pool.map(count, parts))

    def record(self, board: str) -> BoardRecord | None:
        return self._boards.records([board]).get(board)

    def boards(self, prefix: str, after: str | None, limit: int) -> list[str]:
        return self._boards.names(after, limit, prefix)

    def image(self, board: str, member: str) -> Image | None:
        return self._members.image((board, member))

    def _span(self, ranking: Ranking, span: Span) -> list[Entry]:
        condition = "" if span.beyond is None else f" AND s {'>' if span.forward else '<'} :s"
        values = {} if span.beyond is None else {":s": {"S": span.beyond}}
        request = self._on_index(span.partition, condition, values)
        items = query_items(self._client, span.limit, **request, ScanIndexForward=span.forward)
        return [_entry(item, ranking) for item in items]

    def _on_index(self, partition: Partition, condition: str, values: Mapping[str, Any]) -> dict[str, Any]:
        values = {":r": {"S": index_key(*partition)}, **values}
        return {"table": self._rankings, "condition": f"r = :r{condition}", "values": values, "IndexName": PLACES}


def _beyond(key: str) -> str:
    """The next sort key that there can be."""
    return f"{key}\0"


def _by_kind(wanted: Iterable[tuple[Ranking, T]]) -> tuple[list[tuple[Ranking, T]], list[tuple[Ranking, T]]]:
    """What is wanted of rolling windows, and the rest."""
    rolling: list[tuple[Ranking, T]] = []
    others: list[tuple[Ranking, T]] = []
    for one in wanted:
        (rolling if one[0].window.rolling else others).append(one)
    return rolling, others


def _entry(item: Item, ranking: Ranking) -> Entry:
    key = item["s"]["S"]
    return Entry(key, *decode_sort_key(key, ties_by_instant=ranking.metric.ties_by_instant), int(item["t"]["N"]))


def _node(items: Mapping[int, Item]) -> Node:
    lanes = [lane_of(item) for item in items.values()]
    # While members move, reads of lanes may be of different moments, and a sum may be below 0.
    counters = {digit: max(count, 0) for digit, count in summed(lane.counters for lane in lanes).items()}
    written_at_ms = max((lane.written_at_ms for lane in lanes if lane.written_at_ms is not None), default=None)
    return Node(counters, written_at_ms, max(shards_ever(items.get(0, {}))))
