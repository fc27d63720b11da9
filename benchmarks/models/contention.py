"""A model of projectors that conflict in one ranking: transactions, lanes and waits, without tables.

`Drawn` draws the tiers that a transaction would write, with the product's own `cut` and `deltas`. The model repeats the
product's rules: a transaction is cancelled if another one has one of its tiers; it then waits and is tried again; after
some conflicts the projector takes another lane. `benchmarks/models/ceiling.py` compares the model with the product's
projectors, in the same virtual time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from random import Random
from typing import Final, NamedTuple

from benchmarks.harness import population
from benchmarks.harness.virtual_time import VirtualClock
from benchmarks.models.assumed import READ, TRANSACTION
from benchmarks.models.cost.load_inputs import Traffic
from standings.aws.dynamodb.rankings.rankings import CONFLICTS
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place, sort_value
from standings.domain.tiers.tier_path import ROOT, Path, path, prefixes
from standings.domain.tiers.tier_tree import deltas
from standings.project.backfill import commit_order
from standings.project.commit_moves import cut
from standings.project.prune_tiers import CHANCE, LOOKED_AT
from standings.runtime.retry import Backoff, Clock

Tier = tuple[int, Path]
"""A lane and a node."""


class Part(NamedTuple):
    """One transaction of a batch: the tiers that its moves change, and the leaves that members leave."""

    tiers: frozenset[Path]
    left: list[Path]


@dataclass(slots=True)
class Transactions:
    """Counts of committed and of cancelled transactions."""

    committed: int = 0
    cancelled: int = 0

    @property
    def cancelled_share(self) -> float:
        """The cancelled share of all transactions."""
        return self.cancelled / max(1, self.committed + self.cancelled)


@dataclass(slots=True)
class _Lane:
    number: int = 0
    of: int = 1
    conflicts: int = 0


class Drawn:
    """Randomly drawn batches of different members, as the transactions that they become in one ranking."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        family = population.family()
        self._ranking = population.ranking_of(family)

    def parts(self, rng: Random, members: int) -> list[Part]:
        """Draw so many members; return their transactions."""
        moves = []
        for _ in range(members):
            old = self._traffic.score(rng)
            new = old + rng.randint(*self._traffic.amounts)
            places = [Place(sort_value(score, descending=True)) for score in (old, new)]
            moves.append(Move(self._ranking, "", places[0], places[1], 1, 0))
        moves.sort(key=commit_order)
        return [self._part(chunk) for chunk in cut(moves)]

    def _part(self, chunk: Sequence[Move]) -> Part:
        pairs = [(move.old.sort_value, move.new.sort_value) for move in chunk if move.old and move.new]
        left = [path(old)[:-1] for old, new in pairs if path(old)[:-1] != path(new)[:-1]]
        return Part(frozenset(deltas(pairs)), left)

    def deserted(self, part: Part, rng: Random) -> set[Path]:
        """Draw the leaves that have no members after a transaction."""
        return {leaf for leaf in part.left if rng.random() < exp(-self._traffic.beside(leaf))}


class Contention:
    """One ranking and the projectors that work on it."""

    def __init__(self, clock: VirtualClock, drawn: Drawn, most_lanes: int, seed: int) -> None:
        self.transactions = Transactions()
        self._drawn = drawn
        self.named = 1
        self._clock = clock
        self._most_lanes = most_lanes
        self._taken: set[Tier] = set()
        # Leaves without members, each with its lanes: the first, and the lane of the last member to leave.
        self._dead: dict[Path, set[int]] = {}
        self._seed = seed
        self._workers = 0

    def worker(self) -> Callable[[Sequence[Part]], None]:
        """Return a projector: a function that runs the transactions of a batch one after the other."""
        self._workers += 1
        rng = Random(f"{self._seed} {self._workers}")
        lane = _Lane()
        clock = Clock(lambda: 0, lambda: self._clock.now, self._clock.sleep, rng.random)

        def project(parts: Sequence[Part]) -> None:
            backoff = clock.backoff(float("inf"))
            for part in parts:
                self._commit(part, lane, backoff, rng)
                self._prune(part, lane, rng)

        return project

    def _commit(self, part: Part, lane: _Lane, backoff: Backoff, rng: Random) -> None:
        while True:
            if lane.conflicts < CONFLICTS or self._change_lane(lane, rng):
                if self._transact({(lane.number, tier) for tier in part.tiers}):
                    lane.conflicts = 0
                    return
                lane.conflicts += 1
            backoff.wait()

    def _prune(self, part: Part, lane: _Lane, rng: Random) -> None:
        """Remove dead leaves from their lanes, and the counters of their parents; a failed removal is not repeated."""
        for leaf in self._dead.keys() & part.tiers:
            del self._dead[leaf]
        self._dead.update((leaf, {0, lane.number}) for leaf in self._drawn.deserted(part, rng))
        left = {leaf for leaf in part.left if rng.random() < CHANCE}
        checked = sorted(left)[:LOOKED_AT]
        if not checked:
            return
        self._clock.sleep(READ)
        above = {node for leaf in checked for node in prefixes(leaf)}
        dead = {leaf: lanes for leaf, lanes in self._dead.items() if leaf in checked or leaf[:-1] in above}
        if dead.keys() - set(checked):
            self._clock.sleep(READ)
        removed = {(number, node) for leaf, lanes in dead.items() for number in lanes for node in (leaf, leaf[:-1])}
        if removed and self._transact(removed):
            for leaf in dead:
                self._dead.pop(leaf, None)

    def _change_lane(self, lane: _Lane, rng: Random) -> bool:
        """Double the lanes, if more are allowed, and draw one; writing their number to the root may conflict too."""
        doubled = min(2 * lane.of, self._most_lanes)
        if doubled > lane.of:
            if not self._transact({(0, ROOT)}):
                return False
            self.named = lane.of = max(doubled, self.named)
        lane.number = int(rng.random() * lane.of)
        lane.conflicts = 0
        return True

    def _transact(self, tiers: set[Tier]) -> bool:
        if not self._taken.isdisjoint(tiers):
            self._clock.sleep(TRANSACTION)
            self.transactions.cancelled += 1
            return False
        self._taken |= tiers
        self._clock.sleep(TRANSACTION)
        self._taken -= tiers
        self.transactions.committed += 1
        return True


BUSY: Final = 4.0
"""Virtual seconds after which a projector that always has work begins no more batches."""


def busy(
    drawn: Drawn, projectors: int, most_lanes: int, batch: int, seed: int, seconds: float = BUSY
) -> dict[str, float]:
    """Run projectors that always have work; return the moves per second done in time, and the cancelled share."""
    clock = VirtualClock()
    contention = Contention(clock, drawn, most_lanes, seed)
    in_time = 0
    for number in range(projectors):
        project, rng = contention.worker(), Random(f"{seed} draws {number}")

        def work(project: Callable[[Sequence[Part]], None] = project, rng: Random = rng) -> None:
            nonlocal in_time
            while clock.now < seconds:
                project(drawn.parts(rng, batch))
                in_time += batch if clock.now <= seconds else 0

        clock.start(work)
    clock.run()
    return {"moves_per_second": in_time / seconds, "cancelled_share": contention.transactions.cancelled_share}
