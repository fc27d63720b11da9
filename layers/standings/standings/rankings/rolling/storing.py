"""Writes rolling windows: list items, rows, and the logs of their counts, which are folded into tier nodes.

A commit of some members' shifts writes in this order. If it dies at an arrow, a reader sees:

    log 0                    nothing new: it names the shards of the lists, so that readers look into all of them
        ↓
    placed list items        members where they are going, in lists; their ranks count them where they were
        ↓                    (a member may be in two lists: a page shows it once)
    gone list items          the same; a member that stays is always in a list
        ↓
    rows and log entry       everything: the row and its counts change in one transaction
        ↓
    fold                     everything: a reader adds to a node the log entries that it lacks

A repeated attempt writes the same items again, or newer ones. The first step is left out where log 0 names the shards
already. A long log is folded before it takes another entry, too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple

from standings.aws.dynamodb import tables
from standings.aws.dynamodb.tables import DynamoDBClient, Item
from standings.domain.tiers import Path
from standings.domain.windows import MAX_ROLLING_BUCKETS
from standings.rankings import EXPIRY_MARGIN, commits
from standings.rankings.commits import Attempt, Conflict, Outcome, RunAll
from standings.rankings.rolling import steps as rolling
from standings.rankings.rolling.reading import positions
from standings.rankings.rolling.steps import Log, LogEntry, RollingRankings, Shift, Steps
from standings.runtime.clock import RANKING_TTL_S, Backoff, Clock, TtlCache
from standings.stores import MAX_ACTIONS, CancelReason, StoreRefusedError, StoreUnavailableError

CONFLICTS: Final = 2  # Conflicts in a row on a log after which this process changes to another log
MAX_LOGS: Final = 4  # The most logs of a window. A reader reads all of them, so each costs as much as the first
LONG: Final = 24 * 1024  # Bytes of a log that is folded before it takes more
MAX_LOG: Final = 64 * 1024  # Bytes of a log that takes no more
MAX_ENTRY: Final = 8 * 1024  # Bytes of a log's entry that a transaction stays below, unless it has one row alone
ROOM: Final = 3 * 1024  # Bytes of a log that wait for more changes: readers read a log of 4 KB for one unit


class RollingStorage:
    """Rolling windows, as they are written. Calls may raise StoreUnavailableError and StoreRefusedError.

    A process appends to log 0 of a window until it has conflicts there with other processes. Then it appends to a
    random log of several. Log 0 has their number before one of them is used, so that readers read them all.
    """

    def __init__(
        self,
        client: DynamoDBClient,
        table: str,
        clock: Clock,
        run_all: RunAll = commits.one_after_another,
        most: int = MAX_LOGS,
        logs: "TtlCache[str, _LogInUse] | None" = None,
    ) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._run_all = run_all
        self._most = most
        self._logs: TtlCache[str, _LogInUse] = TtlCache(clock, RANKING_TTL_S) if logs is None else logs

    def until(self, deadline: float) -> "RollingStorage":
        """The same, with the same logs, for work that ends at a deadline of the monotonic clock.

        One commit, or one fold, may be thousands of writes. None begins after the deadline: StoreUnavailableError.
        """
        clock = self._clock.until(deadline)
        return RollingStorage(self._client, self._table, clock, self._run_all, self._most, self._logs)

    def commit(self, shifts: Sequence[Shift], backoff: Backoff, stopped: Callable[[], bool]) -> Outcome:
        """Commit the shifts of one window until stopped or too late. Commits of other rankings may run in parallel."""
        outcome = Outcome()
        most = MAX_ACTIONS - 1  # One action is the log's
        groups = [shifts[start : start + most] for start in range(0, len(shifts), most)]
        commits.attempt_all(groups, partial(self._attempt, outcome=outcome), backoff, stopped, outcome)
        if outcome.moves and outcome.failure is None and self._log(shifts[0].ranking).bytes > ROOM:
            self._fold_until(backoff, shifts[0].ranking, outcome)
        return outcome

    def _attempt(self, group: Sequence[Shift], outcome: Outcome) -> Attempt:
        """Commit as many shifts as fit into one entry of a log."""
        rankings = group[0].ranking
        plan = plan_of(group, self.rows(rankings, [shift.member for shift in group]))
        left, conflicts = list(plan.left), self.write(rankings, plan)
        # Only now: if the write fails, the whole group is tried again, and must not be counted twice.
        outcome.refused += plan.refused
        outcome.stale_moves += len(plan.stale)
        outcome.done += plan.stale
        outcome.gaps += plan.gaps
        if conflicts:
            outcome.conflicts += any(conflict.reason is CancelReason.BUSY for conflict in conflicts)
            invalid = {each.position: each.message for each in conflicts if each.reason is CancelReason.INVALID}
            outcome.refused += ((row.shift, invalid[at]) for at, row in enumerate(plan.rows) if at in invalid)
            left = [*(row.shift for at, row in enumerate(plan.rows) if at not in invalid), *left]
        else:
            outcome.moves += len(plan.rows)
            outcome.done += (row.shift for row in plan.rows)
        conflict = conflicts[0].message if conflicts else ""
        return Attempt([left] if left else [], conflict, is_fruitless=bool(conflict))

    def _fold_until(self, backoff: Backoff, rankings: RollingRankings, outcome: Outcome) -> None:
        """Fold (compact) the log, so that readers need not read a long one.

        What was committed counts even if this fails, but the outcome is then a failure: a later attempt folds.
        """
        while True:
            try:
                self.fold(rankings)
            except StoreUnavailableError as error:
                if backoff.wait(error.wait):
                    continue
                outcome.failure = str(error)
            except StoreRefusedError as error:
                # The batch counts nevertheless. The audit reports a damaged log.
                outcome.problem = f"the log of {rankings.key} cannot be folded: {error}"
            return

    def rows(self, rankings: RollingRankings, members: Sequence[str]) -> dict[str, rolling.RollingRow | str]:
        """Read rows by member, strongly consistently. For a row that cannot be decoded there is the reason why."""
        by_key = {tables.entry_key(rankings.key, member): member for member in members}
        log = self._log(rankings)
        own_log = tables.log_key(rankings.key, log.number)
        rows = tables.items_by_key(self._client, self._table, (*by_key, own_log), self._clock, consistent=True)
        found = rows.pop(own_log, None)
        log.bytes = rolling.log_bytes(found) if found is not None else 0
        shards, late = _extent(rankings)
        if (
            found is not None
            and log.number == 0
            and shards in tables.shards_ever(found)
            and late in rolling.lates_ever(found)
        ):
            # Log 0, as just read, names both: `_prepare` has nothing to do.
            log.is_prepared = True
        return {by_key[key]: rolling.row_of(item) for key, item in rows.items()}

    def write(self, rankings: RollingRankings, plan: "Plan") -> Sequence[Conflict]:
        """Write what a plan says, in the order of the module's picture. No conflict means that it succeeded."""
        placed = [item for item in plan.items if "s" in item]
        if placed:
            self._prepare(rankings)
        # A member that changes blocks must always be in a list: it enters the new one before it leaves the old one.
        for part in (placed, [item for item in plan.items if "s" not in item]):
            write_all(self._run_all, self._clock, [partial(self._put, item) for item in part])
        return self.append(rankings, plan.rows, plan.entry) if plan.rows else ()

    def _put(self, item: dict[str, Any]) -> None:
        tables.put_if(self._client, self._table, item, "attribute_not_exists(v) OR v <= :v", {":v": item["v"]})

    def append(self, rankings: RollingRankings, rows: "Sequence[RowWrite]", entry: LogEntry) -> Sequence[Conflict]:
        """Write rows and append their changes to a log, in one transaction."""
        # The row of a removed member needs no log. On a deleted board nothing would remove the log again.
        if entry.changes:
            self._prepare(rankings)
        log, text = self._log(rankings), rolling.encode_entry(entry)
        if log.conflicts >= CONFLICTS:
            self._change_log(rankings, log)
        if log.bytes + len(text) > LONG:
            self.fold(rankings)
        actions = [self._row(row) for row in rows]
        if entry.changes:
            key, condition = tables.log_key(rankings.key, log.number), "attribute_exists(b) AND z < :most"
            values = {":entry": {"L": [{"S": text}]}, **tables.numbers(bytes=len(text), most=MAX_LOG)}
            added = "SET l = list_append(l, :entry) ADD z :bytes"
            actions.append({"Update": tables.update(self._table, key, added, condition, values)})
        cancelled = tables.transact(self._client, actions)
        conflicts = [self._conflict(each, rankings, rows, log) for each in cancelled]
        busy = {conflict.position for conflict in conflicts if conflict.reason is CancelReason.BUSY}
        if busy == {None}:
            log.conflicts += 1
        elif not conflicts:
            log.conflicts = 0
            log.bytes += len(text) if entry.changes else 0
        return conflicts

    def _row(self, row: "RowWrite") -> dict[str, Any]:
        # The log entry counts from the row that was read, so that row must still be the stored one.
        is_as_read = ("attribute_not_exists(v)",) if row.seen is None else ("v = :seen", tables.numbers(seen=row.seen))
        condition = tables.conditional(self._table, *is_as_read)
        return {"Put": {**condition, "Item": rolling.row_item(row.shift, row.steps)}}

    def _conflict(
        self, cancelled: tables.Cancellation, rankings: RollingRankings, rows: "Sequence[RowWrite]", log: "_LogInUse"
    ) -> Conflict:
        position, reason, item, message = cancelled
        if position < len(rows):
            return Conflict(position, reason, message)
        if reason is CancelReason.CONDITION:
            # The log is full, or it was purged with its ranking.
            if item is None:
                self._logs.forget(rankings.key)
            else:
                log.bytes = rolling.log_bytes(item)
        elif reason is not CancelReason.BUSY:
            raise StoreRefusedError(message)
        return Conflict(None, reason, message)

    def fold(self, rankings: RollingRankings) -> None:
        """Take this process's log into the tiers, if it has entries."""
        log = self._log(rankings)
        if log.bytes:
            log.bytes = fold_log(self._client, self._table, self._clock, self._run_all, rankings, log.number)

    def _log(self, rankings: RollingRankings) -> "_LogInUse":
        return self._logs.get_or_read(rankings.key, _LogInUse)

    def _prepare(self, rankings: RollingRankings) -> None:
        """Make log 0, and name the number of shards and `late` in it."""
        log, (shards, late) = self._log(rankings), _extent(rankings)
        if log.is_prepared:
            return
        sets = {"n": {"NS": [str(shards)]}, "w": {"NS": [str(late)]}}
        if not self._make(rankings, 0, sets):
            added = {f":{name}": numbers for name, numbers in sets.items()}
            request = {
                "TableName": self._table,
                "Key": tables.item_key(tables.log_key(rankings.key, 0)),
                "UpdateExpression": "ADD n :n, w :w",
                "ConditionExpression": "attribute_exists(b) AND NOT (contains(n, :shards) AND contains(w, :late))",
                "ExpressionAttributeValues": {**added, **tables.numbers(shards=shards, late=late)},
            }
            tables.update_if(self._client, request)
        log.is_prepared = True

    def _make(self, rankings: RollingRankings, number: int, more: Item) -> bool:
        """Make a log unless it is there. Its positions begin at the clock: above those of any removed earlier log."""
        item: Item = {
            "pk": {"S": tables.log_key(rankings.key, number)},
            "b": {"N": str(self._clock.now())},
            "l": {"L": []},
            "z": {"N": "0"},
            **more,
        }
        if (expiry := commits.expiry_of_read(None, rankings.board_ends)) is not None:
            item = {**item, "e": {"N": str(expiry)}}
        return tables.put_if(self._client, self._table, item, "attribute_not_exists(pk)")

    def _change_log(self, rankings: RollingRankings, log: "_LogInUse") -> None:
        """Double the logs and choose one at random. A log is made before it is named, and named before it is used."""
        count = min(2 * log.of, self._most)
        if count > log.of:
            for number in range(log.of, count):
                self._make(rankings, number, {})
            first, condition = (
                tables.log_key(rankings.key, 0),
                "attribute_exists(b) AND (attribute_not_exists(c) OR c < :c)",
            )
            request = tables.update(self._table, first, "SET c = :c", condition, tables.numbers(c=count))
            is_named, stored = tables.update_if(self._client, request)
            if not is_named and stored is None:
                # The ranking was purged. Nobody would read what another log has.
                self._logs.forget(rankings.key)
                return
            log.of = count if stored is None else rolling.log_count(stored)
        log.conflicts = 0
        log.number = int(self._clock.random() * log.of)
        log.bytes = LONG  # Unknown, so `append` folds it before it adds an entry


class RowWrite(NamedTuple):
    """A row to write for a shift. `seen` is the version of the row that was read; None if there was none."""

    shift: Shift
    steps: Steps
    seen: int | None


@dataclass(slots=True)
class Plan:
    """What to write for a group of shifts: list items, then rows with the log entry that counts them.

    `stale` shifts are done: their rows are as new, or newer. `refused` shifts are not: their rows are damaged. `left`
    are shifts for which the entry had no room. `gaps` counts rows that were not where a record of the stream says.
    """

    items: list[dict[str, Any]] = field(default_factory=list)
    rows: list[RowWrite] = field(default_factory=list)
    entry: LogEntry = field(default_factory=lambda: LogEntry(0, ()))
    stale: list[Shift] = field(default_factory=list)
    refused: list[tuple[Shift, str]] = field(default_factory=list)
    left: Sequence[Shift] = ()
    gaps: int = 0


def plan_of(group: Sequence[Shift], rows: Mapping[str, rolling.RollingRow | str]) -> Plan:
    """Plan the writes for shifts of one window, given the rows that were read. A row as text is damaged: the reason."""
    plan = Plan()
    size = 0
    for position, shift in enumerate(group):
        row = rows.get(shift.member)
        if isinstance(row, str):
            plan.refused.append((shift, row))
            continue
        if row is not None and row.version >= shift.version:
            plan.stale.append(shift)
            if shift.rewrite_every_item:
                # The row is the newest state. A failed attempt may still have left items of an older one.
                plan.items += rolling.list_items(replace(shift, steps=row.steps, version=row.version), row.steps)
            continue
        seen, version = (None, None) if row is None else (row.steps, row.version)
        steps = rolling.counted_from(seen, shift.steps)
        counted = rolling.count_changes(seen, steps)
        size += len(rolling.encode_entry(LogEntry(0, counted)))
        if plan.rows and size > MAX_ENTRY:
            plan.left = group[position:]
            break
        plan.rows.append(RowWrite(shift, steps, version))
        written_at_ms = max(plan.entry.written_at_ms, shift.written_at_ms)
        plan.entry = LogEntry(written_at_ms, [*plan.entry.changes, *counted])
        plan.items += rolling.list_items(shift, seen)
        if shift.passed:
            # If the row's places differ from those of the image before, an earlier change is missing.
            window, low = shift.ranking.window, shift.steps.low
            plan.gaps += (seen or Steps(low)).by_block(window, low) != shift.passed[0].by_block(window, low)
    return plan


@dataclass(slots=True)
class _LogInUse:
    """The log that this process appends to, as it was read or written last.

    `is_prepared`: log 0 exists, and names this process's shards and `late`. That comes before an item in a list. The
    next commit makes it if it is gone.
    """

    number: int = 0
    of: int = 1
    bytes: int = 0
    conflicts: int = 0  # In a row
    is_prepared: bool = False


def _extent(rankings: RollingRankings) -> tuple[int, int]:
    """The number of shards, and how long a period can be read after its end, in milliseconds."""
    return rankings.metric.shards, rankings.metric.timetable.late_for(rankings.unit)


MAX_ENTRIES: Final = 250  # Entries that one fold takes: as many list elements as an update expression may remove
PROBED: Final = 16  # Nodes that a fold advances first, to see whether an earlier one has advanced them
TRIES: Final = 10  # How often a node is tried while other folds change it
WRITES_TIMEOUT_S: Final = 2.0  # Seconds for which single writes are tried again, before all of them are


def fold_log(
    client: DynamoDBClient, table: str, clock: Clock, run_all: RunAll, rankings: RollingRankings, number: int
) -> int:
    """Fold a log. Returns the bytes that are left in it."""
    item = tables.get_item(client, table, tables.item_key(tables.log_key(rankings.key, number)), consistent=True)
    if item is None:
        return 0
    log = rolling.log_of(item)
    log = Log(log.base, log.entries[:MAX_ENTRIES])
    if not log.entries:
        return 0
    # Nobody can read the counts of earlier periods any more.
    low = rankings.first_open(clock.now())
    periods = range(low, rankings.window.slab_of(low).stop + 10 * MAX_ROLLING_BUCKETS)
    fold = _Fold(client, table, rankings, number, log)
    changed = fold_deltas(log.entries, periods)
    nodes = sorted(changed)
    first, rest = nodes[:PROBED], nodes[PROBED:]
    write_all(run_all, clock, [partial(fold.advance, *node, changed[node]) for node in first])
    if rest and fold.is_repeated:
        # An earlier fold did not get to its end. Else one that is long would rarely end where functions often do.
        rest = clock.retry(fold.behind, rest, clock)
    write_all(run_all, clock, [partial(fold.advance, *node, changed[node]) for node in rest])
    cut = sum(len(rolling.encode_entry(entry)) for entry in log.entries)
    is_cut, stored = clock.retry(fold.cut, cut)
    if is_cut:
        return rolling.log_bytes(item) - cut
    return rolling.log_bytes(stored) if stored is not None else 0


@dataclass(slots=True)
class _Fold:
    _client: DynamoDBClient
    _table: str
    _rankings: RollingRankings
    _number: int
    _log: Log
    is_repeated: bool = False
    """Whether a node was at the end already."""

    def behind(self, nodes: Sequence[tuple[int, Path]], clock: Clock) -> list[tuple[int, Path]]:
        """Those of these nodes that have not taken all entries: read a hundred at a time, not tried one by one."""
        keys = {node: tables.node_key(self._rankings.at(node[0]).key, node[1]) for node in nodes}
        items = tables.items_by_key(self._client, self._table, keys.values(), clock, consistent=True)
        reached = {key for key, item in items.items() if positions(item).get(self._number, 0) >= self._log.end}
        return [node for node in nodes if keys[node] not in reached]

    def advance(self, period: int, path: Path, counters: dict[int, int]) -> None:
        """Advance a node's position to the end of the log: add the entries that the node does not count yet."""
        position = f"p{self._number}"
        # Most nodes have taken no entry that is still in this log.
        condition, at = f"attribute_not_exists({position}) OR {position} <= :at", self._log.base
        for _ in range(TRIES):
            is_done, stored = tables.update_if(self._client, self._update(period, path, counters, condition, at))
            if is_done:
                return
            at = positions(stored or {}).get(self._number, self._log.base)
            if at >= self._log.end:
                self.is_repeated = True
                return
            missing = rolling.node_deltas(self._log.since(at), range(period, period + 1))
            counters = missing.get((period, path), {})
            condition = f"{position} = :at"
        raise StoreUnavailableError(f"other folds keep changing {self._rankings.key}")

    def _update(self, period: int, path: Path, counters: dict[int, int], condition: str, at: int) -> dict[str, Any]:
        expiry = commits.expiry_of(self._rankings.readable_until(period) + EXPIRY_MARGIN, self._rankings.board_ends)
        written_at_ms = max(entry.written_at_ms for entry in self._log.entries)
        sets = {f"p{self._number}": self._log.end, "t": written_at_ms, "e": expiry}
        adds = {tables.COUNTERS[digit]: count for digit, count in counters.items()}
        expression = f"SET {', '.join(f'{name} = :{name}' for name in sets)}"
        if adds:
            expression += f" ADD {', '.join(f'{name} :{name}' for name in adds)}"
        key, numbers = tables.node_key(self._rankings.at(period).key, path), tables.numbers(**sets, **adds, at=at)
        return tables.update(self._table, key, expression, condition, numbers)

    def cut(self, length: int) -> tuple[bool, Item | None]:
        """Cut the entries off the log, unless another fold has cut some."""
        # From the last to the first: some emulators remove one after the other.
        removed = ", ".join(f"l[{index}]" for index in reversed(range(len(self._log.entries))))
        key = tables.log_key(self._rankings.key, self._number)
        numbers = tables.numbers(base=self._log.base, end=self._log.end, less=-length)
        expression = f"SET b = :end REMOVE {removed} ADD z :less"
        return tables.update_if(self._client, tables.update(self._table, key, expression, "b = :base", numbers))


def fold_deltas(entries: Sequence[LogEntry], periods: range) -> rolling.NodeDeltas:
    """The net change of every counter of every node that some entry changes.

    Nodes whose changes cancel each other out are among them, without counters: another fold may have brought such a
    node to a position in between.
    """
    changed: rolling.NodeDeltas = {node: {} for entry in entries for node in rolling.node_deltas([entry], periods)}
    return changed | rolling.node_deltas(entries, periods)


def write_all(run_all: RunAll, clock: Clock, writes: Sequence[Callable[[], None]]) -> None:
    """Do single writes. One that fails is tried again by itself: otherwise many writes would rarely all succeed.

    None begins after the clock's deadline: StoreUnavailableError.
    """
    until = clock.backoff_for(WRITES_TIMEOUT_S).deadline

    def in_time(write: Callable[[], None]) -> None:
        clock.backoff(clock.deadline).check()
        clock.backoff(until).retry(write)

    for _ in run_all([partial(in_time, write) for write in writes]):
        pass
