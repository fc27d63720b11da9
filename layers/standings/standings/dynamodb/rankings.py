"""The read model in DynamoDB, as the projector writes it: entries and tiers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from standings.domain.boards import Ranking
from standings.domain.moves import Move
from standings.domain.places import Path, place, split_place
from standings.domain.tiers import deltas
from standings.domain.windows import DAY, SECOND
from standings.dynamodb.keys import counter_name, entry_key, node_key
from standings.dynamodb.transactions import Item, transact
from standings.services.store import Hindrance, MoveObstacle, Row, StoreRefusedError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

EXPIRY_MARGIN: Final = 3 * DAY
"""How long after its reading has ended a period's rows go: longer than any record of the stream can come late."""

ROW_LIFETIME: Final = 60 * DAY
"""How long a row without a score stays in a ranking that never ends: longer than anything older can be replayed."""


class DynamoRankings:
    """Rankings (`services.store.Rankings`)."""

    def __init__(self, client: "DynamoDBClient", rankings: str) -> None:
        self._client = client
        self._rankings = rankings

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveObstacle]:
        expiry = _expiry(ranking)
        actions = [entry_action(self._rankings, ranking, move, expiry) for move in moves] + node_actions(
            self._rankings, ranking, moves, expiry
        )
        obstacles = []
        for index, hindrance, item, message in transact(self._client, actions):
            if index < len(moves):
                obstacles.append(MoveObstacle(index, hindrance, decode_row(item), message))
            elif hindrance is Hindrance.BUSY:
                obstacles.append(MoveObstacle(None, hindrance, None, message))
            else:
                raise StoreRefusedError(message)
        return obstacles


def decode_row(item: Item | None) -> Row | None:
    """What a member's row in a ranking says was counted."""
    if item is None:
        return None
    ordinal = split_place(item["s"]["S"])[0] if "s" in item else None
    return Row(ordinal, int(item["v"]["N"]))


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
        item["r"] = {"S": ranking.key}
        item["s"] = {"S": place(move.new, move.member)}
    elif expiry is None:
        expiry = (move.stamp + ROW_LIFETIME) // SECOND
    if expiry is not None:
        item["e"] = {"N": str(expiry)}
    values = {":v": {"N": str(move.version)}}
    if move.old is None:
        condition = "(attribute_not_exists(v) OR v < :v) AND attribute_not_exists(s)"
    else:
        condition = "v < :v AND s = :s"
        values[":s"] = {"S": place(move.old, move.member)}
    return {
        "Put": {
            "TableName": table,
            "Item": item,
            "ConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
    }


def node_actions(table: str, ranking: Ranking, moves: Sequence[Move], expiry: int | None) -> list[dict[str, Any]]:
    """The net change of the tiers that moves make, one update for each node."""
    stamp = max(move.stamp for move in moves)
    net = deltas((move.old, move.new) for move in moves)
    return [_node_action(table, ranking, *node, stamp, expiry) for node in sorted(net.items())]


def _node_action(
    table: str,
    ranking: Ranking,
    path: Path,
    counters: dict[int, int],
    stamp: int,
    expiry: int | None,
) -> dict[str, Any]:
    names = {digit: counter_name(digit) for digit in counters}
    values = {f":{names[digit]}": {"N": str(count)} for digit, count in counters.items()}
    values[":t"] = {"N": str(stamp)}
    sets = "t = :t"
    if expiry is not None:
        sets += ", e = :e"
        values[":e"] = {"N": str(expiry)}
    adds = ", ".join([f"{name} :{name}" for name in names.values()])
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
