"""How reads grow with the members of a board, and how many events a second the hottest key takes.

`python -m benchmarks curves` writes `benchmarks/results/curves.json` and tables of `docs/performance.md`. Every answer
is compared with the sorted list.
"""

import gc
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, Final

from benchmarks.harness import population, shapes
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.pipeline import ShapedPipeline
from benchmarks.harness.questions import Board, Question, Questions
from benchmarks.harness.results_file import Output
from benchmarks.harness.shapes import SHAPES
from benchmarks.harness.truth import ByName, MemberTruth
from benchmarks.pages.tables import Result, crossed
from standings.domain.errors import RequestError
from standings.read import pages
from standings.read.reader import Limits

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
BASE: Final = 10_000
"""Members of the board that the largest one is compared with."""
RANK: Final = "a rank"
TOP: Final = "top 100"
AROUND: Final = "around me"
DEEP: Final = "100 at the middle"
ON: Final = "100 after them, by cursor"
READS: Final = (RANK, TOP, AROUND, DEEP, ON)
SAMPLE: Final = 40
RADIUS: Final = 5
PAGE_SIZE: Final = 100
MEMBERS: Final = 200_000
EVENTS: Final = 2_000
"""Events of a ceiling; they are spread over the shards of the index."""
AMOUNTS: Final = (1, 100)
SHARDS: Final = (1, 2, 4, 8)
BATCHES: Final = (1, 100)
"""Records in a projector's batch: one, with which the tiers are written most often, and those of a busy board."""
LIMIT: Final = 1_000
"""Write units per second that one partition key takes."""
Row = dict[str, Any]


def reads(shape: str, count: int) -> Iterator[Row]:
    """Measure the reads of a board of a shape; its tiers count all members, its list has the entries that are read."""
    scores = SHAPES[shape](count)
    truth = MemberTruth(scores)
    board = Board(population.boards())
    middle = count // 2
    members = sorted({number * (count - 1) // (SAMPLE - 1) for number in range(SAMPLE)} | {middle})
    first = truth.ahead(scores[middle - 1])
    is_deep = middle - 1 - first <= Limits().equals
    listed: set[int] = set(range(min(count, PAGE_SIZE + 2)))
    for number in members:
        listed |= set(range(max(0, number - RADIUS - 2), min(count, number + RADIUS + 3)))
    listed |= set(range(first if is_deep else middle - 1, min(count, middle + 2 * PAGE_SIZE + RADIUS + 3)))
    entries = list(map(population.member, listed))
    population.place_members(board.client, board.ranking("all"), ByName(scores), entries=entries)
    board.read_record()
    ask = Questions(board, truth, Random(1))
    names = [population.member(number) for number in members]
    around = pages.page_around(board.about("all"), member=population.member(middle), radius=RADIUS)
    questions: dict[str, list[Question]] = {
        RANK: [ask.rank(one) for one in names],
        TOP: [ask.page(1, PAGE_SIZE)],
        AROUND: [ask.around(one, RADIUS) for one in names],
        DEEP: [ask.at(middle, PAGE_SIZE)] if is_deep else [],
        ON: [ask.page(middle + RADIUS + 2, PAGE_SIZE, around["next"])],
    }
    if not is_deep:
        _check_refused(board, middle)
    for read, several in questions.items():
        result: Row = {"shape": shape, "members": count, "read": read}
        if several:
            row = board.row(read, several)
            result |= {key: row[key] for key in ("asked", "read_units_mean", "read_units_most", "round_trips_most")}
        print(result, flush=True)
        yield result


def _check_refused(board: Board, position: int) -> None:
    """Check that a position deep in a group of equals is refused."""
    try:
        pages.page_at(board.about("all"), rank=position, limit=PAGE_SIZE)
    except RequestError:
        return
    raise AssertionError(f"expected a refusal of position {position}, got a page")


def ceilings(count: int, members: int) -> Iterator[Row]:
    """Measure the events per second, of different members, at which a partition key takes 1,000 write units."""
    scores = shapes.points(members)
    chosen = Random(1).sample(range(members), count)
    names = [population.member(number) for number in chosen]
    for batch in BATCHES:
        for shards in SHARDS:
            cost = ShapedPipeline(population.sharded(shards), scores, chosen).cost(names, batch, AMOUNTS)
            (table, key), units = max(cost.targets.items(), key=lambda one: one[1].write)
            row = {
                "batch": batch,
                "shards": shards,
                "events_per_second": round(LIMIT * count / units.write),
                "first": "index" if "places" in table else "tier" if "/" in key else table,
                "write_units": round(cost.total.write / count, 2),
            }
            print(row, flush=True)
            yield row


def measure(out: Output) -> Row:
    gc.disable()  # it would search a million rows for cycles again and again
    rows: list[Row] = []
    for shape in SHAPES:
        for count in SIZES[:2] if out.small else SIZES:
            rows += reads(shape, count)
            gc.collect()
    events, members = (100, 10_000) if out.small else (EVENTS, MEMBERS)
    return {"reads": rows, "members": members, "ceilings": list(ceilings(events, members))}


def of_reads(result: Result) -> Iterator[str]:
    def cell(row: Row) -> str:
        return f"{row['read_units_most']:g} ({row['round_trips_most']})" if "asked" in row else "refused"

    return crossed(
        "scores | members",
        ((f"{row['shape']} | {row['members']:,}", row["read"], cell(row)) for row in result["reads"]),
    )


def flatness(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the read units of a rank on the largest board, divided by those at 10,000 members, by shape."""
    rows = {(row["shape"], row["members"]): row for row in result["reads"] if row["read"] == RANK}
    most = max(count for _, count in rows)
    return {
        shape: max(rows[shape, most][kind] / rows[shape, BASE][kind] for kind in ("read_units_mean", "read_units_most"))
        for shape in dict.fromkeys(shape for shape, _ in rows)
    }


def of_flatness(result: Result) -> Iterator[str]:
    most = max(row["members"] for row in result["reads"])
    column = f"a rank at {most:,} members ÷ at {BASE:,}, in read units"
    return crossed("scores", ((shape, column, f"{share:.2f}") for shape, share in flatness(result).items()))


def of_ceilings(result: Result) -> Iterator[str]:
    return crossed(
        "records in a batch",
        (
            (
                str(row["batch"]),
                f"{row['shards']} shard{'s' if row['shards'] > 1 else ''}",
                f"{row['events_per_second']:,} ({row['first']})",
            )
            for row in result["ceilings"]
        ),
    )


BENCHMARK: Final = Benchmark(
    "curves",
    measure,
    {"docs/performance.md": {"reads": of_reads, "flat": of_flatness, "ceilings": of_ceilings}},
)
