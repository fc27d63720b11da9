"""How many events a second the hottest key of a board takes, until it needs as many write units as a key bears.

`python -m benchmarks hot_key` writes `benchmarks/results/hot_key.json`.
"""

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from benchmarks.harness import population
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.pipeline import Pipeline, event
from benchmarks.harness.results_file import Output
from standings.domain.boards_toml import parse_boards

MEMBERS: Final = 200_000
EVENTS: Final = 2_000
"""Events of a ceiling; they are spread over the shards of the index."""
AMOUNTS: Final = (1, 100)
SHARDS: Final = (1, 2, 4, 8)
BATCHES: Final = (1, 100)
"""Records in a projector's batch: one, with which the tiers are written most often, and those of a busy board."""
LIMIT: Final = 1_000
"""Write units per second that one partition key takes."""


def ceiling(batch: int, shards: int, count: int, scores: Mapping[str, int]) -> dict[str, Any]:
    """Measure the events per second, of different members, at which a partition key takes 1,000 write units."""
    rng = Random(1)
    names = rng.sample(list(scores), count)
    definition = population.sharded(shards)
    pipeline = Pipeline(parse_boards(definition))
    ranking = population.ranking_of(population.family(definition))
    population.place_members(pipeline.client, ranking, scores, entries=names)

    def post(kind: str, points: dict[str, int]) -> None:
        pipeline.write(event(f"{kind}-{name}", population.BOARD, name, {"points": n}) for name, n in points.items())

    amounts = {name: rng.randint(*AMOUNTS) for name in names}
    for kind, points in (("before", scores), ("counted", amounts)):
        before = pipeline.meter.snapshot()
        for start in range(0, count, batch):
            post(kind, {name: points[name] for name in names[start : start + batch]})
        pipeline.project(batch)
    cost = pipeline.meter.snapshot() - before
    (table, key), units = max(cost.targets.items(), key=lambda one: one[1].write)
    return {
        "batch": batch,
        "shards": shards,
        "events_per_second": round(LIMIT * count / units.write),
        "first": "index" if "places" in table else "tier" if "/" in key else table,
        "write_units": round(cost.total.write / count, 2),
    }


def measure(out: Output) -> dict[str, Any]:
    events, members = (100, 10_000) if out.small else (EVENTS, MEMBERS)
    scores = population.lognormal(Random(1), members)
    rows = [ceiling(batch, shards, events, scores) for batch in BATCHES for shards in SHARDS]
    return {"members": members, "ceilings": rows}


BENCHMARK: Final = Benchmark("hot_key", measure, {})
