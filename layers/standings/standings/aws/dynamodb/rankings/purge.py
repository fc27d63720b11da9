"""Purges a generation of a board's rankings that nobody reads or writes any more."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar

from standings.aws.dynamodb.calls import DynamoDBClient, Item, batch_delete, batch_get, query_items
from standings.aws.dynamodb.keys import DIGITS, PLACES, index_key, node_key
from standings.aws.dynamodb.rankings.tier_trees import lane_count, shards_ever
from standings.domain.boards.definitions import generation_code
from standings.domain.tiers.tier_path import ROOT, Path, depth
from standings.domain.windows.calendar import DAY, Calendar
from standings.domain.windows.window import window_of
from standings.runtime.retry import READ_TIMEOUT_S, Clock, with_retry

CODE_LENGTH: Final = 3
MAX_DELETES: Final = 25
DELETE_PAGE_SIZE: Final = 500
HOURS_REACH: Final = 30 * DAY
T = TypeVar("T")
REACH: Final = 1_200 * DAY  # Older periods have no rows: at most 400 days are kept, and a period is at most a year
_UTC: Final = Calendar("UTC", 0)


class DynamoPurging:
    """Purges rankings: entries by the sorted index, then tiers from the leaves to the root.

    The root goes last: while it exists, the ranking is not purged. Rows without a score are not indexed; they expire.
    """

    def __init__(self, client: DynamoDBClient, rankings: str, clock: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._clock = clock

    def purge(self, board: str, codes: Iterable[str], generation: int, over: Callable[[], bool]) -> bool:
        """Purge a generation of a board; False if `over` says that the time is over before the end."""
        for code in sorted(codes):
            for ranking in self._rankings_of(board, code, generation):
                if over() or not self._purge(ranking, over):
                    return False
        return True

    def _rankings_of(self, board: str, code: str, generation: int) -> list[str]:
        """The keys of a window's rankings that have a root."""
        end = generation_code(generation)
        window = window_of(code[CODE_LENGTH:])
        if window.unit is None:
            return [f"{board}#{code}{end}"]
        now = self._clock.now()
        # Periods in other time zones, or with other week starts, are at most one off.
        first = _UTC.index(window.unit, now - REACH) - 1
        last = _UTC.index(window.unit, now) + window.size + 1
        if window.unit == "h":
            first = _UTC.index("h", now - HOURS_REACH)
        periods = [f"{board}#{code}{period}{end}" for period in range(first, last + 1)]
        roots = {item["pk"]["S"] for item in self._items([node_key(ranking, ROOT) for ranking in periods])}
        return [ranking for ranking in periods if node_key(ranking, ROOT) in roots]

    def _purge(self, ranking: str, over: Callable[[], bool]) -> bool:
        (root,) = self._items([node_key(ranking, ROOT)]) or [{}]
        for shard in range(max(shards_ever(root))):
            while keys := self._placed(index_key(ranking, shard)):
                self._delete(keys)
                if over():
                    return False
        return self._purge_below(ranking, ROOT, lane_count(root), over)

    def _placed(self, partition: str) -> list[str]:
        request = self._client, DELETE_PAGE_SIZE, self._rankings, "r = :r", {":r": {"S": partition}}
        return [item["pk"]["S"] for item in self._with_retry(partial(query_items, *request, IndexName=PLACES))]

    def _purge_below(self, ranking: str, path: Path, lanes: int, over: Callable[[], bool]) -> bool:
        keys = [node_key(ranking, path, lane) for lane in range(lanes)]
        items = self._items(keys)
        if not path or len(path) < depth(path[0]):
            digits = {digit for item in items for name in item if (digit := DIGITS.get(name)) is not None}
            for digit in sorted(digits):
                if over() or not self._purge_below(ranking, (*path, digit), lanes, over):
                    return False
        if items:
            self._delete([item["pk"]["S"] for item in items])
        return True

    def _items(self, keys: Sequence[str]) -> list[Item]:
        items: list[Item] = [{"pk": {"S": key}} for key in keys]
        return self._with_retry(lambda: batch_get(self._client, self._rankings, items, self._clock, consistent=True))

    def _delete(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), MAX_DELETES):
            self._with_retry(partial(batch_delete, self._client, self._rankings, keys[start : start + MAX_DELETES]))

    def _with_retry(self, do: Callable[[], T]) -> T:
        return with_retry(do, self._clock.backoff_for(READ_TIMEOUT_S))
