"""Safeguards of what takes dead nodes out of tier trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .replacing import Change, Safeguard, returns, unconditional

if TYPE_CHECKING:
    from collections.abc import Callable


def _each_unconditionally(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: (unconditional(action) for action in original(*given))


def _versions_from_0(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda table, key, sets, adds, expiry, _: original(table, key, sets, adds, expiry, 0)


PRUNING: Final = (
    Safeguard(
        "a node is removed on condition of its version",
        "one that goes with whom it counts since it was read",
        (Change("aws.dynamodb.rankings.tier_trees:DynamoTrees._node_out", _each_unconditionally),),
        written="a_node_that_was_in_use",
    ),
    Safeguard(
        "a counter is removed on condition of its value",
        "the same of a counter",
        (Change("aws.dynamodb.rankings.tier_trees:DynamoTrees._counters_out", _each_unconditionally),),
        written="a_counter_in_use_again",
    ),
    Safeguard(
        "a node goes only if the counter that leads to it is 0",
        "a node and a counter that were read at two moments",
        (Change("project.prune_tiers:_is_counted", returns(False)),),
        written="a_counter_of_a_later_moment",
    ),
    Safeguard(
        "nothing is left below a node that goes",
        "nodes that are out of reach",
        (Change("project.prune_tiers:_has_nodes_below", returns(False)),),
        written="a_node_with_something_below",
    ),
    Safeguard(
        "versions of nodes start at the clock",
        "a node that was removed and made anew, and looks like the one that was read",
        (Change("aws.dynamodb.rankings.ranking_actions:node_update", _versions_from_0),),
        written="a_node_made_anew",
    ),
)
