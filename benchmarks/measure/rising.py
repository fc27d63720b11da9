"""A board whose scores only rise: the number of nodes of its tree, and the cost of removing dead ones."""

from dataclasses import replace
from random import Random
from typing import Any, Final

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from benchmarks.harness.pipeline import still_clock
from standings.aws.dynamodb.ranking_reads import Trees
from standings.aws.dynamodb.rankings import Rankings
from standings.domain.members import Move
from standings.domain.scoring import Place
from standings.domain.tiers import path, prefixes
from standings.project.commits import PruneResult, Pruning, move_in_ranking
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

MEMBERS: Final = 300
ROUNDS: Final = 100
AMOUNTS: Final = ((1, 100), (100, 2_500), (100_000, 2_500_000))
CHANCES: Final = (0, 8, 16, 32, 64)
"""The projector checks one of so many moves out of a leaf for dead tiers; 0: none."""


def rise(client: Any, amounts: tuple[int, int], chance: float, rounds: int) -> tuple[int, list[PruneResult]]:
    """Raise the scores of 300 members, round by round; return the nodes needed at the end, and what was removed."""
    rng = Random(1)
    ranking = population.ranking_of(population.family())
    tools = replace(still_clock(), random=Random(1).random)
    looks: list[PruneResult] = []
    rankings, pruning = (Rankings(client, "Rankings", tools), Pruning(Trees(client, "Rankings", tools), tools, chance))
    places: dict[str, Place | None] = dict.fromkeys(map(population.member, range(MEMBERS)))
    for number in range(rounds):
        after = {name: Place((old.sort_value if old else 0) - rng.randint(*amounts)) for name, old in places.items()}
        moves = [Move(ranking, name, places[name], new, number + 1, population.NOW) for name, new in after.items()]
        moves.sort(key=lambda move: move.new.sort_value if move.new else 0)
        outcome = move_in_ranking(rankings, moves, tools.backoff(float("inf")), lambda: False, pruning)
        if len(outcome.done) != MEMBERS:
            raise AssertionError(f"expected {MEMBERS} moves, got fewer")
        looks += outcome.prunes
        places.update(after)
    needed = {node for place in places.values() if place for node in prefixes(path(place.sort_value))}
    return len(needed), looks


def nodes(client: Any) -> int:
    return sum("/" in row["pk"]["S"] for row in client.scan(TableName="Rankings")["Items"])


def measure(rounds: int) -> list[dict[str, Any]]:
    return [_measured(amounts, chance, rounds) for amounts in AMOUNTS for chance in CHANCES]


def _measured(amounts: tuple[int, int], chance: int, rounds: int) -> dict[str, Any]:
    client = Engine()
    create_tables(client)
    meter = Meter(client)
    needed, looks = rise(meter, amounts, 1 / chance if chance else 0, rounds)
    units = meter.snapshot().total
    moves = MEMBERS * rounds
    row = {
        "amounts": list(amounts),
        "one_of": chance,
        "nodes": nodes(client),
        "needed": needed,
        "looks": len(looks),
        "removed": sum(look.removed for look in looks),
        "write_units_per_move": round(units.write / moves, 2),
        "read_units_per_move": round(units.read / moves, 3),
    }
    print(row, flush=True)
    return row
