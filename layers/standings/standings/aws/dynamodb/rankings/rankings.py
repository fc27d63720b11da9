"""The read model in DynamoDB, as the projector writes it: entries and tiers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from standings.aws.dynamodb.calls import Cancellation, Item, transact
from standings.aws.dynamodb.keys import node_key
from standings.domain.boards.ranking import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import decode_sort_key, sort_key
from standings.domain.tiers.tier_path import ROOT
from standings.ports.errors import CancelReason, StoreRefusedError
from standings.ports.rankings import MoveConflict, RankingRow
from standings.runtime.retry import Clock
from standings.runtime.ttl_cache import RANKING_TTL_S, TtlCache

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
from standings.aws.dynamodb.rankings.ranking_actions import entry_action, expiry_of, node_actions, node_update

MAX_LANES: Final = 4
"""Lanes of a ranking at most: each costs its readers as much as the first."""

CONFLICTS: Final = 2
"""Conflicts on tiers of a ranking, one after the other, that make it worth another lane."""


@dataclass(slots=True)
class _Lane:
    """The lane in which this process counts in a ranking, of how many, and how often in a row it met somebody there."""

    number: int = 0
    of: int = 1
    conflicts: int = 0


class DynamoRankings:
    """Rankings (`ports.rankings.Rankings`).

    Everyone counts in the first lane of a ranking's tiers, until conflicts there tell of others at work; then in one
    of several lanes, by chance. The first lane's root names them before one is used, so that readers know of it.
    """

    def __init__(self, client: "DynamoDBClient", rankings: str, pacing: Clock, most_lanes: int = MAX_LANES) -> None:
        self._client = client
        self._rankings = rankings
        self._pacing = pacing
        self._most_lanes = most_lanes
        # Rankings whose root names their shards: it has to before an entry is in one of them.
        self._named: TtlCache[tuple[str, int], bool] = TtlCache(pacing, RANKING_TTL_S)
        # Rankings in which somebody was met.
        self._lanes: TtlCache[str, _Lane] = TtlCache(pacing, RANKING_TTL_S)

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveConflict]:
        expiry = expiry_of(ranking)
        lane = self._lanes.get(ranking.key)
        if lane is not None and lane.conflicts >= CONFLICTS:
            hindered = self._change_lane(ranking, lane, expiry)
            if hindered:
                return hindered
        shards = ranking.metric.shards
        named = shards == 1 or self._named.get((ranking.key, shards)) is not None
        entries = [entry_action(self._rankings, ranking, move, expiry) for move in moves]
        number = lane.number if lane is not None else 0
        counters = node_actions(
            self._rankings, ranking, moves, expiry, self._pacing.now(), lane=number, name_shards=not named
        )
        obstacles = []
        for index, reason, item, message in self._write(entries, counters):
            if index < len(moves):
                obstacles.append(_obstacle(index, reason, item, message, ranking, moves[index]))
            elif reason is CancelReason.BUSY:
                obstacles.append(MoveConflict(None, reason, None, message))
            else:
                raise StoreRefusedError(message)
        self._note(ranking, lane, obstacles)
        if not obstacles and not named:
            self._named.put((ranking.key, shards), value=True)
        return obstacles

    def _write(self, entries: Sequence[Any], counters: Sequence[Any]) -> list[Cancellation]:
        """Write entries and the tiers that count them in one transaction: what stood in the way."""
        return transact(self._client, [*entries, *counters])

    def _note(self, ranking: Ranking, lane: _Lane | None, obstacles: Sequence[MoveConflict]) -> None:
        """Remember whom a transaction met: whoever has the same entries would be met in any lane."""
        busy = {obstacle.position for obstacle in obstacles if obstacle.reason is CancelReason.BUSY}
        if busy == {None}:
            lane = lane or _Lane()
            lane.conflicts += 1
            self._lanes.put(ranking.key, lane)
        elif not obstacles and lane is not None:
            lane.conflicts = 0

    def _change_lane(self, ranking: Ranking, lane: _Lane, expiry: int | None) -> list[MoveConflict]:
        """Take one lane of more than there were, by chance; what stood in the way, if others have the root just now."""
        wanted = min(2 * lane.of, self._most_lanes)
        if wanted > lane.of:
            for _, reason, item, message in self._name_lanes(ranking, wanted, expiry):
                if reason is CancelReason.BUSY:
                    return [MoveConflict(None, reason, None, message)]
                if reason is not CancelReason.CONDITION or item is None:
                    raise StoreRefusedError(message)
                wanted = int(item["l"]["N"])
            lane.of = wanted
        lane.number = int(self._pacing.random() * lane.of)
        lane.conflicts = 0
        return []

    def _name_lanes(self, ranking: Ranking, lanes: int, expiry: int | None) -> list[Cancellation]:
        """Have the first lane's root say how many lanes there are, unless it says as many: what stood in the way."""
        sets = {"l": {"N": str(lanes)}}
        update = node_update(self._rankings, node_key(ranking, ROOT), sets, {}, expiry, self._pacing.now())
        condition = {
            "ConditionExpression": "attribute_not_exists(l) OR l < :l",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        return transact(self._client, [{"Update": {**update, **condition}}])


def _obstacle(
    position: int, reason: CancelReason, item: Item | None, message: str, ranking: Ranking, move: Move
) -> MoveConflict:
    """What stood in a move's way, with the row as it is. One that was not written here can never be moved from."""
    if item is None or reason is not CancelReason.CONDITION:
        return MoveConflict(position, reason, None, message)
    try:
        place = (
            decode_sort_key(item["s"]["S"], ties_by_instant=ranking.metric.ties_by_instant)[0] if "s" in item else None
        )
        if place is not None and item["s"]["S"] != sort_key(place, move.member):
            raise ValueError(item["s"]["S"])
        return MoveConflict(position, reason, RankingRow(place, int(item["v"]["N"])), message)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        why = f"the row in {ranking.key} is damaged ({error!r}): its board has to be rebuilt"
        return MoveConflict(position, CancelReason.INVALID, None, why)
