"""Pruning: empty nodes of tier trees are removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from standings.ports.rankings import Lane, Lanes
from standings.project.prune_tiers import prune
from tests.support.builders.checks import assert_tiers_count_the_entries
from tests.support.builders.stages.cleaners import RANKING, Worker, moved, out_of_reach, tier_conflict
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

from .replacing import Change, Safeguard, returns, unconditional

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# ---- schedules that need them


@dataclass
class Seen:
    """Trees as a pruner has read them, where the nodes may come from reads at different moments."""

    worker: Worker
    seen: Mapping[Any, Lanes]
    then: Callable[[], None] = lambda: None

    def lanes(self, _: Any, paths: Sequence[Any]) -> dict[Any, Lanes]:
        return {path: self.seen[path] for path in paths if path in self.seen}

    def remove(self, *arguments: Any) -> Any:
        self.then()
        return self.worker.trees.remove(*arguments)


@dataclass
class Tree:
    """A tree with an empty leaf (66, 2), and its neighbour (66, 3) with one member."""

    engine: Any = field(default_factory=Engine)
    first: Worker = field(init=False)
    second: Worker = field(init=False)

    def __post_init__(self) -> None:
        create_tables(self.engine)
        self.first = Worker(self.engine, chance=0)
        self.second = Worker(self.engine, seed=5, chance=0)
        self.first.move(moved("z", None, 400, 1))

    def enter(self) -> None:
        self.first.move(moved("b", None, 300, 1))

    def enter_and_leave(self) -> None:
        self.first.move(moved("a", None, 300, 1))
        self.first.move(moved("a", 300, 5, 2))

    def seen(self) -> dict[Any, Lanes]:
        return self.first.trees.lanes(RANKING, [(), (66,), (66, 2)])

    def through_another_lane(self) -> None:
        """A member enters, moves within the leaf in another lane, and leaves. Only the sums over lanes are 0."""
        self.first.move(moved("b", None, 300, 1))
        self.second.client.steps.extend([tier_conflict] * 2)
        self.second.move(moved("b", 300, 301, 2))
        assert (lane := self.second.rankings._lanes.get(RANKING.key)) is not None
        assert lane.number == 1
        self.first.move(moved("b", 301, None, 3))

    def clean(self, seen: Mapping[Any, Lanes], then: Callable[[], None] = lambda: None) -> None:
        prune(Seen(self.first, seen, then), RANKING, [(66, 2)])
        assert_tiers_count_the_entries(self.engine)
        assert out_of_reach(self.engine) == set()


def a_node_that_was_in_use() -> None:
    """A member enters and leaves in two lanes, after one lane was read and before the removal."""
    tree = Tree()
    tree.enter_and_leave()
    tree.clean(tree.seen(), tree.through_another_lane)


def a_node_made_anew() -> None:
    """A node is removed and created again, with as many writes as when it was read."""
    tree = Tree()
    tree.enter_and_leave()
    seen = tree.seen()

    def then() -> None:
        tree.clean(tree.seen())
        tree.first.time.milliseconds += 5
        tree.second.time.milliseconds += 5
        tree.through_another_lane()

    tree.clean(seen, then)


def a_counter_in_use_again() -> None:
    """The leaf is read before it exists and its counter after everyone has left. Then a member enters."""
    tree = Tree()
    tree.enter_and_leave()
    seen = {path: lanes for path, lanes in tree.seen().items() if path != (66, 2)}
    tree.clean(seen, tree.enter)


def a_counter_of_a_later_moment() -> None:
    """A node is read before a member enters, and its parent's counter afterwards."""
    engine = Engine()
    create_tables(engine)
    worker = Worker(engine, chance=0)
    worker.move(moved("a", None, 300, 1))
    prune(Seen(worker, worker.trees.lanes(RANKING, [()])), RANKING, [(66, 2)])
    assert_tiers_count_the_entries(engine)


def a_node_with_something_below() -> None:
    """A node is read when it is empty, and the node below it when it still had a member. Both must stay in reach."""
    engine = Engine()
    create_tables(engine)
    worker = Worker(engine, chance=0)
    worker.move(moved("a", None, 300, 1))
    before = worker.trees.lanes(RANKING, [(66, 2)])
    worker.move(moved("a", 300, 5, 2))
    after = worker.trees.lanes(RANKING, [(), (66,)])
    assert isinstance(before[66, 2][0], Lane)
    prune(Seen(worker, {**after, **before}), RANKING, [(66, 2)])
    assert_tiers_count_the_entries(engine)
    assert out_of_reach(engine) == set()


# ---- how each is taken away


def _each_unconditionally(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: (unconditional(action) for action in original(*arguments))


def _versions_from_0(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda table, key, sets, adds, expiry, _: original(table, key, sets, adds, expiry, 0)


PRUNING: Final = {
    "a node is removed only at the version that was read": Safeguard(
        Change("aws.dynamodb.rankings.tier_trees:DynamoTrees._node_out", _each_unconditionally),
        written=a_node_that_was_in_use,
    ),
    "a counter is removed only at the value that was read": Safeguard(
        Change("aws.dynamodb.rankings.tier_trees:DynamoTrees._counters_out", _each_unconditionally),
        written=a_counter_in_use_again,
    ),
    "a node is removed only if the counter of its parent is 0": Safeguard(
        Change("project.prune_tiers:_is_counted", returns(False)), written=a_counter_of_a_later_moment
    ),
    "a node is removed only if no node is below it": Safeguard(
        Change("project.prune_tiers:_has_nodes_below", returns(False)), written=a_node_with_something_below
    ),
    "the first version of a node is the clock time": Safeguard(
        Change("aws.dynamodb.rankings.rankings:node_update", _versions_from_0), written=a_node_made_anew
    ),
}
