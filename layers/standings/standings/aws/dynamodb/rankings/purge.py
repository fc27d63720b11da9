"""Purges a generation of a board's rankings that nobody reads or writes any more."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from standings.aws.dynamodb.calls import Item, batch_delete, batch_get, query
from standings.aws.dynamodb.keys import PLACES, counter_digit, index_key_of, node_key_of
from standings.domain.boards.ranking import generation_code
from standings.domain.tiers.tier_path import ROOT, Path, depth
from standings.domain.windows.calendar import DAY
from standings.domain.windows.late_and_keep import Timetable
from standings.domain.windows.window import window_of
from standings.runtime.retry import READ_TIMEOUT_S, Clock, with_retry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

CODE_LENGTH: Final = 3
MAX_DELETES: Final = 25
DELETE_PAGE_SIZE: Final = 500
HOURS_REACH: Final = 30 * DAY
T = TypeVar("T")
REACH: Final = 1_200 * DAY
"""Periods that began longer ago have no rows: at most 400 days are kept, and the longest period is a year."""
_CALENDAR: Final = Timetable("UTC", 0, 0, 0)


class DynamoPurging:
    """Purges rankings: entries by the sorted index, then tiers from the leaves to the root.

    The root goes last: as long as it exists, the ranking is not purged. Rows without a score are not in the index; they
    expire.
    """

    def __init__(self, client: "DynamoDBClient", rankings: str, pacing: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._pacing = pacing

    def purge(self, board: str, codes: Iterable[str], generation: int, over: Callable[[], bool]) -> bool:
        """Purge a generation of a board; False if `over` says that the time is over before the end."""
        for code in sorted(codes):
            for ranking in self._rankings_of(board, code, generation):
                if over() or not self._purge(ranking, over):
                    return False
        return True

    def _rankings_of(self, board: str, code: str, generation: int) -> Iterator[str]:
        """The keys of a window's rankings that have a root."""
        end = generation_code(generation)
        window = window_of(code[CODE_LENGTH:])
        if window.unit is None:
            yield f"{board}#{code}{end}"
            return
        now = self._pacing.now()
        # Periods in other time zones, or with other week starts, are at most one off.
        first = _CALENDAR.index(window.unit, now - REACH) - 1
        last = _CALENDAR.index(window.unit, now) + window.size + 1
        if window.unit == "h":
            first = _CALENDAR.index("h", now - HOURS_REACH)
        periods = [f"{board}#{code}{period}{end}" for period in range(first, last + 1)]
        roots = {item["pk"]["S"] for item in self._items([node_key_of(ranking, ROOT) for ranking in periods])}
        yield from (ranking for ranking in periods if node_key_of(ranking, ROOT) in roots)

    def _purge(self, ranking: str, over: Callable[[], bool]) -> bool:
        (root,) = self._items([node_key_of(ranking, ROOT)]) or [{}]
        shards = max((int(number) for number in root.get("n", {"NS": ["1"]})["NS"]), default=1)
        for shard in range(shards):
            while keys := self._placed(index_key_of(ranking, shard)):
                self._delete(keys)
                if over():
                    return False
        lanes = int(root["l"]["N"]) if "l" in root else 1
        return self._purge_below(ranking, ROOT, lanes, over)

    def _placed(self, partition: str) -> list[str]:
        request = {
            "TableName": self._rankings,
            "IndexName": PLACES,
            "KeyConditionExpression": "r = :r",
            "ExpressionAttributeValues": {":r": {"S": partition}},
        }
        answers = self._with_retry(lambda: list(query(self._client, request, DELETE_PAGE_SIZE)))
        return [item["pk"]["S"] for answer in answers for item in answer["Items"]]

    def _purge_below(self, ranking: str, path: Path, lanes: int, over: Callable[[], bool]) -> bool:
        """Delete the nodes below a node, then the node."""
        keys = [node_key_of(ranking, path, lane) for lane in range(lanes)]
        items = self._items(keys)
        if not path or len(path) < depth(path[0]):
            digits = {digit for item in items for name in item if (digit := counter_digit(name)) is not None}
            for digit in sorted(digits):
                if over() or not self._purge_below(ranking, (*path, digit), lanes, over):
                    return False
        if items:
            self._delete([item["pk"]["S"] for item in items])
        return True

    def _items(self, keys: Sequence[str]) -> list[Item]:
        items: list[Item] = [{"pk": {"S": key}} for key in keys]
        return self._with_retry(lambda: batch_get(self._client, self._rankings, items, self._pacing, consistent=True))

    def _delete(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), MAX_DELETES):
            self._with_retry(partial(batch_delete, self._client, self._rankings, keys[start : start + MAX_DELETES]))

    def _with_retry(self, do: Callable[[], T]) -> T:
        return with_retry(do, self._pacing.backoff_for(READ_TIMEOUT_S))
