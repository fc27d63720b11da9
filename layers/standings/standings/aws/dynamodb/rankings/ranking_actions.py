"""Builds the actions of transactions on Rankings."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from standings.aws.dynamodb.calls import conditional
from standings.aws.dynamodb.keys import counter_name, entry_key, index_key, node_key, shard_of
from standings.domain.boards.ranking import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import sort_key
from standings.domain.tiers.tier_path import ROOT
from standings.domain.tiers.tier_tree import deltas
from standings.domain.windows.calendar import DAY, SECOND

EXPIRY_MARGIN: Final = 3 * DAY
"""How long a period's items stay after it can no longer be read: longer than a stream record can be late."""

ROW_LIFETIME: Final = 60 * DAY
"""How long an entry without a score stays in a ranking that never ends: longer than a change can be replayed."""

_OLDER: Final = "v < :v"  # The entry is older than the move
_UNRANKED: Final = "attribute_not_exists(s)"
_RANKED_THERE: Final = "s = :s"  # The entry is where the move starts


def entry_action(table: str, ranking: Ranking, move: Move, expiry: int | None) -> dict[str, Any]:
    """Write a member's entry, if the stored one is older and has the score that the move starts from.

    A member that leaves keeps an entry without a score, so that no older change can bring the member back.
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
    return {"Put": {**conditional(table, condition, values), "Item": item}}


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
    """Add the net change of some moves to the nodes that it affects, in one lane: one update for each node.

    `name_shards` adds the number of shards to the set in the root. The set keeps all earlier numbers, so readers find
    every entry while the number changes, and after.
    """
    written_at_ms = max(move.written_at_ms for move in moves)
    changes = {(path, lane): counters for path, counters in deltas(_counted(move) for move in moves).items()}
    if name_shards:
        changes.setdefault((ROOT, 0), {})
    actions = []
    for (path, number), counters in sorted(changes.items()):
        adds: dict[str, dict[str, Any]] = {counter_name(digit): {"N": str(n)} for digit, n in counters.items()}
        if name_shards and (path, number) == (ROOT, 0):
            adds["n"] = {"NS": [str(ranking.metric.shards)]}
        sets = {"t": {"N": str(written_at_ms)}}
        actions.append({"Update": node_update(table, node_key(ranking, path, number), sets, adds, expiry, now)})
    return actions


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
        "Key": {"pk": {"S": key}},
        "UpdateExpression": expression,
        "ExpressionAttributeValues": {
            **{f":{name}": value for name, value in {**sets, **adds}.items()},
            ":v": {"N": str(now)},
            ":one": {"N": "1"},
        },
    }


def expiry_of(ranking: Ranking) -> int | None:
    """When DynamoDB may delete a ranking's items, in seconds since 1970; None for never."""
    until = ranking.readable_until
    return None if until is None else (until + EXPIRY_MARGIN) // SECOND


def _counted(move: Move) -> tuple[int | None, int | None]:
    """The sort values that a move takes a member from and to. None: no score."""
    old, new = (place.sort_value if place is not None else None for place in (move.old, move.new))
    return old, new
