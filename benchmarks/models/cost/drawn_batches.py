"""Batches of randomly drawn members, and the tiers and transactions that their moves need in one ranking."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp
from random import Random
from typing import Final

from benchmarks.harness import population
from benchmarks.harness.capacity_units import TRANSACTIONAL
from benchmarks.models.cost.load_inputs import Traffic
from standings.domain.boards.definitions import Metric, Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place, sort_value
from standings.domain.tiers.tier_path import ROOT, path, prefixes
from standings.domain.tiers.tier_tree import deltas
from standings.domain.windows.window import MAX_SLAB
from standings.project.backfill import commit_order
from standings.project.commit_moves import MAX_MOVES, cut
from standings.project.prune_tiers import CHANCE, LOOKED_AT, WORTH

DRAWN: Final = 4_000
"""The least number of moves to draw."""


def since(metric: Metric) -> int | None:
    """Return the tie instant of a place, None if the metric has no tie instants."""
    return population.NOW if metric.ties_by_instant else None


def move_of(ranking: Ranking, old: Place | None, new: Place) -> Move:
    """Return a member's move between two places of a ranking."""
    return Move(ranking, population.member(0), old, new, population.NOW, population.NOW)


@dataclass(frozen=True, slots=True)
class Batch:
    """Per event: moves, written tiers, transactions; write units of removed tiers, and read units of the checks."""

    moves: float
    nodes: float
    transactions: float
    removal: float
    reads: float
    example: Move


class DrawnBatches:
    """Randomly drawn batches of one metric."""

    def __init__(self, metric: Metric, metrics: int, traffic: Traffic, seed: int) -> None:
        self._metric = metric
        self._traffic = traffic
        self._rng = Random(seed)
        # The projector moves so many members of a batch together.
        self._together = max(1, MAX_MOVES // (metrics * max(1, len(metric.windows))))
        self._count = max(MAX_SLAB, -(-DRAWN // traffic.batch))
        # Each batch by member: its score before and after.
        self.batches = [dict(self._batch()) for _ in range(self._count)]
        self._means: dict[tuple[bool, float], Batch] = {}
        self.changed = sum(map(len, self.batches)) / self._count / traffic.batch

    def _batch(self) -> Iterator[tuple[int, tuple[int, int]]]:
        traffic, rng = self._traffic, self._rng
        events: dict[int, int] = {}
        for number in range(traffic.batch):
            member = number if traffic.active is None else rng.randrange(traffic.active)
            events[member] = events.get(member, 0) + 1
        for member, count in events.items():
            old = traffic.score(rng)
            amounts = [rng.randint(*traffic.amounts) for _ in range(count)]
            if self._metric.aggregate == "sum":
                yield member, (old, old + sum(amounts))
            elif self._metric.aggregate == "last":
                yield member, (old, traffic.score(rng))
            elif better := [amount for amount in amounts if rng.random() < traffic.improving]:
                yield member, (old, old + max(better))

    def of(self, ranking: Ranking, first: float) -> Batch:
        """Return the average batch of a ranking; `first` is the share of moves that are a member's first."""
        until = ranking.readable_until
        pruned = until is None or until >= population.NOW + WORTH
        if (pruned, first) not in self._means:
            self._means[pruned, first] = self._mean(ranking, first, pruned=pruned)
        return self._means[pruned, first]

    def _mean(self, ranking: Ranking, first: float, *, pruned: bool) -> Batch:
        rng, events = self._rng, self._count * self._traffic.batch
        moves = nodes = transactions = born = reads = parents = 0.0
        example = None
        for part in self._parts():
            part_moves = []
            for old, new in part:
                if rng.random() < first:
                    # The first score of a sum is the event's own points.
                    score = new - old if self._metric.aggregate == "sum" else new
                    part_moves.append(move_of(ranking, None, self._place(score)))
                else:
                    part_moves.append(move_of(ranking, self._place(old), self._place(new)))
            part_moves.sort(key=commit_order)
            for chunk in cut(part_moves):
                pairs = [(move.old.sort_value if move.old else None, move.new.sort_value) for move in chunk if move.new]
                moves += len(chunk)
                nodes += len(deltas(pairs))
                transactions += 1
                if pruned:
                    read_units, dead = self._check(pairs)
                    reads += read_units
                    parents += dead
                    born += sum(map(self._born, pairs))
            example = part_moves[0] if part_moves else example
        if example is None:
            example = move_of(ranking, None, self._place(1))
        # A dead tier costs its removal; each check that finds some also writes a counter of their parent.
        removal = TRANSACTIONAL * (born + min(parents, born))
        return Batch(moves / events, nodes / events, transactions / events, removal / events, reads / events, example)

    def _parts(self) -> Iterator[list[tuple[int, int]]]:
        for batch in self.batches:
            members = list(batch.values())
            for start in range(0, len(members), self._together):
                yield members[start : start + self._together]

    def _place(self, score: int) -> Place:
        return Place(sort_value(score, descending=True), since(self._metric))

    def _born(self, pair: tuple[int | None, int]) -> float:
        """Return the expected number of nodes that a move creates for its member alone; each is removed later."""
        old, new = pair
        if old is None:
            return 0.0
        before = set(prefixes(path(old)))
        return sum(exp(-self._traffic.beside(node)) for node in prefixes(path(new)) if node and node not in before)

    def _check(self, pairs: list[tuple[int | None, int]]) -> tuple[float, float]:
        """Return the read units of the check for dead tiers after a transaction, and the chance that it finds some."""
        left = [
            path(old)[:-1]
            for old, new in pairs
            if old is not None and path(old)[:-1] != path(new)[:-1] and self._rng.random() < CHANCE
        ][:LOOKED_AT]
        read_nodes = {node for leaf in left for node in prefixes((*leaf, 0))}
        alive = 1.0
        for leaf in left:
            alive *= 1 - exp(-self._traffic.beside(leaf))
        # A removed node costs as much to read as another.
        return float(len(read_nodes | ({ROOT} if left else set()))), 1 - alive
