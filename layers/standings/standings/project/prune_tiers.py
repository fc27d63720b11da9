"""Removes dead nodes from tier trees: nodes that count no members any more."""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from standings.domain.boards.definitions import Ranking
from standings.domain.members.moves import Move
from standings.domain.tiers import tier_tree
from standings.domain.tiers.tier_path import ROOT, Path, path, prefixes
from standings.domain.windows.calendar import DAY
from standings.ports.errors import StoreRefusedError, StoreUnavailableError
from standings.ports.rankings import MAX_ACTIONS, Lanes, MoveConflict, Rankings, Removal, Trees
from standings.ports.rolling import RollingWindows
from standings.runtime.retry import Clock

CHANCE: Final = 1 / 16  # Probability that a move out of a leaf triggers a check of its path (docs/decisions/0009)
LOOKED_AT: Final = 4  # The most paths that are checked after one commit
READ_AT_ONCE: Final = 50  # The most dead nodes that are read on each level of a tree
WORTH: Final = 150 * DAY
"""Removing a dead node costs as much as keeping it this long: rankings that end sooner are left to their TTL."""


class PruneResult(NamedTuple):
    """How many nodes one check removed, or why it failed; `unexpected` if no later check will succeed either."""

    removed: int = 0
    reason: str | None = None
    unexpected: bool = False


@dataclass(slots=True)
class PrunedRankings:
    """Rankings whose trees stay in proportion to their members.

    After some commits, chosen at random, this removes dead nodes on the paths that moves have left: in one transaction
    without a retry. That never fails a commit. `report` is called with the result.
    """

    rankings: Rankings
    trees: Trees
    clock: Clock
    report: Callable[[PruneResult], None]
    chance: float = CHANCE
    worth: int = WORTH

    @property
    def rolling(self) -> RollingWindows:
        """Rolling windows. Their tiers are left to their TTL: a position in a log would go with a node."""
        return self.rankings.rolling

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveConflict]:
        conflicts = self.rankings.commit(ranking, moves)
        until = ranking.kept_until
        if not conflicts and (until is None or until >= self.clock.now() + self.worth):
            leaves = [leaf for move in moves if (leaf := _left_leaf(move)) and self.clock.random() < self.chance]
            if leaves:
                self.report(prune(self.trees, ranking, leaves[:LOOKED_AT]))
        return conflicts


def _left_leaf(move: Move) -> Path | None:
    """The leaf that a member has left; None if it stayed in its leaf, or was in none."""
    if move.old is None:
        return None
    leaf = path(move.old.sort_value)[:-1]
    return leaf if move.new is None or path(move.new.sort_value)[:-1] != leaf else None


def prune(trees: Trees, ranking: Ranking, leaves: Sequence[Path]) -> PruneResult:
    """Remove dead nodes on and below the paths to some leaves, as many as fit in one transaction.

    Nodes and counters that are 0 over all lanes go on condition that they are still as they were read. A node goes
    together with the counter that leads to it, so that none is ever out of reach.
    """
    try:
        nodes = _read(trees, ranking, leaves)
        dead = _dead(nodes)
        parents = sorted({node[:-1] for node in dead} - set(dead))
        counters = [
            Removal(parent, [node[-1] for node in dead if node[:-1] == parent], nodes[parent]) for parent in parents
        ]
        conflicts = trees.remove(ranking, {node: nodes[node] for node in dead}, counters)
    except (StoreRefusedError, StoreUnavailableError) as error:
        return PruneResult(reason=str(error), unexpected=isinstance(error, StoreRefusedError))
    if conflicts:
        return PruneResult(reason=conflicts[0].name)
    return PruneResult(removed=sum(1 for node in dead if nodes[node]))


def _read(trees: Trees, ranking: Ranking, leaves: Sequence[Path]) -> dict[Path, Lanes]:
    """Read the nodes on the paths to some leaves, and the nodes below them that counters of 0 lead to."""
    nodes: dict[Path, Lanes] = {}
    level = list(dict.fromkeys(node for leaf in leaves for node in prefixes(leaf)))
    while level:
        nodes |= {node: {} for node in level} | trees.lanes(ranking, level)
        empty = (
            (*node, digit)
            for node in level
            if not tier_tree.is_leaf(node)
            for digit, count in _sums(nodes[node]).items()
            if not count
        )
        level = [node for node in empty if node not in nodes][:READ_AT_ONCE]
    return nodes


def _dead(nodes: dict[Path, Lanes]) -> list[Path]:
    """The nodes to remove together, deepest first: they count no members, and nothing is left below them."""
    dead: list[Path] = []
    written: set[Path] = set()
    actions = 0
    for node in sorted(nodes, key=len, reverse=True):
        sums = _sums(nodes[node])
        if node == ROOT or any(sums.values()) or _is_counted(node, nodes[node[:-1]]):
            continue
        if _has_nodes_below(node, sums, dead):
            continue
        more = {node, node[:-1]} - written
        actions += sum(len(nodes[each]) for each in more)
        if actions > MAX_ACTIONS:
            break
        written |= more
        dead.append(node)
    return dead


def _is_counted(node: Path, parent: Lanes) -> bool:
    return bool(_sums(parent).get(node[-1]))


def _has_nodes_below(node: Path, digits: Iterable[int], dead: Container[Path]) -> bool:
    return not tier_tree.is_leaf(node) and any((*node, digit) not in dead for digit in digits)


def _sums(lanes: Lanes) -> dict[int, int]:
    return tier_tree.summed(lane.counters for lane in lanes.values())
