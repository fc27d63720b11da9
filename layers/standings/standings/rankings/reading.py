"""Reads rankings for answers: entries, tier nodes and parts of the sorted index, of both kinds of windows."""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, Final, Self, TypeVar

from standings.aws.dynamodb.tables import (
    MAX_KEYS,
    DynamoDBClient,
    Item,
    get_item,
    index_key,
    item_key,
    items_by_key,
    on_places,
    query,
    query_items,
)
from standings.domain.boards import Ranking
from standings.domain.tiers import Path
from standings.rankings.calendar.reading import CalendarReads, entry_of
from standings.rankings.rolling.reading import Logs, RollingReads
from standings.rankings.rolling.steps import lists_of
from standings.runtime.clock import RANKING_TTL_S, Clock, TtlCache
from standings.stores import Entry, Node, Part, Partition, Span

SIDE_BY_SIDE: Final = 24  # The most requests that one question sends in parallel
T = TypeVar("T")


class RankingReads:
    """The rankings as queries read them. Each call reads its items in parallel; it may raise StoreUnavailableError.

    Reads of calendar rankings and of the sorted index are eventually consistent. Those of rolling windows are strongly
    consistent.
    """

    def __init__(self, client: DynamoDBClient, table: str, clock: Clock) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._pool = ThreadPoolExecutor(max_workers=SIDE_BY_SIDE, thread_name_prefix="reads")
        self._calendar = CalendarReads(partial(self._read, consistent=False), clock)
        self._log_counts: TtlCache[str, int] = TtlCache(clock, RANKING_TTL_S)
        self._logs: dict[str, Logs] | None = None

    def for_request(self) -> Self:
        """The same rankings for one request, which keeps the logs of rolling windows that it has read."""
        reads = copy(self)
        reads._logs = {}  # noqa: SLF001 - its own class
        return reads

    @property
    def _rolling(self) -> RollingReads:
        """The reads of rolling windows; outside a request, each call reads the logs."""
        return RollingReads(self._read, self._log_counts, {} if self._logs is None else self._logs)

    def entries(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        """Read entries of members. A member without a place is left out."""
        return self._of_both_kinds(wanted, attrgetter("entries"))

    def nodes(self, wanted: Sequence[tuple[Ranking, Path]]) -> dict[tuple[Ranking, Path], Node]:
        """Read nodes of tier trees. A node that does not exist is left out."""
        return self._of_both_kinds(wanted, attrgetter("nodes"))

    def _of_both_kinds(
        self, wanted: Sequence[tuple[Ranking, T]], read: Callable[[CalendarReads | RollingReads], Any]
    ) -> dict[tuple[Ranking, T], Any]:
        """Read rolling windows and the others, in parallel."""
        rolling = [one for one in wanted if one[0].window.rolling]
        calendar = [one for one in wanted if not one[0].window.rolling]
        if not rolling:
            return dict(read(self._calendar)(calendar)) if calendar else {}
        first = self._pool.submit(read(self._calendar), calendar) if calendar else None
        found = dict(read(self._rolling)(rolling))
        return found | first.result() if first is not None else found

    def _read(self, keys: Collection[str], *, consistent: bool = True) -> dict[str, Item]:
        wanted = list(keys)
        if len(wanted) == 1 and not consistent:
            item = get_item(self._client, self._table, item_key(wanted[0]))
            return {} if item is None else {wanted[0]: item}
        parts = [wanted[start : start + MAX_KEYS] for start in range(0, len(wanted), MAX_KEYS)]
        read = partial(items_by_key, self._client, self._table, clock=self._clock, consistent=consistent)
        pages = map(read, parts) if len(parts) == 1 else self._pool.map(read, parts)
        return dict(chain.from_iterable(page.items() for page in pages))

    def partitions(self, ranking: Ranking, shards: int) -> list[Partition]:
        """The partitions of the sorted index that hold a ranking's entries, for a number of shards."""
        lists = lists_of(ranking) if ranking.window.rolling else (ranking.key,)
        return [Partition(key, shard) for key in lists for shard in range(shards)]

    def spans(
        self, ranking: Ranking, spans: Sequence[Span], paths: Sequence[Path]
    ) -> tuple[list[list[Entry]], dict[Path, Node]]:
        """Read the entries of each span, and nodes."""
        # This thread reads the nodes, or else the first span, so the usual question needs only one more thread. On the
        # pool, nodes of more than `MAX_KEYS` keys would wait for the pool.
        first = [] if paths else spans[:1]
        others = [self._pool.submit(self._span, ranking, span) for span in spans[len(first) :]]
        nodes = self.nodes([(ranking, path) for path in paths])
        entries = [self._span(ranking, span) for span in first] + [other.result() for other in others]
        return entries, {path: node for (_, path), node in nodes.items()}

    def _span(self, ranking: Ranking, span: Span) -> list[Entry]:
        side = ">" if span.forward else "<"
        ends = {} if span.beyond is None else {"condition": f" AND s {side} :s", "s": span.beyond}
        request = on_places(self._table, index_key(*span.partition), **ends)
        items = query_items(self._client, span.limit, **request, ScanIndexForward=span.forward)
        return [entry_of(item, ranking) for item in items]

    def counts(self, parts: Sequence[Part], most: int) -> list[tuple[int, str | None]]:
        """Count up to `most` entries of each part, and say where its rest begins; None: all of it is counted."""

        def count(part: Part) -> tuple[int, str | None]:
            (partition, first, last), condition = part, " AND s BETWEEN :first AND :last"
            request = on_places(self._table, index_key(*partition), condition, first=first, last=last)
            answers = list(query(self._client, most, **request, Select="COUNT"))
            # An answer that ends with the range's last entry names it too, and DynamoDB refuses a range behind its end.
            end = answers[-1].get("LastEvaluatedKey", {"s": {"S": last}})["s"]["S"]
            return sum(answer["Count"] for answer in answers), f"{end}\0" if end < last else None

        return list(self._pool.map(count, parts))
