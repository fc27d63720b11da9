"""How reads grow with members, events with batches, windows and steps, and the hottest key with shards and lanes.

`python -m benchmarks.measure.comparison.curves` writes `benchmarks/results/curves.json` and its tables in
`docs/performance.md`. Every
answer is compared with the sorted list on the way.
"""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any, Final

from benchmarks.harness import pipeline, population, shapes
from benchmarks.harness.questions import Asked, Board, Questions
from benchmarks.harness.results_file import output
from benchmarks.harness.shapes import SHAPES, Sorted
from benchmarks.measure.comparison.compared import seconds
from benchmarks.measure.units import pacing
from benchmarks.pages.plots import plot
from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.domain.errors import RequestError
from standings.read.query import Query
from standings.read.rank_numbering import MAX_EQUALS
from standings.read.reader import Reader

PAGE: Final = "docs/performance.md"
COMMAND: Final = "make bench"
SIZES: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
RANK: Final = "a rank"
TOP: Final = "top 100"
AROUND: Final = "around me"
DEEP: Final = "100 at the middle"
ON: Final = "100 after them, by cursor"
READS: Final = (RANK, TOP, AROUND, DEEP, ON)
ASKED: Final = 40
RADIUS: Final = 5
PAGE_SIZE: Final = 100
MEMBERS: Final = 200_000
EVENTS: Final = 1_000
FOR_KEYS: Final = 2_000
"""Events that are spread over the index's shards."""
BATCHES: Final = (1, 10, 100, 500)
STEPS: Final = ((1, 100), (100, 2_500), (100_000, 2_500_000))
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
TOGETHER: Final = 100
"""Records in a projector's batch: one by one, where the tiers are written most, and as they come on a busy board."""
LIMIT: Final = 1_000
"""Write units a second that one partition key takes."""

Row = dict[str, Any]


# ---- reads


def reads(shape: str, count: int) -> Iterator[Row]:
    """The reads of a board of that shape; its tiers count all members, and what is read of its list is there."""
    scores = SHAPES[shape](count)
    truth = Sorted(scores)
    board = Board(population.boards())
    middle = count // 2
    members = sorted({number * (count - 1) // (ASKED - 1) for number in range(ASKED)} | {middle})
    first = truth.ahead(scores[middle - 1])
    is_deep = middle - 1 - first <= MAX_EQUALS
    listed: set[int] = set(range(min(count, PAGE_SIZE + 2)))
    for number in members:
        listed |= set(range(max(0, number - RADIUS - 2), min(count, number + RADIUS + 3)))
    listed |= set(range(first if is_deep else middle - 1, min(count, middle + 2 * PAGE_SIZE + RADIUS + 3)))
    shapes.place(board.client, board.ranking("all"), scores, listed)
    board.query.page(board.about("all"), limit=1, cursor=None)  # reads the board's record
    ask = Questions(board, truth, Random(1))
    names = [population.member(number) for number in members]
    name = population.member(middle)
    asked: dict[str, list[Asked]] = {
        RANK: [ask.rank(one) for one in names],
        TOP: [ask.page(1, PAGE_SIZE)],
        AROUND: [ask.around(one, RADIUS) for one in names],
        DEEP: [ask.at(middle, PAGE_SIZE)] if is_deep else [],
        ON: [_after(board, ask, name, middle + 1)],
    }
    if not is_deep:
        _refused(board, middle)
    times = _times(board, name, middle, is_deep=is_deep)
    for read, questions in asked.items():
        found: Row = {"shape": shape, "members": count, "read": read}
        if questions:
            row = board.row(read, questions)
            found |= {key: row[key] for key in ("asked", "read_units_mean", "read_units_most", "round_trips_most")}
            found["time_per_get_item"] = times[read]
        print(found, flush=True)
        yield found


def _after(board: Board, ask: Questions, name: str, position: int) -> Asked:
    """The page that follows a member and its neighbours."""
    around = board.query.page_around(board.about("all"), member=name, radius=RADIUS)
    return ask.page(position + RADIUS + 1, PAGE_SIZE, around["next"])


def _refused(board: Board, position: int) -> None:
    """AssertionError unless a position far within a group of equals is refused."""
    try:
        board.query.page_at(board.about("all"), rank=position, limit=PAGE_SIZE)
    except RequestError:
        return
    raise AssertionError(f"position {position} was not refused")


def _times(board: Board, name: str, middle: int, *, is_deep: bool) -> dict[str, float]:
    """How long each read takes in this process, in GetItems of the same engine."""
    query = Query(Reader(board.boards, DynamoRankingsReader(board.client, "Rankings", "Scores", pacing()), pacing()))  # type: ignore[arg-type]
    about = query.asked(board.name, "points", "all")
    after = query.page_around(about, member=name, radius=RADIUS)["next"]
    do: dict[str, Callable[[], Any]] = {
        RANK: lambda: query.rank(about, member=name),
        TOP: lambda: query.page(about, limit=PAGE_SIZE, cursor=None),
        AROUND: lambda: query.page_around(about, member=name, radius=RADIUS),
        ON: lambda: query.page(about, limit=PAGE_SIZE, cursor=after),
    }
    if is_deep:
        do[DEEP] = lambda: query.page_at(about, rank=middle, limit=PAGE_SIZE)
    key = {"pk": {"S": f"{board.ranking('all').key}#{name}"}}
    item = seconds(lambda: board.client.get_item(TableName="Rankings", Key=key), 200)
    return {read: round(seconds(one, 30) / item, 1) for read, one in do.items()}


# ---- events


def events(count: int, members: int) -> Iterator[Row]:
    """Units of an event, each another member's: one thing varies, the others are as in the first row."""
    for batch in BATCHES:
        yield _event_row("batch", batch, STEPS[0], WINDOWS[0], count, members)
    for steps in STEPS[1:]:
        yield _event_row("step", BATCHES[-1], steps, WINDOWS[0], count, members)
    for windows in WINDOWS[1:]:
        yield _event_row("windows", BATCHES[-1], STEPS[0], windows, count, members)


def _event_row(
    varied: str, batch: int, steps: tuple[int, int], windows: tuple[str, ...], count: int, members: int
) -> Row:
    names = ", ".join(f'"{window}"' for window in windows)
    # Where steps are large, so are scores.
    scores = (shapes.lognormal if steps[0] > 1_000 else shapes.points)(members)
    chosen = Random(1).sample(range(members), count)
    ready = pipeline.Pipeline(population.BOARDS.replace('"all"', names), scores, chosen)
    span = pipeline.counted(ready, [population.member(number) for number in chosen], batch, steps)
    row = {
        "varied": varied,
        "batch": batch,
        "steps": list(steps),
        "windows": list(windows),
        "events": count,
        "write_units": round(span.total.write / count, 2),
        "read_units": round(span.total.read / count, 2),
        "by_table": {table: round(units.write / count, 2) for table, units in sorted(span.tables.items())},
    }
    print(row, flush=True)
    return row


def ceilings(count: int, members: int) -> Iterator[Row]:
    """Events a second at which the first partition key takes 1,000 write units, each event another member's."""
    scores = shapes.points(members)
    chosen = Random(1).sample(range(members), count)
    names = [population.member(number) for number in chosen]
    for batch, most in ((ALONE, LANES[-1]), (TOGETHER, 1)):
        for lanes in (one for one in LANES if one <= most):
            for shards in SHARDS:
                definition = population.BOARDS.replace('"*"]\n', f'"*"]\nshards = {shards}\n')
                ready = pipeline.Pipeline(definition, scores, chosen, lanes)
                span = pipeline.counted(ready, names, batch, STEPS[0])
                (table, key), units = max(span.targets.items(), key=lambda one: one[1].write)
                row = {
                    "batch": batch,
                    "lanes": lanes,
                    "shards": shards,
                    "events_per_second": round(LIMIT * count / units.write),
                    "first": "index" if "places" in table else "tier" if "/" in key else table,
                    "write_units": round(span.total.write / count, 2),
                }
                print(row, flush=True)
                yield row


def measure(*, small: bool) -> Row:
    """Everything that is in the result."""
    sizes = SIZES[:2] if small else SIZES
    found: Row = {"reads": []}
    for shape in SHAPES:
        for count in sizes:
            found["reads"] += reads(shape, count)
            gc.collect()
    members = 10_000 if small else MEMBERS
    found["members"] = members
    found["events"] = list(events(100 if small else EVENTS, members))
    found["ceilings"] = list(ceilings(100 if small else FOR_KEYS, members))
    return found


# ---- tables and pictures


def of_reads(result: Row) -> Iterator[str]:
    """Read units at most, round trips, and the time, of each read."""
    yield f"| scores | members | {' | '.join(READS)} |"
    yield "|---" * (len(READS) + 2) + "|"
    rows = {(row["shape"], row["members"], row["read"]): row for row in result["reads"]}
    for shape, count in dict.fromkeys((shape, count) for shape, count, _ in rows):
        cells = (rows[shape, count, read] for read in READS)
        yield f"| {shape} | {count:,} | {' | '.join(map(_read_cell, cells))} |"


def _read_cell(row: Row) -> str:
    if "asked" not in row:
        return "refused"
    return f"{row['read_units_most']:g} ({row['round_trips_most']}), {row['time_per_get_item']:,.0f} ×"


def flatness(result: Mapping[str, Any]) -> dict[str, float]:
    """Read units of a rank at the most members over those at 10,000, by shape."""
    rows = {(row["shape"], row["members"]): row for row in result["reads"] if row["read"] == RANK}
    most = max(count for _, count in rows)
    return {
        shape: max(
            rows[shape, most][kind] / rows[shape, SIZES[1]][kind] for kind in ("read_units_mean", "read_units_most")
        )
        for shape in dict.fromkeys(shape for shape, _ in rows)
    }


def of_flatness(result: Row) -> Iterator[str]:
    """The same in one line for each shape."""
    most = max(row["members"] for row in result["reads"])
    yield f"| scores | a rank at {most:,} members ÷ at {SIZES[1]:,}, in read units |"
    yield "|---|---|"
    for shape, share in flatness(result).items():
        yield f"| {shape} | {share:.2f} |"


def of_events(result: Row) -> Iterator[str]:
    """What an event costs."""
    yield "| varied | batch | step | windows | write units | of them tiers and entries | index | read units |"
    yield "|---" * 8 + "|"
    for row in result["events"]:
        by = row["by_table"]
        yield (
            f"| {row['varied']} | {row['batch']} | {row['steps'][0]:,}–{row['steps'][1]:,} | "
            f"{', '.join(f'`{one}`' for one in row['windows'])} | {row['write_units']:g} | {by['Rankings']:g} | "
            f"{by['Rankings/places']:g} | {row['read_units']:g} |"
        )


def of_ceilings(result: Row) -> Iterator[str]:
    """Events a second until a key is hot, and which key."""
    yield f"| records in a batch | lanes | {' | '.join(f'{one} shards' for one in SHARDS)} |".replace(
        " 1 shards", " 1 shard"
    )
    yield "|---" * (len(SHARDS) + 2) + "|"
    rows = {(row["batch"], row["lanes"], row["shards"]): row for row in result["ceilings"]}
    for batch, lanes in dict.fromkeys((batch, lanes) for batch, lanes, _ in rows):
        cells = (rows[batch, lanes, shards] for shards in SHARDS)
        shown = " | ".join(f"{cell['events_per_second']:,} ({cell['first']})" for cell in cells)
        yield f"| {batch} | {lanes} | {shown} |"


TABLES: Final[dict[str, Callable[[Row], Iterator[str]]]] = {
    "reads": of_reads,
    "flat": of_flatness,
    "events": of_events,
    "ceilings": of_ceilings,
}


def pictures(result: Row) -> dict[str, str]:
    """The plots, by path."""
    ranks = {
        shape: [
            (row["members"], row["read_units_mean"])
            for row in result["reads"]
            if row["shape"] == shape and row["read"] == RANK
        ]
        for shape in SHAPES
    }
    reads = {
        read: [
            (row["members"], row["read_units_most"])
            for row in result["reads"]
            if row["shape"] == "log-normal" and row["read"] == read
        ]
        for read in READS
    }
    ceiling: dict[str, list[tuple[float, float]]] = {}
    for row in result["ceilings"]:
        name = f"batches of {row['batch']}, {row['lanes']} lane{'s' if row['lanes'] > 1 else ''}"
        ceiling.setdefault(name, []).append((row["shards"], row["events_per_second"]))
    return {
        "docs/pictures/rank-shapes.svg": plot("A rank, by how scores are spread", "members", "read units", ranks),
        "docs/pictures/reads.svg": plot("Reads of log-normal scores", "members", "read units", reads),
        "docs/pictures/ceilings.svg": plot(
            "Events a second when the first key takes 1,000 write units", "shards of the index", "events/s", ceiling
        ),
    }


def main(arguments: list[str]) -> int:
    """Measure, keep the result and bring the page up to date."""
    out = output(arguments, __doc__)
    gc.disable()  # a million rows are looked through again and again for cycles that are not there
    result = measure(small=out.small)
    out.publish("curves", result, PAGE, COMMAND, TABLES, pictures(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
