"""Dead nodes are removed, and whatever happens at the same time, the counters are those of the entries."""

import random
import threading
from collections.abc import Callable
from typing import Any, Final

import pytest

from benchmarks.measure import rising
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.errors import CancelReason, StoreRefusedError, StoreUnavailableError
from standings.ports.rankings import Removal
from standings.project.prune_tiers import CHANCE, PrunedRankings, PruneResult
from tests.support.builders.checks import assert_tiers_count_the_entries, entries, lanes, nodes
from tests.support.builders.stages.cleaners import (
    NOW,
    RANKING,
    Worker,
    moved,
    out_of_reach,
    ranking,
    reading,
    tier_conflict,
)
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.faults import faulty_client
from tests.support.thoroughness import seeds


@pytest.fixture
def worker(engine: Any) -> Worker:
    return Worker(engine)


def paths(client: Any) -> set[Path]:
    return {way for _, way, _, _ in nodes(client)}


def test_a_node_that_everyone_left_goes_and_its_counter_with_it(engine: Any, worker: Worker) -> None:
    worker.move(moved("a", None, 20_000, 1), moved("b", None, 300, 1))
    assert (67, 1, 28) in paths(engine)
    worker.move(moved("a", 20_000, 301, 2))

    assert paths(engine) == {ROOT, (66,), (66, 2)}
    assert worker.looks == [PruneResult(removed=3)]
    (root,) = (item for _, way, _, item in nodes(engine) if way == ROOT)
    assert set(root) == {"pk", "t", "v", "y2"}


def test_the_root_stays_when_everyone_has_left(engine: Any, worker: Worker) -> None:
    worker.client.steps.extend([tier_conflict] * 2)
    worker.move(moved("a", None, 300, 1))
    worker.move(moved("a", 300, None, 2))

    assert {way for _, way, lane, _ in nodes(engine) if way or not lane} == {ROOT}
    assert lanes(engine) == {RANKING.key: 2}


def test_what_is_too_much_for_one_look_is_left_to_the_next(engine: Any, worker: Worker) -> None:
    still = Worker(engine, chance=0)
    everyone = [moved(f"m{n}", None, 128 * n, 1) for n in range(1, 120)]
    still.move(*everyone)
    still.move(*(moved(move.member, move.new.sort_value, 2**35, 2) for move in everyone if move.new))
    before = len(paths(engine))
    here = 2**35
    for version in range(3, 11):
        there = 128 if here != 128 else 2**35 + version
        worker.move(moved("m1", here, there, version))
        here = there

    assert before > 120
    assert sum(look.removed for look in worker.looks) >= 118
    assert len(paths(engine)) <= 8
    assert_tiers_count_the_entries(engine)


def test_rankings_that_end_soon_are_left_to_their_ttl(engine: Any) -> None:
    looks: list[PruneResult] = []
    one = Worker(engine)
    pruned = PrunedRankings(one.rankings, one.trees, one.tools, looks.append, chance=1)
    day = ranking("day")
    for found in (RANKING, day):
        for old, new, version in ((None, 5, 1), (5, 5_000, 2)):
            move = Move(found, "a", None if old is None else Place(old), Place(new), version, NOW)
            assert pruned.commit(found, [move]) == []

    assert looks == [PruneResult(removed=1)]
    assert any(key == day.key and way == (65,) for key, way, _, _ in nodes(engine))


@pytest.mark.parametrize(
    ("error", "unexpected"), [(StoreUnavailableError("throttled"), False), (StoreRefusedError("no"), True)]
)
def test_a_look_that_fails_fails_no_commit(
    engine: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, *, unexpected: bool
) -> None:
    worker = Worker(engine)
    worker.move(moved("a", None, 300, 1))

    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(worker.trees, "lanes", fail)
    assert worker.move(moved("a", 300, 5, 2)).moves == 1
    assert worker.looks == [PruneResult(reason=str(error), unexpected=unexpected)]


def test_a_removal_is_done_only_as_it_was_read(engine: Any, worker: Worker) -> None:
    worker = Worker(engine, chance=0)
    worker.move(moved("a", None, 300, 1))
    before = worker.trees.lanes(RANKING, [ROOT, (66,), (66, 2)])
    worker.move(moved("a", 300, 301, 2))

    assert worker.trees.remove(RANKING, {(66, 2): before[66, 2]}, []) == [CancelReason.CONDITION]
    worker.move(moved("b", None, 300, 1))
    assert worker.trees.remove(RANKING, {}, [Removal((66,), [2], before[66,])]) == [CancelReason.CONDITION]
    assert_tiers_count_the_entries(engine)


class Turns:
    """Lets one thread run at a time. `rng` chooses the next thread before each call."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._changed = threading.Condition()
        self._turn: str | None = None
        self._live: set[str] = set()

    def run(self, jobs: list[Callable[[], None]]) -> None:
        """Run each job in a thread, and wait for all of them."""
        names = [f"job-{number}" for number in range(len(jobs))]
        self._live = set(names)
        threads = [
            threading.Thread(target=self._go, args=(name, job), name=name)
            for name, job in zip(names, jobs, strict=True)
        ]
        for thread in threads:
            thread.start()
        self._next()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()

    def pause(self) -> None:
        """Give the turn to a random thread and wait for the next turn. Call it before each call."""
        if threading.current_thread().name in self._live:
            self._next()
            self._wait()

    def _go(self, name: str, job: Callable[[], None]) -> None:
        self._wait()
        try:
            job()
        finally:
            self._live.discard(name)
            self._next()

    def _wait(self) -> None:
        name = threading.current_thread().name
        with self._changed:
            self._changed.wait_for(lambda: self._turn == name)

    def _next(self) -> None:
        with self._changed:
            self._turn = self._rng.choice(sorted(self._live)) if self._live else None
            self._changed.notify_all()


class Slow:
    """Reads give others a turn as well."""

    def __init__(self, client: Any, turns: Any) -> None:
        self._client = client
        self._turns = turns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def batch_get_item(self, **request: Any) -> Any:
        self._turns.pause()
        return self._client.batch_get_item(**request)


def paused(turns: Any, rng: random.Random) -> faulty_client.Step:
    def step(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        client.steps.append(step)
        turns.pause()
        chance = rng.random()
        if chance < 0.3:
            return tier_conflict(client, request)
        if chance < 0.35:
            return faulty_client.lost_answer(client, request)
        return client.client.transact_write_items(**request)

    return step


@pytest.mark.parametrize("seed", seeds(10, 25))
def test_lanes_and_cleaning_beside_each_other(engine: Any, seed: int) -> None:
    """Workers move members by turns, call by call in the order that a seed decides, and clean after every commit."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    turns = Turns(rng)
    workers = [Worker(engine, seed * 10 + number) for number in range(3)]
    for worker in workers:
        worker.client.steps.append(paused(turns, rng))
        worker.trees._client = Slow(worker.client, turns)  # type: ignore[assignment]
    members = [f"m{number}" for number in range(6)]

    def job(worker: Worker, mine: list[str]) -> Callable[[], None]:
        places: dict[str, int | None] = dict.fromkeys(mine)

        def go() -> None:
            for version in range(1, 9):
                moves = []
                for member in mine:
                    new = rng.choice([None, 5, 100, 300, 301, 20_000, 40_000, 2**30])
                    moves.append(moved(member, places[member], new, version))
                    places[member] = new
                worker.move(*moves)

        return go

    turns.run([job(worker, members[number::3]) for number, worker in enumerate(workers)])
    for worker in workers:
        worker.client.steps.clear()
    assert_tiers_count_the_entries(engine)
    assert out_of_reach(engine) == set()
    there = reading(engine).nodes([(RANKING, ROOT)])
    assert sum(there[RANKING, ROOT].counters.values()) == len(entries(engine).get(RANKING.key, {}))


STEPS: Final = (100, 2_500)
ROUNDS: Final = 20


def test_a_board_whose_scores_only_rise_keeps_a_tree_in_proportion(engine: Any) -> None:
    """It has at most twice the nodes that are needed. Without pruning it has more."""
    needed, looks = rising.rise(engine, STEPS, CHANCE, ROUNDS)
    assert rising.nodes(engine) <= 2 * needed + 20
    assert not any(look.unexpected for look in looks)
    assert_tiers_count_the_entries(engine)

    never = Engine()
    create_tables(never)
    needed, _ = rising.rise(never, STEPS, 0, ROUNDS)
    assert rising.nodes(never) > 2 * needed
