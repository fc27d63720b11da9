"""Takes what is dead out of tier trees: nodes whose members have all gone elsewhere."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from standings.domain.boards.ranking import Ranking
from standings.domain.members.moves import Move
from standings.domain.tiers import tier_tree
from standings.domain.tiers.tier_path import ROOT, Path, path, prefixes
from standings.domain.windows.calendar import DAY
from standings.ports.errors import StoreRefusedError, StoreUnavailableError
from standings.ports.rankings import MAX_ACTIONS, Lanes, MoveConflict, Rankings, Removal, Trees
from standings.runtime.retry import Clock

CHANCE: Final = 1 / 16
"""Of a move out of a node, that the path it left is looked at (docs/decisions/0009)."""

LOOKED_AT: Final = 4
"""Paths that are looked at after one commit, at most."""

READ_AT_ONCE: Final = 50
"""Dead nodes that are read on each level of a tree, at most."""

WORTH: Final = 150 * DAY
"""A dead node costs more to remove than to keep for so long: rankings that end sooner are left to their TTL."""


class PruneResult(NamedTuple):
    """What a look at some paths led to: nodes removed, and why what was dead is still there, if it is.

    `unexpected` says that no later look will mend that.
    """

    removed: int = 0
    reason: str | None = None
    unexpected: bool = False


class PrunedRankings:
    """Rankings (`store.Rankings`) whose trees are kept in proportion to their members.

    After a commit, by chance, the paths that some of its moves have left are looked at, and what is dead below them
    is removed: one transaction, without waiting or trying again. Nothing depends on it, and others find what is left.
    It never fails a commit; what became of it is reported.
    """

    def __init__(
        self,
        rankings: Rankings,
        trees: Trees,
        pacing: Clock,
        report: Callable[[PruneResult], None],
        chance: float = CHANCE,
        worth: int = WORTH,
    ) -> None:
        self._rankings = rankings
        self._trees = trees
        self._pacing = pacing
        self._report = report
        self._chance = chance
        self._worth = worth

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveConflict]:
        obstacles = self._rankings.commit(ranking, moves)
        until = ranking.readable_until
        if not obstacles and (until is None or until >= self._pacing.now() + self._worth):
            left = [way for move in moves if (way := _left(move)) is not None and self._pacing.random() < self._chance]
            if left:
                self._report(self._look(ranking, left[:LOOKED_AT]))
        return obstacles

    def _look(self, ranking: Ranking, ways: Sequence[Path]) -> PruneResult:
        try:
            return prune(self._trees, ranking, ways)
        except StoreUnavailableError as error:
            return PruneResult(reason=str(error))
        except StoreRefusedError as error:
            return PruneResult(reason=str(error), unexpected=True)


def _left(move: Move) -> Path | None:
    """The leaf that a move took its member out of; None for one that stays in its leaf."""
    if move.old is None:
        return None
    leaf = path(move.old.sort_value)[:-1]
    return leaf if move.new is None or path(move.new.sort_value)[:-1] != leaf else None


def prune(trees: Trees, ranking: Ranking, leaves: Sequence[Path]) -> PruneResult:
    """Remove what is dead below the nodes on the way to some leaves, as much as one transaction holds.

    Counters that are 0 in sum, and nodes of which all are: to take them away changes no sum, if they are still as
    they were read. A node goes with the counters that lead to it, so none is ever out of reach.
    """
    found = _read(trees, ranking, leaves)
    gone = _dead(found)
    counters = [
        Removal(parent, [way[-1] for way in gone if way[:-1] == parent], found[parent]) for parent in _parents(gone)
    ]
    nodes = {way: found[way] for way in gone}
    obstacles = trees.remove(ranking, nodes, counters)
    return (
        PruneResult(reason=obstacles[0].name) if obstacles else PruneResult(sum(1 for lanes in nodes.values() if lanes))
    )


def _read(trees: Trees, ranking: Ranking, leaves: Sequence[Path]) -> dict[Path, Lanes]:
    """The nodes on the way to some leaves, and those below them that counters of 0 lead to."""
    wanted = list(dict.fromkeys(way for leaf in leaves for way in prefixes(leaf)))
    found: dict[Path, Lanes] = {}
    while wanted:
        read = trees.lanes(ranking, wanted)
        found.update((way, read.get(way, {})) for way in wanted)
        below = (child for way in wanted for child in _without_members(way, found[way]))
        wanted = [child for child in below if child not in found][:READ_AT_ONCE]
    return found


def _without_members(way: Path, lanes: Lanes) -> Iterator[Path]:
    """The nodes below one that count nobody."""
    if not tier_tree.is_leaf(way):
        yield from ((*way, digit) for digit, count in _sums(lanes).items() if not count)


def _dead(found: dict[Path, Lanes]) -> list[Path]:
    """The nodes that can go together, the deepest first: they and the counters that lead to them count nobody.

    Nothing is left below them. What else was read may be of another moment: it stays.
    """
    gone: dict[Path, None] = {}
    touched: set[Path] = set()
    actions = 0
    for way in sorted(found, key=len, reverse=True):
        sums = _sums(found[way])
        if way == ROOT or any(sums.values()) or _is_counted(way, found[way[:-1]]):
            continue
        if _has_nodes_below(way, sums, gone):
            continue
        more = {way, way[:-1]} - touched
        actions += sum(len(found[node]) for node in more)
        if actions > MAX_ACTIONS:
            break
        touched |= more
        gone[way] = None
    return list(gone)


def _is_counted(way: Path, parent: Lanes) -> bool:
    """Whether the counter that leads to a node counts anybody."""
    return bool(_sums(parent).get(way[-1]))


def _has_nodes_below(way: Path, digits: Iterable[int], gone: Container[Path]) -> bool:
    """Whether something stays below a node when some nodes are gone."""
    return not tier_tree.is_leaf(way) and any((*way, digit) not in gone for digit in digits)


def _parents(gone: Iterable[Path]) -> list[Path]:
    """The nodes that stay, above those that go."""
    going = set(gone)
    return sorted({way[:-1] for way in going} - going)


def _sums(lanes: Lanes) -> dict[int, int]:
    return tier_tree.summed(lane.counters for lane in lanes.values())
