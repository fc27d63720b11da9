"""Safeguards of pruning, which removes empty nodes from tier trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .replacing import Change, Safeguard, returns, unconditional

if TYPE_CHECKING:
    from collections.abc import Callable


def _each_unconditionally(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: (unconditional(action) for action in original(*arguments))


def _versions_from_0(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda table, key, sets, adds, expiry, _: original(table, key, sets, adds, expiry, 0)


PRUNING: Final = (
    Safeguard(
        "a node is removed only at the version that was read",
        "a node is removed although it has begun to count members since it was read",
        (Change("aws.dynamodb.rankings.tier_trees:DynamoTrees._node_out", _each_unconditionally),),
        written="a_node_that_was_in_use",
    ),
    Safeguard(
        "a counter is removed only at the value that was read",
        "a counter is removed although it has begun to count members since it was read",
        (Change("aws.dynamodb.rankings.tier_trees:DynamoTrees._counters_out", _each_unconditionally),),
        written="a_counter_in_use_again",
    ),
    Safeguard(
        "a node is removed only if the counter of its parent is 0",
        "a node is removed although its parent's counter, which was read later, counts a member",
        (Change("project.prune_tiers:_is_counted", returns(False)),),
        written="a_counter_of_a_later_moment",
    ),
    Safeguard(
        "a node is removed only if no node is below it",
        "readers no longer reach the nodes below it",
        (Change("project.prune_tiers:_has_nodes_below", returns(False)),),
        written="a_node_with_something_below",
    ),
    Safeguard(
        "the first version of a node is the clock time",
        "a node that was removed and created again looks like the one that was read",
        (Change("aws.dynamodb.rankings.rankings:node_update", _versions_from_0),),
        written="a_node_made_anew",
    ),
)
