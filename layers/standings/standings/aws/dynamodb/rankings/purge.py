"""Removes what a generation of a board's rankings has left: nobody reads or writes it any more."""

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
"""Nothing of a period is there that began longer ago: at most 400 days are kept, and a year is the longest period."""
_CALENDAR: Final = Timetable("UTC", 0, 0, 0)


class DynamoPurging:
    """Purges generations of rankings: entries by the sorted index, tiers from the leaves to the root.

    The root goes last: as long as it is there, there is something to go on with. What has no place in the index are
    rows without a score, which expire.
    """

    def __init__(self, client: "DynamoDBClient", rankings: str, pacing: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._pacing = pacing

    def purge(self, board: str, codes: Iterable[str], generation: int, over: Callable[[], bool]) -> bool:
        for code in sorted(codes):
            for ranking in self._rankings_of(board, code, generation):
                if over() or not self._purge(ranking, over):
                    return False
        return True

    def _rankings_of(self, board: str, code: str, generation: int) -> Iterator[str]:
        """The keys of rankings of a window that can be there: those of which there is a root."""
        end = generation_code(generation)
        window = window_of(code[CODE_LENGTH:])
        if window.unit is None:
            yield f"{board}#{code}{end}"
            return
        now = self._pacing.now()
        # Other zones' days and other weeks' beginnings are no more than one away.
        first = _CALENDAR.index(window.unit, now - REACH) - 1
        last = _CALENDAR.index(window.unit, now) + window.size + 1
        if window.unit == "h":
            first = _CALENDAR.index("h", now - HOURS_REACH)
        periods = [f"{board}#{code}{period}{end}" for period in range(first, last + 1)]
        there = {item["pk"]["S"] for item in self._items([node_key_of(ranking, ROOT) for ranking in periods])}
        yield from (ranking for ranking in periods if node_key_of(ranking, ROOT) in there)

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
        answers = self._patiently(lambda: list(query(self._client, request, DELETE_PAGE_SIZE)))
        return [item["pk"]["S"] for answer in answers for item in answer["Items"]]

    def _purge_below(self, ranking: str, path: Path, lanes: int, over: Callable[[], bool]) -> bool:
        """Remove a node and all that is below it: what is below goes first."""
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
        wanted: list[Item] = [{"pk": {"S": key}} for key in keys]
        return self._patiently(lambda: batch_get(self._client, self._rankings, wanted, self._pacing, consistent=True))

    def _delete(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), MAX_DELETES):
            self._patiently(partial(batch_delete, self._client, self._rankings, keys[start : start + MAX_DELETES]))

    def _patiently(self, do: Callable[[], T]) -> T:
        return with_retry(do, self._pacing.backoff_for(READ_TIMEOUT_S))
