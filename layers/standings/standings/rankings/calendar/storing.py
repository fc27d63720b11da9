"""Writes calendar rankings: members' entries, and the tier nodes that count them, in one transaction."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from standings.aws.dynamodb import tables
from standings.aws.dynamodb.tables import DynamoDBClient, Item
from standings.domain.boards import Ranking
from standings.domain.members import Move
from standings.domain.scoring import Place, decode_sort_key, sort_key
from standings.domain.tiers import ROOT, Path, deltas, nodes_for
from standings.domain.windows import SECOND
from standings.rankings import ROW_LIFETIME
from standings.rankings.calendar.pruning import Pruning
from standings.rankings.commits import Attempt, Conflict, Outcome, attempt_all, expiry_of_read
from standings.runtime.clock import RANKING_TTL_S, Backoff, Clock, TtlCache
from standings.stores import MAX_ACTIONS, CancelReason, StoreRefusedError

MAX_LANES: Final = 4  # The most lanes of a ranking. A reader reads all lanes, so each costs as much as the first.
CONFLICTS: Final = 2  # Conflicts in a row on a ranking's tiers after which this process changes to another lane
_OLDER: Final = "v < :v"  # The entry is older than the move
_UNRANKED: Final = "attribute_not_exists(s)"
_RANKED_THERE: Final = "s = :s"  # The entry is where the move starts


class CalendarStorage:
    """Calendar rankings, as they are written. Calls may raise StoreUnavailableError and StoreRefusedError.

    A process counts in lane 0 of a ranking's tiers until it has conflicts there with other processes. Then it counts
    in a random lane of several. The root has their number before one of them is used, so that readers read them all.
    """

    def __init__(
        self,
        client: DynamoDBClient,
        table: str,
        clock: Clock,
        most_lanes: int = MAX_LANES,
        pruning: Pruning | None = None,
    ) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._most_lanes = most_lanes
        self._pruning = pruning
        # Rankings whose root has this number of shards: that comes before an entry in one of the shards.
        self._named: TtlCache[tuple[str, int], bool] = TtlCache(clock, RANKING_TTL_S)
        # Rankings on which there were conflicts.
        self._lanes: TtlCache[str, _Lane] = TtlCache(clock, RANKING_TTL_S)

    def commit(self, moves: Sequence[Move], backoff: Backoff, stopped: Callable[[], bool]) -> Outcome:
        """Commit the moves of one ranking until stopped or too late. Commits of other rankings may run in parallel."""
        outcome = Outcome()
        # Neighbours share tiers, so they should share transactions.
        ordered = sorted(moves, key=lambda move: getattr(move.new or move.old, "values", ()))
        attempt_all(chunks(ordered), partial(self._attempt, outcome=outcome), backoff, stopped, outcome)
        return outcome

    def _attempt(self, chunk: Sequence[Move], outcome: Outcome) -> Attempt:
        """Commit the moves of one transaction. If it is cancelled: correct the moves, or refuse a move."""
        outcome.tried = chunk[0].ranking
        conflicts = self.move(chunk[0].ranking, chunk)
        if not conflicts:
            outcome.moves += len(chunk)
            outcome.done += chunk
            if self._pruning is not None and (pruned := self._pruning.prune_after(chunk)) is not None:
                outcome.prunes.append(pruned)
            return Attempt()
        is_busy = any(conflict.reason is CancelReason.BUSY for conflict in conflicts)
        outcome.conflicts += is_busy
        left = _resolve(chunk, conflicts, outcome)
        # A corrected move succeeds at the next try, unless others keep moving its row.
        return Attempt(list(chunks(left)), conflicts[0].message if left else "", is_busy, len(left) == len(chunk))

    def move(self, ranking: Ranking, moves: Sequence[Move]) -> list[Conflict]:
        """Move entries and tiers in one transaction. Returns what cancelled it; an empty list means that it succeeded.

        Raises StoreRefusedError if the store will never add to the tiers, and StoreUnavailableError.
        """
        expiry = expiry_of_read(ranking.kept_until, ranking.board_ends)
        lane = self._lanes.get(ranking.key) or _Lane()
        if lane.conflicts >= CONFLICTS and (on_root := self._change_lane(ranking, lane, expiry)):
            return on_root
        shards = ranking.metric.shards
        named = shards == 1 or self._named.get((ranking.key, shards)) is not None
        entries = [entry_action(self._table, ranking, move, expiry) for move in moves]
        counters = node_actions(
            self._table, ranking, moves, expiry, self._clock.now(), lane=lane.number, name_shards=not named
        )
        conflicts = []
        for position, reason, item, message in self._write(entries, counters):
            is_entry = position < len(moves)
            if not is_entry and reason is not CancelReason.BUSY:
                raise StoreRefusedError(message)
            conflicts.append(Conflict(position if is_entry else None, reason, message, item))
        busy = {conflict.position for conflict in conflicts if conflict.reason is CancelReason.BUSY}
        if busy == {None}:
            # Only on tiers: another lane cannot prevent a conflict on an entry.
            lane.conflicts += 1
            self._lanes.put(ranking.key, lane)
        elif not conflicts:
            lane.conflicts = 0
            if not named:
                self._named.put((ranking.key, shards), value=True)
        return conflicts

    def _write(self, entries: Sequence[Any], counters: Sequence[Any]) -> list[tables.Cancellation]:
        return tables.transact(self._client, [*entries, *counters])

    def _change_lane(self, ranking: Ranking, lane: "_Lane", expiry: int | None) -> list[Conflict]:
        """Double the lanes and choose one at random. Returns a conflict if the root is busy."""
        count = min(2 * lane.of, self._most_lanes)
        if count > lane.of:
            for _, reason, item, message in self._name_lanes(ranking, count, expiry):
                if reason is CancelReason.BUSY:
                    return [Conflict(None, reason, message)]
                if reason is not CancelReason.CONDITION or item is None:
                    raise StoreRefusedError(message)
                count = tables.lane_count(item)
            lane.of = count
        lane.number = int(self._clock.random() * lane.of)
        lane.conflicts = 0
        return []

    def _name_lanes(self, ranking: Ranking, lanes: int, expiry: int | None) -> list[tables.Cancellation]:
        sets = {"l": {"N": str(lanes)}}
        update = node_update(self._table, tables.node_key(ranking.key, ROOT), sets, {}, expiry, self._clock.now())
        condition = tables.conditional(self._table, "attribute_not_exists(l) OR l < :l")
        return tables.transact(self._client, [{"Update": {**update, **condition}}])


@dataclass(slots=True)
class _Lane:
    number: int = 0  # The lane in which this process counts
    of: int = 1
    conflicts: int = 0  # In a row


def _resolve(chunk: Sequence[Move], conflicts: Sequence[Conflict], outcome: Outcome) -> list[Move]:
    """Refuse, drop or correct the moves that conflicted. Return the moves to try again."""
    left = dict(enumerate(chunk))
    for position, reason, why, item in conflicts:
        if reason is CancelReason.BUSY or position is None:
            continue
        move = chunk[position]
        version, found = _counted(item, move) if item is not None else (None, None)
        if reason is CancelReason.INVALID or isinstance(found, str):
            del left[position]
            outcome.refused.append((move, found if isinstance(found, str) else why))
        elif version is not None and version >= move.version:
            del left[position]
            outcome.stale_moves += 1
            outcome.done.append(move)
        else:
            outcome.gaps += 1
            _start_from(move, found)
    return list(left.values())


def _start_from(move: Move, place: Place | None) -> None:
    move.old = place


def chunks(moves: Iterable[Move]) -> Iterator[list[Move]]:
    """Cut moves in one ranking into chunks, each small enough for one transaction with its tiers."""
    chunk: list[Move] = []
    tiers: set[Path] = set()
    for move in moves:
        values = {each.values if each is not None else None for each in (move.old, move.new)}
        # The nodes that a move may write.
        nodes = {node for value in values if value is not None and len(values) > 1 for node in nodes_for(value)}
        most = MAX_ACTIONS
        if move.ranking.metric.shards > 1:
            # The root names the shards. If moves count in another lane, the first lane's root may be written too.
            nodes.add(ROOT)
            most -= 1
        if chunk and len(chunk) + 1 + len(tiers | nodes) > most:
            yield chunk
            chunk, tiers = [], set()
        chunk.append(move)
        tiers |= nodes
    if chunk:
        yield chunk


def _counted(item: Item, move: Move) -> tuple[int, Place | str | None]:
    """The version of a stored entry, and the place that is counted; why it can never be moved if it is damaged."""
    ranking, place = move.ranking, None
    try:
        if "s" in item:
            key = item["s"]["S"]
            place, _ = decode_sort_key(key, ranking.metric)
            if key != sort_key(place, move.member):
                raise ValueError(key)
        return int(item["v"]["N"]), place
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return 0, f"the entry in {ranking.key} is damaged ({error!r}): rebuild its board"


def entry_action(table: str, ranking: Ranking, move: Move, expiry: int | None) -> dict[str, Any]:
    """Write a member's entry: `{"Put": {"Item": …, "ConditionExpression": …}}`.

    The condition is that the stored entry is older, and has the score that the move starts from. `expiry` is in seconds
    since 1970, here and below.
    A member that leaves keeps an entry without a score (a tombstone): no older change can bring the member back.
    """
    key = ranking.key
    item: dict[str, Any] = {
        "pk": {"S": tables.entry_key(key, move.member)},
        "v": {"N": str(move.version)},
        "t": {"N": str(move.written_at_ms)},
    }
    if move.new is not None:
        item["r"] = {"S": tables.index_key(key, tables.shard_of(move.member, ranking.metric.shards))}
        item["s"] = {"S": sort_key(move.new, move.member)}
    elif expiry is None:
        expiry = (move.written_at_ms + ROW_LIFETIME) // SECOND
    if expiry is not None:
        item["e"] = {"N": str(expiry)}
    values = {":v": {"N": str(move.version)}}
    if move.old is None:
        condition = f"(attribute_not_exists(v) OR {_OLDER}) AND {_UNRANKED}"
    else:
        condition = f"{_OLDER} AND {_RANKED_THERE}"
        values[":s"] = {"S": sort_key(move.old, move.member)}
    return {"Put": {**tables.conditional(table, condition, values), "Item": item}}


def node_actions(
    table: str, ranking: Ranking, moves: Sequence[Move], expiry: int | None, now: int, *, lane: int, name_shards: bool
) -> list[dict[str, Any]]:
    """Add the net change of some moves to the nodes that it affects, in one lane.

    There is one update for each node: `[{"Update": {"Key": {"pk": {"S": "berlin-2026#G0Pa/"}}, …}}, …]`.

    `name_shards` adds the number of shards to the set in the root. The set keeps all earlier numbers, so readers find
    every entry while the number changes, and after.
    """
    sets = {"t": {"N": str(max(move.written_at_ms for move in moves))}}
    counted = [(move.old and move.old.values, move.new and move.new.values) for move in moves]
    adds: dict[tuple[Path, int], dict[str, Any]] = {
        (path, lane): {tables.COUNTERS[digit]: {"N": str(n)} for digit, n in counters.items()}
        for path, counters in deltas(counted).items()
    }
    if name_shards:
        adds.setdefault((ROOT, 0), {})["n"] = {"NS": [str(ranking.metric.shards)]}
    return [
        {"Update": node_update(table, tables.node_key(ranking.key, *node), sets, adds[node], expiry, now)}
        for node in sorted(adds)
    ]


def node_update(
    table: str, key: str, sets: Mapping[str, Any], adds: Mapping[str, Any], expiry: int | None, now: int
) -> dict[str, Any]:
    """Update one lane of a node. A new one's version starts at the clock: above that of any removed earlier one."""
    sets = {**sets, "e": {"N": str(expiry)}} if expiry is not None else sets
    expression = f"SET {', '.join(f'{name} = :{name}' for name in sets)}, v = if_not_exists(v, :v) + :one"
    if adds:
        expression += f" ADD {', '.join(f'{name} :{name}' for name in adds)}"
    return {
        "TableName": table,
        "Key": tables.item_key(key),
        "UpdateExpression": expression,
        "ExpressionAttributeValues": {
            **{f":{name}": value for name, value in {**sets, **adds}.items()},
            **tables.numbers(v=now, one=1),
        },
    }
