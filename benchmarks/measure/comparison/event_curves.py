"""What an event costs by batch, amounts and windows, and how many a second the hottest key takes."""

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from benchmarks.harness import population, shapes
from benchmarks.harness.pipeline import ShapedPipeline

BATCHES: Final = (1, 10, 100, 500)
AMOUNTS: Final = ((1, 100), (100, 2_500), (100_000, 2_500_000))
WINDOWS: Final = (
    ("all",),
    ("all", "day"),
    ("all", "week"),
    ("all", "day", "last-7-days"),
    ("all", "last-30-days"),
)
SHARDS: Final = (1, 2, 4, 8)
LANES: Final = (1, 2, 4)
ALONE: Final = 1
"""A projector's batch of one record, with which the tiers are written most often."""
TOGETHER: Final = 100
"""A projector's batch on a busy board."""
LIMIT: Final = 1_000
"""Write units per second that one partition key takes."""
Row = dict[str, Any]


def events(count: int, members: int) -> Iterator[Row]:
    """Measure events of different members; each row varies one thing of the first row."""
    for batch in BATCHES:
        yield _event_row("batch", batch, AMOUNTS[0], WINDOWS[0], count, members)
    for amounts in AMOUNTS[1:]:
        yield _event_row("amount", BATCHES[-1], amounts, WINDOWS[0], count, members)
    for windows in WINDOWS[1:]:
        yield _event_row("windows", BATCHES[-1], AMOUNTS[0], windows, count, members)


def _event_row(
    varied: str, batch: int, amounts: tuple[int, int], windows: tuple[str, ...], count: int, members: int
) -> Row:
    names = ", ".join(f'"{window}"' for window in windows)
    # Large amounts need large scores.
    scores = (shapes.lognormal if amounts[0] > 1_000 else shapes.points)(members)
    chosen = Random(1).sample(range(members), count)
    pipeline = ShapedPipeline(population.BOARDS.replace('"all"', names), scores, chosen)
    cost = pipeline.cost([population.member(number) for number in chosen], batch, amounts)
    row = {
        "varied": varied,
        "batch": batch,
        "amounts": list(amounts),
        "windows": list(windows),
        "events": count,
        "write_units": round(cost.total.write / count, 2),
        "read_units": round(cost.total.read / count, 2),
        "by_table": {table: round(units.write / count, 2) for table, units in sorted(cost.tables.items())},
    }
    print(row, flush=True)
    return row


def ceilings(count: int, members: int) -> Iterator[Row]:
    """Measure the events per second, of different members, at which a partition key takes 1,000 write units."""
    scores = shapes.points(members)
    chosen = Random(1).sample(range(members), count)
    names = [population.member(number) for number in chosen]
    for batch, most in ((ALONE, LANES[-1]), (TOGETHER, 1)):
        for lanes in (one for one in LANES if one <= most):
            for shards in SHARDS:
                cost = ShapedPipeline(population.sharded(shards), scores, chosen, lanes).cost(names, batch, AMOUNTS[0])
                (table, key), units = max(cost.targets.items(), key=lambda one: one[1].write)
                row = {
                    "batch": batch,
                    "lanes": lanes,
                    "shards": shards,
                    "events_per_second": round(LIMIT * count / units.write),
                    "first": "index" if "places" in table else "tier" if "/" in key else table,
                    "write_units": round(cost.total.write / count, 2),
                }
                print(row, flush=True)
                yield row
