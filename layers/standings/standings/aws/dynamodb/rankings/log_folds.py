"""Folds: take the entries of a log into the nodes of the tiers that they change, and cut them off the log.

A node remembers its position in each log. A fold brings each node that it changes to the same position, whatever other
folds have done before, at the same time, or half. It may be repeated, and die anywhere: a reader adds to a node what
the node lacks. The log is cut once every node has its entries.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from standings.aws.dynamodb.calls import DynamoDBClient, Item, get_item, update_if
from standings.aws.dynamodb.keys import COUNTERS, log_key, node_key
from standings.aws.dynamodb.rankings.rolling_items import EXPIRY_MARGIN, log_bytes, log_of, positions
from standings.domain.rolling.count_log import Log, encode_entry, fold_deltas, node_deltas
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.tiers.tier_path import Path
from standings.domain.windows.calendar import SECOND
from standings.domain.windows.window import MAX_ROLLING_BUCKETS
from standings.ports.errors import StoreUnavailableError
from standings.runtime.retry import READ_TIMEOUT_S, Clock, with_retry

MAX_ENTRIES: Final = 250  # Entries that one fold takes: as many list elements as an update expression may remove
TRIES: Final = 10  # How often a node is tried while other folds change it

WRITES_TIMEOUT_S: Final = 2.0  # Seconds for which single writes are tried again, before all of them are

RunAll = Callable[[Sequence[Callable[[], None]]], Iterable[None]]
"""Runs jobs, in parallel or one after the other; an iteration waits for them and raises their errors."""


def write_all(run_all: RunAll, clock: Clock, writes: Sequence[Callable[[], None]]) -> None:
    """Do single writes. One that fails is tried again by itself: else many writes would hardly ever all succeed."""
    deadline = clock.monotonic() + WRITES_TIMEOUT_S

    def persistent(write: Callable[[], None]) -> None:
        with_retry(write, clock.backoff(deadline))

    for _ in run_all([partial(persistent, write) for write in writes]):
        pass


def fold_log(
    client: DynamoDBClient, table: str, clock: Clock, run_all: RunAll, rankings: RollingRankings, number: int
) -> int:
    """Fold a log. Returns the bytes that are left in it."""
    item = get_item(client, table, {"pk": {"S": log_key(rankings.key, number)}}, consistent=True)
    if item is None:
        return 0
    log = log_of(item)
    log = Log(log.base, log.entries[:MAX_ENTRIES])
    if not log.entries:
        return 0
    now = clock.now()
    # Nobody can read the counts of earlier periods any more.
    periods = range(
        rankings.first_open(now), rankings.window.slab_of(rankings.first_open(now)).stop + 10 * MAX_ROLLING_BUCKETS
    )
    written_at_ms = max(entry.written_at_ms for entry in log.entries)
    fold = _Fold(client, table, rankings, number, log, periods, written_at_ms)
    changed = fold_deltas(log.entries, periods)
    nodes = [partial(fold.bring, period, path, changed[period, path]) for period, path in sorted(changed)]
    write_all(run_all, clock, nodes)
    cut = sum(len(encode_entry(entry)) for entry in log.entries)
    is_cut, stored = with_retry(partial(fold.cut, cut), clock.backoff_for(READ_TIMEOUT_S))
    if is_cut:
        return log_bytes(item) - cut
    return log_bytes(stored) if stored is not None else 0


class _Fold:
    def __init__(
        self,
        client: DynamoDBClient,
        table: str,
        rankings: RollingRankings,
        number: int,
        log: Log,
        periods: range,
        written_at_ms: int,
    ) -> None:
        self._client = client
        self._table = table
        self._rankings = rankings
        self._number = number
        self._log = log
        self._periods = periods
        self._written_at_ms = written_at_ms

    def bring(self, period: int, path: Path, counters: dict[int, int]) -> None:
        """Bring a node to the end of the entries, from wherever it is."""
        position = f"p{self._number}"
        # Most nodes have no entries of this log beyond its beginning.
        condition, at = f"attribute_not_exists({position}) OR {position} <= :at", self._log.base
        for _ in range(TRIES):
            is_done, stored = update_if(self._client, self._update(period, path, counters, condition, at))
            if is_done:
                return
            at = positions(stored or {}).get(self._number, self._log.base)
            if at >= self._log.end:
                return
            missing = node_deltas(self._log.since(at), range(period, period + 1))
            counters = missing.get((period, path), {})
            condition = f"{position} = :at"
        raise StoreUnavailableError(f"other folds keep changing {self._rankings.key}")

    def _update(self, period: int, path: Path, counters: dict[int, int], condition: str, at: int) -> dict[str, Any]:
        expiry = (self._rankings.readable_until(period) + EXPIRY_MARGIN) // SECOND
        sets = {f"p{self._number}": self._log.end, "t": self._written_at_ms, "e": expiry}
        adds = {COUNTERS[digit]: count for digit, count in counters.items()}
        added = f" ADD {', '.join(f'{name} :{name}' for name in adds)}" if adds else ""
        numbers = {f":{name}": number for name, number in {**sets, **adds}.items()} | {":at": at}
        return {
            "TableName": self._table,
            "Key": {"pk": {"S": node_key(self._rankings.at(period).key, path)}},
            "UpdateExpression": f"SET {', '.join(f'{name} = :{name}' for name in sets)}{added}",
            "ConditionExpression": condition,
            "ExpressionAttributeValues": {name: {"N": str(number)} for name, number in numbers.items()},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def cut(self, length: int) -> tuple[bool, Item | None]:
        """Cut the entries off the log, unless another fold has cut some."""
        request = {
            "TableName": self._table,
            "Key": {"pk": {"S": log_key(self._rankings.key, self._number)}},
            "UpdateExpression": "SET b = :end REMOVE "
            # From the last to the first: some emulators remove one after the other.
            + ", ".join(f"l[{index}]" for index in reversed(range(len(self._log.entries))))
            + " ADD z :less",
            "ConditionExpression": "b = :base",
            "ExpressionAttributeValues": {
                ":base": {"N": str(self._log.base)},
                ":end": {"N": str(self._log.end)},
                ":less": {"N": str(-length)},
            },
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        return update_if(self._client, request)
