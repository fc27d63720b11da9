"""Removes empty nodes from the tier trees of calendar rankings: nodes that count no members any more."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from standings.aws.dynamodb import tables
from standings.aws.dynamodb.tables import DynamoDBClient
from standings.domain import tiers
from standings.domain.boards import Ranking
from standings.domain.members import Move
from standings.domain.tiers import ROOT, Path, path, prefixes
from standings.domain.windows import DAY
from standings.rankings.commits import PruneResult
from standings.rankings.reading import CalendarReads
from standings.runtime.clock import Clock
from standings.stores import MAX_ACTIONS, Lanes, StoreRefusedError, StoreUnavailableError

CHANCE: Final = 1 / 16  # Probability that a move out of a leaf triggers a check of its path (docs/decisions/0009)
LOOKED_AT: Final = 4  # The most paths that are checked after one commit
READ_AT_ONCE: Final = 50  # The most nodes that are read on each level of a tree
WORTH: Final = 150 * DAY
"""Removing an empty node costs as much as keeping it this long: rankings that end sooner are left to their TTL."""


class Pruning:
    """Keeps the tier trees of a table in proportion to their members: `Pruning(client, "Rankings", clock)`.

    After some commits, chosen at random, it removes empty nodes on the paths that moves have left: in one transaction
    without a retry. It never fails. Tiers of rolling windows are left to their TTL: each holds its position in a log.
    """

    def __init__(
        self, client: DynamoDBClient, table: str, clock: Clock, chance: float = CHANCE, worth: int = WORTH
    ) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._chance = chance
        self._worth = worth
        reads = CalendarReads(partial(tables.items_by_key, client, table, clock=clock, consistent=True), clock)
        self.lanes: Callable[[Ranking, Iterable[Path]], dict[Path, Lanes]] = reads.lanes

    def prune_after(self, moves: Sequence[Move]) -> PruneResult | None:
        """Check the paths that some moves of one ranking have left; None if no path was chosen."""
        ranking = moves[0].ranking
        until = ranking.kept_until
        if until is not None and until < self._clock.now() + self._worth:
            return None
        leaves: list[Path] = []
        for old, new in ((move.old, move.new) for move in moves if move.old is not None):
            leaf = path(old.values)[:-1]
            has_left = new is None or path(new.values)[:-1] != leaf
            leaves += [leaf] if has_left and self._clock.random() < self._chance else []
        return self.prune(ranking, leaves[:LOOKED_AT]) if leaves else None

    def prune(self, ranking: Ranking, leaves: Sequence[Path]) -> PruneResult:
        """Remove empty nodes on and below the paths to some leaves, as many as fit in one transaction.

        Nodes and counters that are 0 over all lanes go on condition that they are still as they were read. A node goes
        together with the counter that leads to it, so that none is ever out of reach.
        """
        try:
            nodes = self._read(ranking, leaves)
            removable = _removable(nodes, ranking.metric.components)
            conflicts = self.remove(ranking, nodes, removable)
        except (StoreRefusedError, StoreUnavailableError) as error:
            return PruneResult(reason=str(error), unexpected=isinstance(error, StoreRefusedError))
        if conflicts:
            return PruneResult(reason=conflicts[0].reason.name)
        return PruneResult(removed=sum(1 for node in removable if nodes[node]))

    def _read(self, ranking: Ranking, leaves: Sequence[Path]) -> dict[Path, Lanes]:
        """Read the nodes on the paths to some leaves, and the nodes below them that counters of 0 lead to."""
        nodes: dict[Path, Lanes] = {}
        level = list(dict.fromkeys(node for leaf in leaves for node in prefixes(leaf)))
        while level:
            nodes |= {node: {} for node in level} | self.lanes(ranking, level)
            empty = (
                (*node, digit)
                for node in level
                if not tiers.is_leaf(node, ranking.metric.components)
                for digit, count in _sums(nodes[node]).items()
                if not count
            )
            level = [node for node in empty if node not in nodes][:READ_AT_ONCE]
        return nodes

    def remove(
        self, ranking: Ranking, nodes: Mapping[Path, Lanes], removable: Sequence[Path]
    ) -> list[tables.Cancellation]:
        """Remove nodes, and the counters that lead to them, in one transaction: if they are still as in `nodes`.

        An empty list means that it succeeded.
        """
        actions = [action for node in removable for action in self._node_out(ranking, node, nodes[node])]
        for parent in sorted({node[:-1] for node in removable} - set(removable)):
            digits = [node[-1] for node in removable if node[:-1] == parent]
            actions += self._counters_out(ranking, parent, digits, nodes[parent])
        return tables.transact(self._client, actions) if actions else []

    def _node_out(self, ranking: Ranking, path: Path, lanes: Lanes) -> Iterator[dict[str, Any]]:
        for number, lane in lanes.items():
            values = tables.numbers(v=lane.version)
            condition = {"ConditionExpression": "v = :v", "ExpressionAttributeValues": values}
            yield {"Delete": {**self._target(ranking, path, number), **condition}}

    def _counters_out(
        self, ranking: Ranking, path: Path, digits: Sequence[int], lanes: Lanes
    ) -> Iterator[dict[str, Any]]:
        for number, lane in lanes.items():
            counters = {tables.COUNTERS[digit]: lane.counters[digit] for digit in digits if digit in lane.counters}
            if counters:
                update = {
                    "UpdateExpression": f"SET v = v + :one REMOVE {', '.join(counters)}",
                    "ConditionExpression": " AND ".join(f"{name} = :{name}" for name in counters),
                    "ExpressionAttributeValues": tables.numbers(one=1, **counters),
                }
                yield {"Update": {**self._target(ranking, path, number), **update}}

    def _target(self, ranking: Ranking, path: Path, lane: int) -> dict[str, Any]:
        return {"TableName": self._table, "Key": tables.item_key(tables.node_key(ranking.key, path, lane))}


def _removable(nodes: dict[Path, Lanes], components: int) -> list[Path]:
    """The nodes to remove together, deepest first: they count no members, and nothing is left below them."""
    removable: list[Path] = []
    written: set[Path] = set()
    actions = 0
    for node in sorted(nodes, key=len, reverse=True):
        sums = _sums(nodes[node])
        if node == ROOT or any(sums.values()) or _is_counted(node, nodes[node[:-1]]):
            continue
        if not tiers.is_leaf(node, components) and _has_nodes_below(node, sums, removable):
            continue
        more = {node, node[:-1]} - written
        actions += sum(len(nodes[each]) for each in more)
        if actions > MAX_ACTIONS:
            break
        written |= more
        removable.append(node)
    return removable


def _is_counted(node: Path, parent: Lanes) -> bool:
    return bool(_sums(parent).get(node[-1]))


def _has_nodes_below(node: Path, digits: Iterable[int], removable: Container[Path]) -> bool:
    return any((*node, digit) not in removable for digit in digits)


def _sums(lanes: Lanes) -> dict[int, int]:
    return tiers.summed(lane.counters for lane in lanes.values())
