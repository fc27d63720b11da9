"""Checks of pruning, for the tests of every run and for those that run for long."""

import random
from collections.abc import Callable
from typing import Any

from benchmarks.measure import rising
from standings.domain.tiers.tier_path import ROOT
from standings.project.prune_tiers import CHANCE
from tests.support.builders.checks import assert_tiers_count_the_entries, entries
from tests.support.builders.stages.cleaners import RANKING, Worker, moved, out_of_reach, reading, tier_conflict
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.faults import faulty_client
from tests.support.faults.turns import Turns


def interleaved(engine: Any, seed: int) -> None:
    """Workers move members by turns, call by call in the order that a seed decides, and clean after every commit."""
    rng = random.Random(seed)
    turns = Turns(rng)
    workers = [Worker(engine, seed * 10 + number) for number in range(3)]
    for worker in workers:
        worker.client.steps.append(_paused(turns, rng))
        worker.trees._client = _Slow(worker.client, turns)  # type: ignore[assignment]
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


class _Slow:
    """Reads give others a turn as well."""

    def __init__(self, client: Any, turns: Any) -> None:
        self._client = client
        self._turns = turns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def batch_get_item(self, **request: Any) -> Any:
        self._turns.pause()
        return self._client.batch_get_item(**request)


def _paused(turns: Any, rng: random.Random) -> faulty_client.Step:
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


def check_proportion(engine: Any, steps: tuple[int, int], rounds: int, without: int) -> None:
    """Scores that only rise keep a tree of at most twice the nodes needed; without pruning it has `without` times."""
    needed, looks = rising.rise(engine, steps, CHANCE, rounds)
    assert rising.nodes(engine) <= 2 * needed + 20
    assert not any(look.unexpected for look in looks)
    assert_tiers_count_the_entries(engine)

    never = Engine()
    create_tables(never)
    needed, _ = rising.rise(never, steps, 0, rounds)
    assert rising.nodes(never) > without * needed
