"""Writes rolling windows for the projector: list items, rows, and the logs of their counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import call
from typing import Any, Final

from standings.aws.dynamodb.calls import (
    Cancellation,
    DynamoDBClient,
    Item,
    batch_get,
    conditional,
    put_if,
    transact,
    update_if,
)
from standings.aws.dynamodb.keys import entry_key, log_key, shards_ever
from standings.aws.dynamodb.rankings.log_folds import RunAll, fold_log, write_all
from standings.aws.dynamodb.rankings.rolling_items import lates_ever, list_item, log_bytes, log_count, row_item, row_of
from standings.domain.rolling.count_log import LogEntry, encode_entry
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.ports.errors import CancelReason, StoreRefusedError
from standings.ports.rolling import ListItem, RollingRow, RowChange, RowConflict
from standings.runtime.retry import Clock
from standings.runtime.ttl_cache import RANKING_TTL_S, TtlCache

CONFLICTS: Final = 2  # Conflicts in a row on a log after which this process changes to another log
MAX_LOGS: Final = 4  # The most logs of a window. A reader reads all of them, so each costs as much as the first
LONG: Final = 24 * 1024  # Bytes of a log that is folded before it takes more
MAX_LOG: Final = 64 * 1024  # Bytes of a log that takes no more

one_after_another: Final[RunAll] = partial(map, call)


@dataclass(slots=True)
class _LogInUse:
    """The log that this process appends to, as it knows it."""

    number: int = 0
    of: int = 1
    bytes: int = 0
    conflicts: int = 0  # In a row


class DynamoRollingWindows:
    """Rolling windows (`ports.rolling.RollingWindows`).

    A process appends to log 0 of a window until it has conflicts there with other processes. Then it appends to a
    random log of several. Log 0 has their number before one of them is used, so that readers read them all.
    """

    def __init__(
        self,
        client: DynamoDBClient,
        table: str,
        clock: Clock,
        run_all: RunAll = one_after_another,
        most: int = MAX_LOGS,
    ) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._run_all = run_all
        self._most = most
        self._logs: TtlCache[str, _LogInUse] = TtlCache(clock, RANKING_TTL_S)
        # Windows whose log 0 names these shards and this `late`: that comes before an item in one of the lists.
        self._named: TtlCache[tuple[str, int, int], bool] = TtlCache(clock, RANKING_TTL_S)

    def rows(self, rankings: RollingRankings, members: Sequence[str]) -> dict[str, RollingRow | str]:
        by_key = {entry_key(rankings.key, member): member for member in members}
        log = self._log(rankings)
        own_log = log_key(rankings.key, log.number)
        items = batch_get(
            self._client, self._table, [_key(key) for key in (*by_key, own_log)], self._clock, consistent=True
        )
        rows = {item["pk"]["S"]: item for item in items}
        found = rows.pop(own_log, None)
        log.bytes = log_bytes(found) if found is not None else 0
        shards, late = _extent(rankings)
        if found is not None and log.number == 0 and shards in shards_ever(found) and late in lates_ever(found):
            # It was just read, so nothing needs to be made or named.
            self._named.put((rankings.key, shards, late), value=True)
        return {by_key[key]: row_of(item) for key, item in rows.items()}

    def list(self, rankings: RollingRankings, items: Sequence[ListItem]) -> None:
        placed = [item for item in items if item.place is not None]
        if placed:
            self._prepare(rankings)
        # A member that has the same place in another block now must never be in neither list.
        for part in (placed, [item for item in items if item.place is None]):
            write_all(self._run_all, self._clock, [partial(self._put, list_item(rankings, item)) for item in part])

    def _put(self, item: dict[str, Any]) -> None:
        condition = "attribute_not_exists(v) OR v <= :v"
        put_if(
            self._client,
            {
                "TableName": self._table,
                "Item": item,
                "ConditionExpression": condition,
                "ExpressionAttributeValues": {":v": item["v"]},
            },
        )

    def commit(self, rankings: RollingRankings, rows: Sequence[RowChange], entry: LogEntry) -> Sequence[RowConflict]:
        # The row of a removed member needs no log. On a deleted board nothing would remove the log again.
        if entry.changes:
            self._prepare(rankings)
        log = self._log(rankings)
        text = encode_entry(entry)
        if log.conflicts >= CONFLICTS:
            self._change_log(rankings, log)
        if log.bytes + len(text) > LONG:
            self.fold(rankings, 0)
        actions = [self._row(rankings, row) for row in rows]
        if entry.changes:
            actions.append({"Update": self._append(log_key(rankings.key, log.number), text)})
        cancelled = transact(self._client, actions)
        conflicts = [self._conflict(each, rankings, rows, log) for each in cancelled]
        busy = {conflict.position for conflict in conflicts if conflict.reason is CancelReason.BUSY}
        if busy == {None}:
            log.conflicts += 1
        elif not conflicts:
            log.conflicts = 0
            log.bytes += len(text) if entry.changes else 0
        return conflicts

    def _row(self, rankings: RollingRankings, row: RowChange) -> dict[str, Any]:
        # What the row adds to the log is counted from the row that was read. So it must be that very row still.
        if row.seen is None:
            condition = conditional(self._table, "attribute_not_exists(v)")
        else:
            condition = conditional(self._table, "v = :seen", {":seen": {"N": str(row.seen)}})
        return {"Put": {**condition, "Item": row_item(rankings, row)}}

    def _append(self, key: str, text: str) -> dict[str, Any]:
        return {
            **conditional(self._table, "attribute_exists(b) AND z < :most"),
            "Key": _key(key),
            "UpdateExpression": "SET l = list_append(l, :entry) ADD z :bytes",
            "ExpressionAttributeValues": {
                ":entry": {"L": [{"S": text}]},
                ":bytes": {"N": str(len(text))},
                ":most": {"N": str(MAX_LOG)},
            },
        }

    def _conflict(
        self, cancelled: Cancellation, rankings: RollingRankings, rows: Sequence[RowChange], log: _LogInUse
    ) -> RowConflict:
        position, reason, item, message = cancelled
        if position < len(rows):
            return RowConflict(position, reason, message)
        if reason is CancelReason.CONDITION:
            # The log is full, or it was purged with its ranking.
            if item is None:
                self._forget(rankings)
            else:
                log.bytes = log_bytes(item)
        elif reason is not CancelReason.BUSY:
            raise StoreRefusedError(message)
        return RowConflict(None, reason, message)

    def fold(self, rankings: RollingRankings, room: int) -> None:
        log = self._log(rankings)
        if log.bytes > room:
            log.bytes = fold_log(self._client, self._table, self._clock, self._run_all, rankings, log.number)

    def _forget(self, rankings: RollingRankings) -> None:
        """Forget the logs: the next commit makes log 0 if it is gone."""
        self._logs.forget(rankings.key)
        self._named.forget((rankings.key, *_extent(rankings)))

    def _log(self, rankings: RollingRankings) -> _LogInUse:
        log = self._logs.get(rankings.key)
        if log is None:
            log = _LogInUse()
            self._logs.put(rankings.key, log)
        return log

    def _prepare(self, rankings: RollingRankings) -> None:
        """Make log 0, and name the number of shards and `late` in it."""
        shards, late = _extent(rankings)
        if self._named.get((rankings.key, shards, late)) is not None:
            return
        if not self._make(rankings, 0, {"n": {"NS": [str(shards)]}, "w": {"NS": [str(late)]}}):
            request = {
                "TableName": self._table,
                "Key": _key(log_key(rankings.key, 0)),
                "UpdateExpression": "ADD n :n, w :w",
                "ConditionExpression": "attribute_exists(b) AND NOT (contains(n, :shards) AND contains(w, :late))",
                "ExpressionAttributeValues": {
                    ":n": {"NS": [str(shards)]},
                    ":w": {"NS": [str(late)]},
                    ":shards": {"N": str(shards)},
                    ":late": {"N": str(late)},
                },
            }
            update_if(self._client, request)
        self._named.put((rankings.key, shards, late), value=True)

    def _make(self, rankings: RollingRankings, number: int, more: Item) -> bool:
        """Make a log unless it is there. Its positions begin at the clock: above those of any removed earlier log."""
        item = {
            "pk": {"S": log_key(rankings.key, number)},
            "b": {"N": str(self._clock.now())},
            "l": {"L": []},
            "z": {"N": "0"},
            **more,
        }
        request = {"TableName": self._table, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}
        return put_if(self._client, request)

    def _change_log(self, rankings: RollingRankings, log: _LogInUse) -> None:
        """Double the logs and choose one at random. A log is made before it is named, and named before it is used."""
        count = min(2 * log.of, self._most)
        if count > log.of:
            for number in range(log.of, count):
                self._make(rankings, number, {})
            request = {
                **conditional(self._table, "attribute_exists(b) AND (attribute_not_exists(c) OR c < :c)"),
                "Key": _key(log_key(rankings.key, 0)),
                "UpdateExpression": "SET c = :c",
                "ExpressionAttributeValues": {":c": {"N": str(count)}},
            }
            is_named, stored = update_if(self._client, request)
            if not is_named and stored is None:
                # The ranking was purged. Nobody would read what another log has.
                self._forget(rankings)
                return
            log.of = count if stored is None else log_count(stored)
        log.conflicts = 0
        log.number = int(self._clock.random() * log.of)
        log.bytes = LONG  # Unknown: it is read with the next rows, and folded if there are none


def _extent(rankings: RollingRankings) -> tuple[int, int]:
    """The number of shards, and how long a period can be read after its end, in milliseconds."""
    return rankings.metric.shards, rankings.metric.timetable.late_for(rankings.unit)


def _key(text: str) -> dict[str, Any]:
    return {"pk": {"S": text}}
