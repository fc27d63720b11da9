"""The actions of a transaction on Rankings."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from standings.aws.dynamodb.keys import counter_name, entry_key, index_key, node_key, shard_of
from standings.domain.boards.ranking import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import sort_key
from standings.domain.tiers.tier_path import ROOT
from standings.domain.tiers.tier_tree import deltas
from standings.domain.windows.calendar import DAY, SECOND

EXPIRY_MARGIN: Final = 3 * DAY
"""How long after its reading has ended a period's rows go: longer than any record of the stream can come late."""

ROW_LIFETIME: Final = 60 * DAY
"""How long a row without a score stays in a ranking that never ends: longer than anything older can be replayed."""

_OLDER: Final = "v < :v"
"""The row is older than the move."""

_UNRANKED: Final = "attribute_not_exists(s)"
_RANKED_THERE: Final = "s = :s"
"""The row is counted where the move begins."""


def entry_action(table: str, ranking: Ranking, move: Move, expiry: int | None) -> dict[str, Any]:
    """A member's row: written only over an older version that was counted where we believe it was.

    A member that leaves keeps a row without a place, so that nothing older can bring it back.
    """
    item: dict[str, Any] = {
        "pk": {"S": entry_key(ranking, move.member)},
        "v": {"N": str(move.version)},
        "t": {"N": str(move.written_at_ms)},
    }
    if move.new is not None:
        item["r"] = {"S": index_key(ranking, shard_of(move.member, ranking.metric.shards))}
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
    written_at_ms = max(move.written_at_ms for move in moves)
    net = deltas(_counted(move) for move in moves)
    changed = {(path, lane): counters for path, counters in net.items()}
    if name_shards:
        changed.setdefault((ROOT, 0), {})
    actions = []
    for (path, number), counters in sorted(changed.items()):
        adds: dict[str, dict[str, Any]] = {counter_name(digit): {"N": str(n)} for digit, n in counters.items()}
        if name_shards and (path, number) == (ROOT, 0):
            adds["n"] = {"NS": [str(ranking.metric.shards)]}
        sets = {"t": {"N": str(written_at_ms)}}
        actions.append({"Update": node_update(table, node_key(ranking, path, number), sets, adds, expiry, now)})
    return actions


def node_update(
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


def expiry_of(ranking: Ranking) -> int | None:
    """When DynamoDB may delete what belongs to a ranking, in seconds since 1970; None for never."""
    until = ranking.readable_until
    return None if until is None else (until + EXPIRY_MARGIN) // SECOND


def _counted(move: Move) -> tuple[int | None, int | None]:
    """Where a move takes its member off the tiers, and where it adds it."""
    old, new = (place.sort_value if place is not None else None for place in (move.old, move.new))
    return old, new
