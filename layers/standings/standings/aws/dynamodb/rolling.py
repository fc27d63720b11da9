"""Rolling windows in Rankings: rows and list items of members, and logs of counts that are folded into tiers."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import call
from typing import Any, Final

import orjson

from standings.aws.dynamodb.tables import (
    COUNTERS,
    Cancellation,
    DynamoDBClient,
    Item,
    conditional,
    entry_key,
    get_item,
    index_key,
    item_key,
    items_by_key,
    log_key,
    node_key,
    put_if,
    shard_of,
    shards_ever,
    transact,
    update_if,
)
from standings.domain.boards import generation_code
from standings.domain.rolling import (
    Block,
    Log,
    LogEntry,
    RollingRankings,
    Step,
    Steps,
    decode_entry,
    encode_entry,
    fold_deltas,
    list_key,
    node_deltas,
)
from standings.domain.scoring import Place, sort_key
from standings.domain.tiers import Path
from standings.domain.windows import DAY, MAX_ROLLING_BUCKETS, SECOND
from standings.runtime.clock import RANKING_TTL_S, Clock, TtlCache
from standings.stores import (
    CancelReason,
    ListItem,
    RollingRow,
    RowChange,
    RowConflict,
    StoreRefusedError,
    StoreUnavailableError,
)

# The items of a rolling window: rows, list items and logs, as they are stored.

EXPIRY_MARGIN: Final = 3 * DAY  # How long items stay after the last read: longer than a stream record can be late
MAX_STEP: Final = 100_000  # Periods of a step: more than any that can be stored
ROW_LIFETIME: Final = 60 * DAY  # Of a row without steps: longer than a change can be replayed


def encode_steps(steps: Steps) -> str:
    """Steps as text: the first complete period, then for each step its range, sort value, and instant if it has one.

    A range is given from where the last one ended.
    """
    numbers: list[list[int]] = []
    last = steps.low
    for first, until, place in steps.steps:
        since = () if place.since is None else (place.since,)
        numbers.append([first - last, until - first, place.sort_value, *since])
        last = until
    return orjson.dumps([steps.low, *numbers]).decode()


def decode_steps(text: str) -> Steps:
    """The steps in a text. Raises ValueError for any other text."""
    numbers = orjson.loads(text)
    if type(numbers) is not list or not numbers or type(numbers[0]) is not int or not all(map(_is_step, numbers[1:])):
        raise ValueError(f"expected steps, got {text[:80]!r}")
    low, *ranges = numbers
    steps: list[Step] = []
    last = low
    for gap, length, *place in ranges:
        first = last + gap
        last = first + length
        steps.append(Step(first, last, Place(*place)))
    return Steps(low, tuple(steps))


def _is_step(numbers: Any) -> bool:
    """Whether these are a gap, a length, a sort value, and an instant if there is one."""
    is_list = type(numbers) is list and len(numbers) in {3, 4}
    return is_list and set(map(type, numbers)) == {int} and 0 < numbers[1] <= MAX_STEP


def row_of(item: Item) -> RollingRow | str:
    """The row that an item holds, or why it cannot be read."""
    try:
        return RollingRow(int(item["v"]["N"]), decode_steps(item["p"]["S"]))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return f"the row {item['pk']['S']!r} is damaged ({error!r}): rebuild its board"


def row_item(rankings: RollingRankings, change: RowChange) -> dict[str, Any]:
    """A row as an item. It stays until none of its steps can be read, and no older change can be replayed."""
    steps = change.row.steps
    until = max((rankings.readable_until(step.until - 1) for step in steps.steps[-1:]), default=0)
    expiry = max(until + EXPIRY_MARGIN, change.written_at_ms + ROW_LIFETIME)
    return {
        "pk": {"S": entry_key(rankings.key, change.member)},
        "v": {"N": str(change.row.version)},
        "t": {"N": str(change.written_at_ms)},
        "p": {"S": encode_steps(steps)},
        "e": {"N": str(expiry // SECOND)},
    }


def list_item(rankings: RollingRankings, item: ListItem) -> dict[str, Any]:
    """A list item. One without a place keeps its version, so that no older change can bring the place back."""
    block_list = list_key(rankings, item.block)
    stored: dict[str, Any] = {
        "pk": {"S": entry_key(block_list, item.member)},
        "v": {"N": str(item.version)},
        "t": {"N": str(item.written_at_ms)},
        "e": {"N": str((rankings.readable_until(item.block.until - 1) + EXPIRY_MARGIN) // SECOND)},
    }
    if item.place is not None:
        stored["r"] = {"S": index_key(block_list, shard_of(item.member, rankings.metric.shards))}
        stored["s"] = {"S": sort_key(item.place, item.member)}
    return stored


def listed_member(rankings: RollingRankings, key: str) -> tuple[Block, str] | None:
    """The block and the member that the key of a list item names; None if it is the key of another item."""
    named = _item_keys(rankings).fullmatch(key)
    return None if named is None else (Block(int(named[1]), int(named[2] or 1)), named[3])


@lru_cache(maxsize=1024)
def _item_keys(rankings: RollingRankings) -> re.Pattern[str]:
    window = re.escape(f"{rankings.board}#{rankings.metric.ranking_code(rankings.window)}")
    return re.compile(rf"{window}([0-9]+)(?:x([0-9]+))?{generation_code(rankings.generation)}#(.*)", re.DOTALL)


def log_of(item: Item) -> Log:
    """The log that an item holds; StoreRefusedError if it is damaged."""
    try:
        return Log(int(item["b"]["N"]), tuple(map(_entry, item["l"]["L"])))
    except (LookupError, TypeError, ValueError) as error:
        why = f"the log {item['pk']['S']!r} is damaged ({error!r}): rebuild its board"
        raise StoreRefusedError(why) from error


def _entry(value: Mapping[str, Any]) -> LogEntry:
    return decode_entry(value["S"])


def log_bytes(item: Item) -> int:
    """The bytes of a log's entries."""
    return int(item["z"]["N"])


def log_count(first: Item) -> int:
    """The number of logs that log 0 names."""
    return int(first["c"]["N"]) if "c" in first else 1


def lates_ever(first: Item) -> set[int]:
    """How long after its end a period could be read, in milliseconds: every value that log 0 names."""
    return {int(late) for late in first["w"]["NS"]} if "w" in first else set()


def positions(node: Item) -> dict[int, int]:
    """A node's position in each log that it has taken entries from."""
    return {int(name[1:]): int(value["N"]) for name, value in node.items() if name[0] == "p" and name[1:].isdigit()}


def ahead_of(logs: Mapping[int, Log], node: Item) -> tuple[int, int] | None:
    """A log's number, and a position of a node there that is beyond its end; None if there is none.

    A log that was not read counts as behind.
    """
    beyond = (
        (number, position)
        for number, position in positions(node).items()
        if number not in logs or position > logs[number].end
    )
    return next(beyond, None)


def positions_known(nodes: Iterable[Item], logs: Mapping[int, Log]) -> bool:
    """Whether no node is ahead of the logs as they were read."""
    return all(ahead_of(logs, node) is None for node in nodes)


# Folds: take the entries of a log into the nodes of the tiers that they change, and cut them off the log.
#
# A node remembers its position in each log. A fold brings each node that it changes to the same position, whatever
# other folds have done before, at the same time, or half. It may be repeated, and fail anywhere: a reader adds to a
# node what the node lacks. The log is cut once every node has its entries.

MAX_ENTRIES: Final = 250  # Entries that one fold takes: as many list elements as an update expression may remove
TRIES: Final = 10  # How often a node is tried while other folds change it

WRITES_TIMEOUT_S: Final = 2.0  # Seconds for which single writes are tried again, before all of them are

RunAll = Callable[[Sequence[Callable[[], None]]], Iterable[None]]
"""Runs jobs, in parallel or one after the other; an iteration waits for them and raises their errors."""


def write_all(run_all: RunAll, clock: Clock, writes: Sequence[Callable[[], None]]) -> None:
    """Do single writes. One that fails is tried again by itself: otherwise many writes would rarely all succeed."""
    deadline = clock.monotonic() + WRITES_TIMEOUT_S

    def persistent(write: Callable[[], None]) -> None:
        clock.backoff(deadline).retry(write)

    for _ in run_all([partial(persistent, write) for write in writes]):
        pass


def fold_log(
    client: DynamoDBClient, table: str, clock: Clock, run_all: RunAll, rankings: RollingRankings, number: int
) -> int:
    """Fold a log. Returns the bytes that are left in it."""
    item = get_item(client, table, item_key(log_key(rankings.key, number)), consistent=True)
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
    fold = _Fold(client, table, rankings, number, log)
    changed = fold_deltas(log.entries, periods)
    nodes = [partial(fold.advance, period, path, changed[period, path]) for period, path in sorted(changed)]
    write_all(run_all, clock, nodes)
    cut = sum(len(encode_entry(entry)) for entry in log.entries)
    is_cut, stored = clock.retry(fold.cut, cut)
    if is_cut:
        return log_bytes(item) - cut
    return log_bytes(stored) if stored is not None else 0


@dataclass(slots=True)
class _Fold:
    _client: DynamoDBClient
    _table: str
    _rankings: RollingRankings
    _number: int
    _log: Log

    def advance(self, period: int, path: Path, counters: dict[int, int]) -> None:
        """Advance a node's position to the end of the log: add the entries that the node does not count yet."""
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
        written_at_ms = max(entry.written_at_ms for entry in self._log.entries)
        sets = {f"p{self._number}": self._log.end, "t": written_at_ms, "e": expiry}
        adds = {COUNTERS[digit]: count for digit, count in counters.items()}
        added = f" ADD {', '.join(f'{name} :{name}' for name in adds)}" if adds else ""
        numbers = {f":{name}": number for name, number in {**sets, **adds}.items()} | {":at": at}
        return {
            **conditional(self._table, condition, {name: {"N": str(number)} for name, number in numbers.items()}),
            "Key": item_key(node_key(self._rankings.at(period).key, path)),
            "UpdateExpression": f"SET {', '.join(f'{name} = :{name}' for name in sets)}{added}",
        }

    def cut(self, length: int) -> tuple[bool, Item | None]:
        """Cut the entries off the log, unless another fold has cut some."""
        # From the last to the first: some emulators remove one after the other.
        removed = ", ".join(f"l[{index}]" for index in reversed(range(len(self._log.entries))))
        numbers = {":base": self._log.base, ":end": self._log.end, ":less": -length}
        request = {
            **conditional(self._table, "b = :base", {name: {"N": str(number)} for name, number in numbers.items()}),
            "Key": item_key(log_key(self._rankings.key, self._number)),
            "UpdateExpression": f"SET b = :end REMOVE {removed} ADD z :less",
        }
        return update_if(self._client, request)


# Writes rolling windows for the projector: list items, rows, and the logs of their counts.

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


class RollingWindows:
    """Rolling windows, for the projector. Every call may raise StoreUnavailableError and StoreRefusedError.

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
        """Read rows, strongly consistently. A row that cannot be decoded is the reason why."""
        by_key = {entry_key(rankings.key, member): member for member in members}
        log = self._log(rankings)
        own_log = log_key(rankings.key, log.number)
        rows = items_by_key(self._client, self._table, (*by_key, own_log), self._clock, consistent=True)
        found = rows.pop(own_log, None)
        log.bytes = log_bytes(found) if found is not None else 0
        shards, late = _extent(rankings)
        if found is not None and log.number == 0 and shards in shards_ever(found) and late in lates_ever(found):
            # It was just read, so nothing needs to be made or named.
            self._named.put((rankings.key, shards, late), value=True)
        return {by_key[key]: row_of(item) for key, item in rows.items()}

    def list(self, rankings: RollingRankings, items: Sequence[ListItem]) -> None:
        """Write list items, each unless the stored one is newer. Those with a place are written before the others."""
        placed = [item for item in items if item.place is not None]
        if placed:
            self._prepare(rankings)
        # A member that has the same place in another block now must never be in neither list.
        for part in (placed, [item for item in items if item.place is None]):
            write_all(self._run_all, self._clock, [partial(self._put, list_item(rankings, item)) for item in part])

    def _put(self, item: dict[str, Any]) -> None:
        put_if(self._client, self._table, item, "attribute_not_exists(v) OR v <= :v", {":v": item["v"]})

    def commit(self, rankings: RollingRankings, rows: Sequence[RowChange], entry: LogEntry) -> Sequence[RowConflict]:
        """Write rows and append their changes to a log, in one transaction. No conflict means that it succeeded."""
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
            "Key": item_key(key),
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
        """Take this process's log into the tiers, if it is longer than `room` bytes."""
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
                "Key": item_key(log_key(rankings.key, 0)),
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
        item: Item = {
            "pk": {"S": log_key(rankings.key, number)},
            "b": {"N": str(self._clock.now())},
            "l": {"L": []},
            "z": {"N": "0"},
            **more,
        }
        return put_if(self._client, self._table, item, "attribute_not_exists(pk)")

    def _change_log(self, rankings: RollingRankings, log: _LogInUse) -> None:
        """Double the logs and choose one at random. A log is made before it is named, and named before it is used."""
        count = min(2 * log.of, self._most)
        if count > log.of:
            for number in range(log.of, count):
                self._make(rankings, number, {})
            request = {
                **conditional(self._table, "attribute_exists(b) AND (attribute_not_exists(c) OR c < :c)"),
                "Key": item_key(log_key(rankings.key, 0)),
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
