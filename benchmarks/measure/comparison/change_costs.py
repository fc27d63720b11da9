"""What a change of a score costs with each method, and how many changes per second the hottest key takes."""

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from benchmarks.harness import population, shapes
from benchmarks.harness.meter import Meter, Snapshot
from benchmarks.harness.pipeline import ShapedPipeline
from benchmarks.harness.shapes import Sorted
from benchmarks.rivals.board import OURS, RIVALS, Rival, place
from benchmarks.rivals.lists import DaySums
from tests.support.dynamodb.engine import Engine

DAYS: Final = 7
LIMIT: Final = 1_000
"""Write units per second that one partition key takes."""
Row = dict[str, Any]


def changes(count: int, changed: int) -> Iterator[Row]:
    """Measure changes of different members' scores by 1 to 100, and how many per second the hottest key takes."""
    scores = shapes.points(count)
    names = [population.member(number) for number in Random(1).sample(range(count), changed)]
    truth = Sorted(scores)
    for batch in (1, 100):
        ready = ShapedPipeline(population.BOARDS, scores, list(map(shapes.number_of, names)))
        cost = ready.cost(names, batch, (1, 100))
        yield _change_row(f"{OURS}, events in batches of {batch}", cost, changed)
    for kind in RIVALS:
        rng = Random(1)
        client = Engine()
        place(client, scores, shapes.HIGHEST)
        meter = Meter(client)
        rival: Rival = kind(meter, shapes.HIGHEST)
        for name in names:
            rival.change(name, truth.scores[name], truth.scores[name] + rng.randint(1, 100))
        yield _change_row(rival.name, meter.snapshot(), changed)


def day_changes(count: int, changed: int) -> Iterator[Row]:
    """Measure the same for a sum of the last seven days alone; the other method's list has no ranks."""
    scores = shapes.points(count)
    names = [population.member(number) for number in Random(1).sample(range(count), changed)]
    definition = population.BOARDS.replace('["all"]', f'["all", "last-{DAYS}-days"]')
    costs = []
    for families in (definition, population.BOARDS):
        ready = ShapedPipeline(families, scores, list(map(shapes.number_of, names)))
        costs.append(ready.cost(names, 100, (1, 100)))
    yield {
        "method": f"{OURS}, what `last-{DAYS}-days` adds to `all`",
        "write_units": round((costs[0].total.write - costs[1].total.write) / changed, 2),
        "read_units": round((costs[0].total.read - costs[1].total.read) / changed, 2),
    }
    client = Engine()
    DaySums.create(client)
    meter = Meter(client)
    sums = DaySums(meter, DAYS)
    for day in range(DAYS + 1):
        sums.list_of(day).create()
    rng = Random(1)
    for name in names:  # points of the day before
        sums.add(name, 0, rng.randint(1, 100))
    before = meter.snapshot()
    for name in names:
        sums.add(name, 1, rng.randint(1, 100))
    total = (meter.snapshot() - before).total
    yield {
        "method": f"{sums.name}, N = {DAYS}",
        "write_units": round(total.write / changed, 2),
        "read_units": round(total.read / changed, 2),
    }


def _change_row(name: str, cost: Snapshot, changed: int) -> Row:
    (table, _), hottest = max(cost.targets.items(), key=lambda one: one[1].write)
    row = {
        "method": name,
        "write_units": round(cost.total.write / changed, 2),
        "read_units": round(cost.total.read / changed, 2),
        "events_per_second": round(LIMIT * changed / hottest.write),
        "hottest": table,
    }
    print(row, flush=True)
    return row
