"""What ranks and events cost: read and write units and round trips, counted over the real requests.

`make units` (or `python -m benchmarks.measure.units`) writes `benchmarks/results/units.json` and the table in the
README.
"""

import sys
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from benchmarks.harness import population
from benchmarks.harness.pipeline import Pipeline, event
from benchmarks.harness.questions import Board, Questions
from benchmarks.harness.results_file import output
from benchmarks.harness.truth import Truth
from standings.domain.boards.boards_toml import parse_boards
from standings.runtime.environment import BOARDS_FILE

PAGE: Final = "README.md"
SIZES: Final = (1_000, 10_000, 100_000)
MEMBERS: Final = 200_000
BATCH: Final = 500
BATCHES: Final = 10
SAMPLE: Final = 200
"""Members whose ranks are read."""


def reads(members: int, seed: int) -> dict[str, Any]:
    """Measure a member's rank and the top 100 on a board with so many members."""
    board = Board(population.boards())
    scores = population.lognormal(Random(seed), members)
    population.place_members(board.client, board.ranking("all"), scores)
    board.read_record()
    ask = Questions(board, Truth(scores), Random(seed))
    rank = board.row("rank", map(ask.rank, population.sample(Random(seed), scores, SAMPLE)))
    top = board.row("top 100", [ask.page(1)])
    return {
        "members": members,
        "rank_read_units_mean": rank["read_units_mean"],
        "rank_read_units_most": rank["read_units_most"],
        "rank_round_trips_most": rank["requests_most"],
        "top_100_read_units": top["read_units_most"],
    }


def writes(seed: int, definition: str, board: str, batches: int = BATCHES) -> dict[str, Any]:
    """Measure the units of an event, writer to index, in batches of different members of a large board."""
    rng = Random(seed)
    pipeline = Pipeline(parse_boards(definition))
    scores = population.lognormal(Random(seed), MEMBERS)
    population.place_members(pipeline.client, population.ranking_of(population.family()), scores)
    chosen = population.sample(rng, scores, BATCH * batches)
    parts = [chosen[start : start + BATCH] for start in range(0, len(chosen), BATCH)]
    # The members' items get the scores that the members are ranked with.
    for part in parts:
        pipeline.write(event(f"before-{name}", board, name, {"points": scores[name]}) for name in part)
    pipeline.project(BATCH)
    before = pipeline.meter.snapshot()
    for part in parts:
        pipeline.write(event(f"event-{name}", board, name, {"points": rng.randint(1, 100)}) for name in part)
        pipeline.project(BATCH)
    cost = pipeline.meter.snapshot() - before
    events = len(chosen)
    return {
        "events": events,
        "write_units_per_event": round(cost.total.write / events, 2),
        "read_units_per_event": round(cost.total.read / events, 2),
        "by_table": {table: round(units.write / events, 2) for table, units in sorted(cost.tables.items())},
    }


def table(result: dict[str, Any]) -> Iterator[str]:
    """Return the lines of the README's table."""
    yield "| what | members | units |"
    yield "|---|---|---|"
    for one in result["reads"]:
        yield (
            f"| a member's rank, score, percentile and the total | {one['members']:,} | "
            f"{one['rank_read_units_most']} read units at most, {one['rank_round_trips_most']} round trips |"
        )
    for one in result["reads"]:
        yield f"| the top 100 with ranks and total | {one['members']:,} | {one['top_100_read_units']} read units |"
    for name, one in result["writes"].items():
        yield f"| an event, {name} | {MEMBERS:,} | {one['write_units_per_event']} write units |"


def measure(*, small: bool) -> dict[str, Any]:
    """Return the whole result."""
    shipped = BOARDS_FILE.read_text(encoding="utf-8")
    batches = 1 if small else BATCHES
    return {
        "reads": [reads(size, seed=1) for size in (SIZES[:2] if small else SIZES)],
        "writes": {
            "`all` alone": writes(2, population.BOARDS, population.BOARD, batches),
            "`all`, `day` and `last-7-days`": writes(3, shipped, population.BOARD, batches),
        },
    }


def main(arguments: list[str]) -> int:
    """Measure, write the result and update the README."""
    out = output(arguments, __doc__)
    result = measure(small=out.small)
    out.publish("units", result, PAGE, "make units", {"units": table})
    print("\n".join(table(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
