"""Writes Rankings for the projector: entries, and the tiers that count them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from standings.aws.dynamodb.calls import Cancellation, DynamoDBClient, Item, conditional, transact
from standings.aws.dynamodb.keys import node_key
from standings.aws.dynamodb.rankings.ranking_actions import entry_action, expiry_of, node_actions, node_update
from standings.aws.dynamodb.rankings.tier_trees import lane_count
from standings.domain.boards.ranking import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import decode_sort_key, sort_key
from standings.domain.tiers.tier_path import ROOT
from standings.ports.errors import CancelReason, StoreRefusedError
from standings.ports.rankings import MoveConflict, RankingRow
from standings.runtime.retry import Clock
from standings.runtime.ttl_cache import RANKING_TTL_S, TtlCache

MAX_LANES: Final = 4  # The most lanes of a ranking. A reader reads all lanes, so each costs as much as the first.
CONFLICTS: Final = 2  # Conflicts in a row on a ranking's tiers after which this process changes to another lane


@dataclass(slots=True)
class _Lane:
    """The lane of a ranking in which this process counts, how many lanes there are, and the conflicts in a row."""

    number: int = 0
    of: int = 1
    conflicts: int = 0


class DynamoRankings:
    """Rankings (`ports.rankings.Rankings`).

    A process counts in lane 0 of a ranking's tiers until it has conflicts there with other processes. Then it counts
    in a random lane of several. The root has their number before one of them is used, so that readers read them all.
    """

    def __init__(self, client: DynamoDBClient, rankings: str, clock: Clock, most_lanes: int = MAX_LANES) -> None:
        self._client = client
        self._rankings = rankings
        self._clock = clock
        self._most_lanes = most_lanes
        # Rankings whose root has this number of shards: that comes before an entry in one of the shards.
        self._named: TtlCache[tuple[str, int], bool] = TtlCache(clock, RANKING_TTL_S)
        # Rankings on which there were conflicts.
        self._lanes: TtlCache[str, _Lane] = TtlCache(clock, RANKING_TTL_S)

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveConflict]:
        expiry = expiry_of(ranking)
        lane = self._lanes.get(ranking.key) or _Lane()
        if lane.conflicts >= CONFLICTS and (busy := self._change_lane(ranking, lane, expiry)):
            return busy
        shards = ranking.metric.shards
        named = shards == 1 or self._named.get((ranking.key, shards)) is not None
        entries = [entry_action(self._rankings, ranking, move, expiry) for move in moves]
        counters = node_actions(
            self._rankings, ranking, moves, expiry, self._clock.now(), lane=lane.number, name_shards=not named
        )
        conflicts = []
        for index, reason, item, message in self._write(entries, counters):
            if index < len(moves):
                conflicts.append(_conflict(index, reason, item, message, ranking, moves[index]))
            elif reason is CancelReason.BUSY:
                conflicts.append(MoveConflict(None, reason, None, message))
            else:
                raise StoreRefusedError(message)
        self._count_conflicts(ranking, lane, conflicts)
        if not conflicts and not named:
            self._named.put((ranking.key, shards), value=True)
        return conflicts

    def _write(self, entries: Sequence[Any], counters: Sequence[Any]) -> list[Cancellation]:
        """Write entries and the tiers that count them in one transaction."""
        return transact(self._client, [*entries, *counters])

    def _count_conflicts(self, ranking: Ranking, lane: _Lane, conflicts: Sequence[MoveConflict]) -> None:
        """Count conflicts in a row on tiers alone: another lane cannot prevent a conflict on an entry."""
        busy = {conflict.position for conflict in conflicts if conflict.reason is CancelReason.BUSY}
        if busy == {None}:
            lane.conflicts += 1
            self._lanes.put(ranking.key, lane)
        elif not conflicts:
            lane.conflicts = 0

    def _change_lane(self, ranking: Ranking, lane: _Lane, expiry: int | None) -> list[MoveConflict]:
        """Double the lanes and choose one at random. Returns a conflict if the root is busy."""
        count = min(2 * lane.of, self._most_lanes)
        if count > lane.of:
            for _, reason, item, message in self._name_lanes(ranking, count, expiry):
                if reason is CancelReason.BUSY:
                    return [MoveConflict(None, reason, None, message)]
                if reason is not CancelReason.CONDITION or item is None:
                    raise StoreRefusedError(message)
                count = lane_count(item)
            lane.of = count
        lane.number = int(self._clock.random() * lane.of)
        lane.conflicts = 0
        return []

    def _name_lanes(self, ranking: Ranking, lanes: int, expiry: int | None) -> list[Cancellation]:
        """Write the number of lanes to the root, unless it has as many."""
        sets = {"l": {"N": str(lanes)}}
        update = node_update(self._rankings, node_key(ranking, ROOT), sets, {}, expiry, self._clock.now())
        condition = conditional(self._rankings, "attribute_not_exists(l) OR l < :l")
        return transact(self._client, [{"Update": {**update, **condition}}])


def _conflict(
    position: int, reason: CancelReason, item: Item | None, message: str, ranking: Ranking, move: Move
) -> MoveConflict:
    """The conflict of a move, with the stored entry. A damaged entry can never be moved, so it is INVALID."""
    if item is None or reason is not CancelReason.CONDITION:
        return MoveConflict(position, reason, None, message)
    place = None
    try:
        if "s" in item:
            key = item["s"]["S"]
            place, _ = decode_sort_key(key, ties_by_instant=ranking.metric.ties_by_instant)
            if key != sort_key(place, move.member):
                raise ValueError(key)
        return MoveConflict(position, reason, RankingRow(place, int(item["v"]["N"])), message)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        why = f"the entry in {ranking.key} is damaged ({error!r}): rebuild its board"
        return MoveConflict(position, CancelReason.INVALID, None, why)
