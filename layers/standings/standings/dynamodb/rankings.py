"""The read model in DynamoDB, as the projector writes it: entries and tiers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from standings.domain.boards import Ranking
from standings.domain.moves import Move
from standings.domain.places import ROOT, Path, Place, read_sort_key, sort_key
from standings.domain.tiers import deltas
from standings.domain.windows import DAY, SECOND
from standings.dynamodb.keys import counter_name, entry_key, index_key, node_key, shard_of
from standings.dynamodb.transactions import Item, transact
from standings.services.store import Hindrance, MoveObstacle, Row, StoreRefusedError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

EXPIRY_MARGIN: Final = 3 * DAY
"""How long after its reading has ended a period's rows go: longer than any record of the stream can come late."""

ROW_LIFETIME: Final = 60 * DAY
"""How long a row without a score stays in a ranking that never ends: longer than anything older can be replayed."""


MOST_NAMED: Final = 10_000


class DynamoRankings:
    """Rankings (`services.store.Rankings`)."""

    def __init__(self, client: "DynamoDBClient", rankings: str) -> None:
        self._client = client
        self._rankings = rankings
        # Rankings whose root names their shards: it has to before an entry is in one of them.
        self._named: set[tuple[str, int]] = set()

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveObstacle]:
        expiry = _expiry(ranking)
        shards = ranking.metric.shards
        named = shards == 1 or (ranking.key, shards) in self._named
        actions = [entry_action(self._rankings, ranking, move, expiry) for move in moves]
        actions += node_actions(self._rankings, ranking, moves, expiry, name_shards=not named)
        obstacles = []
        for index, hindrance, item, message in transact(self._client, actions):
            if index < len(moves):
                obstacles.append(MoveObstacle(index, hindrance, _row(item, ranking), message))
            elif hindrance is Hindrance.BUSY:
                obstacles.append(MoveObstacle(None, hindrance, None, message))
            else:
                raise StoreRefusedError(message)
        if not obstacles and not named:
            if len(self._named) >= MOST_NAMED:
                self._named.clear()
            self._named.add((ranking.key, shards))
        return obstacles


def _row(item: Item | None, ranking: Ranking) -> Row | None:
    """What a member's row in a ranking says was counted."""
    if item is None:
        return None
    place = read_sort_key(item["s"]["S"], dated=ranking.metric.dated)[0] if "s" in item else None
    return Row(place, int(item["v"]["N"]))


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
        condition = "(attribute_not_exists(v) OR v < :v) AND attribute_not_exists(s)"
    else:
        condition = "v < :v AND s = :s"
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
    table: str, ranking: Ranking, moves: Sequence[Move], expiry: int | None, *, name_shards: bool = False
) -> list[dict[str, Any]]:
    """The net change of the tiers that moves make, one update for each node.

    With `name_shards` the root says how many shards there are, beside all numbers that there ever were: so whoever
    reads knows all places to look, while the number changes and for ever after.
    """
    stamp = max(move.stamp for move in moves)
    net = deltas((_ordinal(move.old), _ordinal(move.new)) for move in moves)
    if name_shards:
        net.setdefault(ROOT, {})
    return [
        _node_action(table, ranking, path, counters, stamp, expiry, name_shards=name_shards and path == ROOT)
        for path, counters in sorted(net.items())
    ]


def _ordinal(place: Place | None) -> int | None:
    return place.ordinal if place is not None else None


def _node_action(
    table: str,
    ranking: Ranking,
    path: Path,
    counters: dict[int, int],
    stamp: int,
    expiry: int | None,
    *,
    name_shards: bool,
) -> dict[str, Any]:
    names = {digit: counter_name(digit) for digit in counters}
    values: dict[str, Any] = {f":{names[digit]}": {"N": str(count)} for digit, count in counters.items()}
    values[":t"] = {"N": str(stamp)}
    sets = "t = :t"
    if expiry is not None:
        sets += ", e = :e"
        values[":e"] = {"N": str(expiry)}
    added = [f"{name} :{name}" for name in names.values()]
    if name_shards:
        added.append("n :n")
        values[":n"] = {"NS": [str(ranking.metric.shards)]}
    adds = ", ".join(added)
    return {
        "Update": {
            "TableName": table,
            "Key": {"pk": {"S": node_key(ranking, path)}},
            "UpdateExpression": f"SET {sets} ADD {adds}",
            "ExpressionAttributeValues": values,
        }
    }


def _expiry(ranking: Ranking) -> int | None:
    until = ranking.readable_until
    return None if until is None else (until + EXPIRY_MARGIN) // SECOND
