"""The read model in DynamoDB, as the projector writes it: entries and tiers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from standings.aws.dynamodb.calls import Cancellation, Item, transact
from standings.aws.dynamodb.keys import counter_name, entry_key, index_key, node_key, shard_of
from standings.domain.boards.definitions import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import ROOT, read_sort_key, sort_key
from standings.domain.tiers.tier_tree import deltas
from standings.domain.windows.late_and_keep import DAY, SECOND
from standings.ports.scores import Hindrance, MoveObstacle, Row, StoreRefusedError
from standings.runtime.retry import Pacing
from standings.runtime.ttl_cache import RANKING_TTL_S, TtlCache

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

EXPIRY_MARGIN: Final = 3 * DAY
"""How long after its reading has ended a period's rows go: longer than any record of the stream can come late."""

ROW_LIFETIME: Final = 60 * DAY
"""How long a row without a score stays in a ranking that never ends: longer than anything older can be replayed."""

_OLDER: Final = "v < :v"
"""The row is older than the move."""

_UNRANKED: Final = "attribute_not_exists(s)"
_RANKED_THERE: Final = "s = :s"
"""The row is counted where the move begins."""

MOST_LANES: Final = 4
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
    """Rankings (`ports.scores.Rankings`).

    Everyone counts in the first lane of a ranking's tiers, until conflicts there tell of others at work; then in one
    of several lanes, by chance. The first lane's root names them before one is used, so that readers know of it.
    """

    def __init__(self, client: "DynamoDBClient", rankings: str, pacing: Pacing, most_lanes: int = MOST_LANES) -> None:
        self._client = client
        self._rankings = rankings
        self._pacing = pacing
        self._most_lanes = most_lanes
        # Rankings whose root names their shards: it has to before an entry is in one of them.
        self._named: TtlCache[tuple[str, int], bool] = TtlCache(pacing, RANKING_TTL_S)
        # Rankings in which somebody was met.
        self._lanes: TtlCache[str, _Lane] = TtlCache(pacing, RANKING_TTL_S)

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveObstacle]:
        expiry = _expiry(ranking)
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
        for index, hindrance, item, message in self._write(entries, counters):
            if index < len(moves):
                obstacles.append(_obstacle(index, hindrance, item, message, ranking, moves[index]))
            elif hindrance is Hindrance.BUSY:
                obstacles.append(MoveObstacle(None, hindrance, None, message))
            else:
                raise StoreRefusedError(message)
        self._note(ranking, lane, obstacles)
        if not obstacles and not named:
            self._named.put((ranking.key, shards), value=True)
        return obstacles

    def _write(self, entries: Sequence[Any], counters: Sequence[Any]) -> list[Cancellation]:
        """Write entries and the tiers that count them in one transaction: what stood in the way."""
        return transact(self._client, [*entries, *counters])

    def _note(self, ranking: Ranking, lane: _Lane | None, obstacles: Sequence[MoveObstacle]) -> None:
        """Remember whom a transaction met: whoever has the same entries would be met in any lane."""
        busy = {obstacle.position for obstacle in obstacles if obstacle.hindrance is Hindrance.BUSY}
        if busy == {None}:
            lane = lane or _Lane()
            lane.conflicts += 1
            self._lanes.put(ranking.key, lane)
        elif not obstacles and lane is not None:
            lane.conflicts = 0

    def _change_lane(self, ranking: Ranking, lane: _Lane, expiry: int | None) -> list[MoveObstacle]:
        """Take one lane of more than there were, by chance; what stood in the way, if others have the root just now."""
        wanted = min(2 * lane.of, self._most_lanes)
        if wanted > lane.of:
            for _, hindrance, item, message in self._name_lanes(ranking, wanted, expiry):
                if hindrance is Hindrance.BUSY:
                    return [MoveObstacle(None, hindrance, None, message)]
                if hindrance is not Hindrance.CONDITION or item is None:
                    raise StoreRefusedError(message)
                wanted = int(item["l"]["N"])
            lane.of = wanted
        lane.number = int(self._pacing.random() * lane.of)
        lane.conflicts = 0
        return []

    def _name_lanes(self, ranking: Ranking, lanes: int, expiry: int | None) -> list[Cancellation]:
        """Have the first lane's root say how many lanes there are, unless it says as many: what stood in the way."""
        sets = {"l": {"N": str(lanes)}}
        update = _node_update(self._rankings, node_key(ranking, ROOT), sets, {}, expiry, self._pacing.now())
        condition = {
            "ConditionExpression": "attribute_not_exists(l) OR l < :l",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        return transact(self._client, [{"Update": {**update, **condition}}])


def _obstacle(
    position: int, hindrance: Hindrance, item: Item | None, message: str, ranking: Ranking, move: Move
) -> MoveObstacle:
    """What stood in a move's way, with the row as it is. One that was not written here can never be moved from."""
    if item is None or hindrance is not Hindrance.CONDITION:
        return MoveObstacle(position, hindrance, None, message)
    try:
        place = read_sort_key(item["s"]["S"], dated=ranking.metric.dated)[0] if "s" in item else None
        if place is not None and item["s"]["S"] != sort_key(place, move.member):
            raise ValueError(item["s"]["S"])
        return MoveObstacle(position, hindrance, Row(place, int(item["v"]["N"])), message)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        why = f"the row in {ranking.key} is damaged ({error!r}): its board has to be rebuilt"
        return MoveObstacle(position, Hindrance.INVALID, None, why)


def entry_action(table: str, ranking: Ranking, move: Move, expiry: int | None) -> dict[str, Any]:
    """A member's row: written only over an older version that was counted where we believe it was.

    A member that leaves keeps a row without a place, so that nothing older can bring it back.
    """
    item: dict[str, Any] = {
        "pk": {"S": entry_key(ranking, move.member)},
        "v": {"N": str(move.version)},
        "t": {"N": str(move.stamp)},
    }
    if move.new is not None:
        item["r"] = {"S": index_key(ranking, shard_of(move.member, ranking.metric.shards))}
        item["s"] = {"S": sort_key(move.new, move.member)}
    elif expiry is None:
        expiry = (move.stamp + ROW_LIFETIME) // SECOND
    if expiry is not None:
        item["e"] = {"N": str(expiry)}
    values = {":v": {"N": str(move.version)}}
    if move.old is None:
        condition = f"(attribute_not_exists(v) OR {_OLDER}) AND {_UNRANKED}"
    else:
        condition = f"{_OLDER} AND {_RANKED_THERE}"
        values[":s"] = {"S": sort_key(move.old, move.member)}
    return {
        "Put": {
            "TableName": table,
            "Item": item,
            "ConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }


def node_actions(
    table: str,
    ranking: Ranking,
    moves: Sequence[Move],
    expiry: int | None,
    now: int,
    *,
    lane: int = 0,
    name_shards: bool = False,
) -> list[dict[str, Any]]:
    """The net change of the tiers that moves make, one update for each node, in one of the nodes' lanes.

    With `name_shards` the first lane's root says how many shards there are, beside all numbers that there ever were:
    so whoever reads knows all places to look, while the number changes and for ever after.
    """
    stamp = max(move.stamp for move in moves)
    net = deltas(_counted(move) for move in moves)
    changed = {(path, lane): counters for path, counters in net.items()}
    if name_shards:
        changed.setdefault((ROOT, 0), {})
    actions = []
    for (path, number), counters in sorted(changed.items()):
        adds: dict[str, dict[str, Any]] = {counter_name(digit): {"N": str(n)} for digit, n in counters.items()}
        if name_shards and (path, number) == (ROOT, 0):
            adds["n"] = {"NS": [str(ranking.metric.shards)]}
        sets = {"t": {"N": str(stamp)}}
        actions.append({"Update": _node_update(table, node_key(ranking, path, number), sets, adds, expiry, now)})
    return actions


def _counted(move: Move) -> tuple[int | None, int | None]:
    """Where a move takes its member off the tiers, and where it adds it."""
    old, new = (place.ordinal if place is not None else None for place in (move.old, move.new))
    return old, new


def _node_update(
    table: str, key: str, sets: Mapping[str, Any], adds: Mapping[str, Any], expiry: int | None, now: int
) -> dict[str, Any]:
    """A write of one lane of a node. Its version tells whether it is still the one that was read.

    A new one begins at the clock, so that it is none that was there before and was removed.
    """
    values = {**sets, **adds, **({"e": {"N": str(expiry)}} if expiry is not None else {})}
    plain = [f"{name} = :{name}" for name in values if name not in adds]
    expression = f"SET {', '.join(plain)}, v = if_not_exists(v, :v) + :one"
    if adds:
        expression += f" ADD {', '.join(f'{name} :{name}' for name in adds)}"
    return {
        "TableName": table,
        "Key": {"pk": {"S": key}},
        "UpdateExpression": expression,
        "ExpressionAttributeValues": {
            **{f":{name}": value for name, value in values.items()},
            ":v": {"N": str(now)},
            ":one": {"N": "1"},
        },
    }


def _expiry(ranking: Ranking) -> int | None:
    until = ranking.readable_until
    return None if until is None else (until + EXPIRY_MARGIN) // SECOND
