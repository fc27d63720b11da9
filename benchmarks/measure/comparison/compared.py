"""Standings beside other ways to rank, in the same run: what a rank, a change and a job cost, and how right ranks are.

`python -m benchmarks.measure.comparison.compared` writes `benchmarks/results/compared.json` and its tables in
`docs/performance.md`. The
others (`benchmarks/rivals`) run on the engine and the meter that ours does, a sorted set on a Redis of its own.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from random import Random
from statistics import mean, median
from typing import Any, Final

from benchmarks.harness import pipeline, population, shapes
from benchmarks.harness.meter import Meter, Snapshot
from benchmarks.harness.questions import Board, Questions
from benchmarks.harness.results_file import output
from benchmarks.harness.shapes import SHAPES, Sorted
from benchmarks.measure import staleness
from benchmarks.pages.plots import plot
from benchmarks.rivals.board import OURS, RIVALS, Rival, highest, ours, place
from benchmarks.rivals.counting import CountAbove, FixedTiers
from benchmarks.rivals.lists import DaySums, ScatterGather
from benchmarks.rivals.sorted_set import SortedSet
from benchmarks.rivals.tree import CountTree
from standings.domain.boards.boards_toml import parse_boards
from tests.support.aws import redis_server
from tests.support.dynamodb.engine import Engine

PAGE: Final = "docs/performance.md"
COMMAND: Final = "make bench"
PUBLISHED: Final = "fixed tiers, the rule as published"
SHAPE: Final = "log-normal"
SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
OTHERS: Final = 100_000
"""Members of the boards of other shapes."""
ACCURACY: Final = 10_000
ASKED: Final = 100
FEW: Final = 10
"""Members asked for on large boards, where the answers are checked and timed."""
CHANGES: Final = 400
SHARDS: Final = 10
DAYS: Final = 7
LIMIT: Final = 1_000
"""Write units a second that one partition key takes."""
Row = dict[str, Any]


def _spread(count: int, asked: int) -> list[int]:
    """Members from the first to the last, the median in the middle."""
    return sorted({*(number * (count - 1) // (asked - 1) for number in range(asked)), count // 2})


# ---- how right


def accuracy(shape: str, count: int, asked_for: int) -> Iterator[Row]:
    """Ranks that are asked for right after a refresh, compared with the sorted list."""
    scores = SHAPES[shape](count)
    truth = Sorted(scores)
    client = Engine()
    place(client, scores, highest(shape))
    board = Board(population.boards())
    shapes.place(board.client, board.ranking("all"), scores, range(count))
    names = [population.member(number) for number in _spread(count, asked_for)]
    tiers = FixedTiers(client, highest(shape))
    asked: list[tuple[str, bool, Callable[[str], int]]] = [(OURS, True, ours(board.client))]
    for kind in RIVALS:
        rival = tiers if kind is FixedTiers else kind(client, highest(shape))
        rival.refresh()
        asked.append((rival.name, rival.exact, rival.rank))
    asked.append((PUBLISHED, False, tiers.published_rank))
    for name, exact, rank in asked:
        errors = [abs(rank(member) - truth.rank(member)) for member in names]
        if exact and any(errors):
            raise AssertionError(f"{name} is wrong of {shape}")
        wrong = sum(map(bool, errors)) / len(errors)
        yield {
            "method": name,
            "shape": shape,
            "members": count,
            "wrong_share": round(wrong, 3),
            "error_mean": round(mean(errors), 1),
            "error_most": max(errors),
        }


# ---- what a rank costs


def ranks(shape: str, count: int) -> Iterator[Row]:
    """What the median member's rank costs, and what a refresh does; some more answers are checked on the way."""
    scores = SHAPES[shape](count)
    truth = Sorted(scores)
    board = Board(population.boards())
    client = board.client
    middle = population.member(count // 2)
    asked = _spread(count, FEW)
    shapes.place(client, board.ranking("all"), scores, asked)
    place(client, scores, highest(shape))
    item = seconds(lambda: client.get_item(TableName="Members", Key={"member": {"S": middle}}), 200)
    meter = Meter(client)
    questions = Questions(board, truth, Random(1))
    for number in asked:
        board.row("rank", [questions.rank(population.member(number))])
    rank, raw = ours(meter), ours(client)
    raw(middle)  # reads the board's record
    rank(middle)
    yield _rank_row(
        OURS, shape, count, meter, lambda: rank(middle), truth.rank(middle), seconds(lambda: raw(middle), 50) / item
    )
    for kind in RIVALS:
        before = meter.snapshot()
        rival: Rival = kind(meter, highest(shape))
        rival.refresh()
        job = (meter.snapshot() - before).total
        bare: Rival = kind(client, highest(shape))
        times = 3 if kind in {CountAbove, FixedTiers} else 50
        share = seconds(partial(bare.rank, middle), times) / item
        right = truth.rank(middle) if rival.exact else None
        row = _rank_row(rival.name, shape, count, meter, partial(rival.rank, middle), right, share)
        if kind in {FixedTiers, CountTree}:
            for number in asked[:: 1 if kind is CountTree else 4]:
                if bare.rank(name := population.member(number)) != truth.rank(name):
                    raise AssertionError(f"{rival.name}: {name} of {count} {shape}")
        yield {**row, "refresh_read_units": job.read, "refresh_write_units": job.write}


def _rank_row(
    name: str, shape: str, count: int, meter: Meter, ask: Callable[[], int], right: int | None, share: float
) -> Row:
    before = meter.snapshot()
    answer = ask()
    cost = (meter.snapshot() - before).total
    if right is not None and answer != right:
        raise AssertionError(f"{name}: {answer} is not {right} of {count} {shape}")
    row = {
        "method": name,
        "shape": shape,
        "members": count,
        "read_units": cost.read,
        "requests": cost.round_trips,
        "time_per_get_item": round(share, 1),
    }
    print(row, flush=True)
    return row


def seconds(do: Callable[[], Any], times: int) -> float:
    """The median time of doing something."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        do()
        taken.append(time.perf_counter() - began)
    return median(taken)


# ---- what a change costs


def changes(count: int, changed: int) -> Iterator[Row]:
    """Scores that change by 1 to 100, each another member's: units, and how many a second the hottest key bears."""
    scores = shapes.points(count)
    names = [population.member(number) for number in Random(1).sample(range(count), changed)]
    truth = Sorted(scores)
    for batch in (1, 100):
        ready = pipeline.Pipeline(population.BOARDS, scores, list(map(shapes.number_of, names)))
        span = pipeline.counted(ready, names, batch, (1, 100))
        yield _change_row(f"{OURS}, events in batches of {batch}", span, changed)
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
    """The same for a sum of the last seven days alone, its list without ranks where it is not ours."""
    scores = shapes.points(count)
    names = [population.member(number) for number in Random(1).sample(range(count), changed)]
    definition = population.BOARDS.replace('["all"]', f'["all", "last-{DAYS}-days"]')
    spans = []
    for families in (definition, population.BOARDS):
        ready = pipeline.Pipeline(families, scores, list(map(shapes.number_of, names)))
        spans.append(pipeline.counted(ready, names, 100, (1, 100)))
    yield {
        "method": f"{OURS}, what `last-{DAYS}-days` adds to `all`",
        "write_units": round((spans[0].total.write - spans[1].total.write) / changed, 2),
        "read_units": round((spans[0].total.read - spans[1].total.read) / changed, 2),
    }
    client = Engine()
    DaySums.create(client)
    meter = Meter(client)
    sums = DaySums(meter, DAYS)
    for day in range(DAYS + 1):
        sums.list_of(day).create()
    rng = Random(1)
    for name in names:  # yesterday's
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


def _change_row(name: str, span: Snapshot, changed: int) -> Row:
    (table, _), hottest = max(span.targets.items(), key=lambda one: one[1].write)
    row = {
        "method": name,
        "write_units": round(span.total.write / changed, 2),
        "read_units": round(span.total.read / changed, 2),
        "events_per_second": round(LIMIT * changed / hottest.write),
        "hottest": table,
    }
    print(row, flush=True)
    return row


# ---- lists


def tops(count: int, sizes: Sequence[int] = (100, 1_000)) -> Iterator[Row]:
    """Top N of an index in ten shards: ours, and N from each of them."""
    scores = SHAPES[SHAPE](count)
    truth = Sorted(scores)
    board = Board(parse_boards(population.BOARDS.replace('"*"]\n', f'"*"]\nshards = {SHARDS}\n')))
    listed = range(min(count, 2 * SHARDS * sizes[-1]))
    shapes.place(board.client, board.ranking("all"), scores, listed)
    board.query.page(board.about("all"), limit=1, cursor=None)  # reads the board's record
    ask = Questions(board, truth, Random(1))
    meter = Meter(board.client)
    naive = ScatterGather(meter, SHARDS)
    naive.members.create()
    naive.members.place(board.client, scores, len(listed))
    for size in sizes:
        row = board.row("top", [ask.page(1, size)])
        before = meter.snapshot()
        if naive.top(size) != [(name, score) for _, name, score in truth.lines(1, size)]:
            raise AssertionError(f"{naive.name}: top {size}")
        cost = (meter.snapshot() - before).total
        yield {
            "top": size,
            "shards": SHARDS,
            "members": count,
            "read_units": row["read_units_most"],
            "entries": row["entries_most"],
            "naive_read_units": cost.read,
            "naive_entries": size * SHARDS,
        }


# ---- Redis


def _asks(rival: SortedSet, count: int) -> dict[str, Callable[[], Any]]:
    middle = population.member(count // 2)
    return {
        "a rank": lambda: rival.rank(middle),
        "top 100": lambda: rival.page(1, 100),
        "around me": lambda: rival.around(middle, 5),
        "100 at the middle": lambda: rival.page(count // 2, 100),
    }


def redis_rows(sizes: Iterable[int]) -> Iterator[Row]:
    """The same questions of a sorted set; times as a ratio to one `GET` of the same server."""
    with redis_server.started() as client:
        for count in sizes:
            client.flushall()
            truth = Sorted(scores := SHAPES[SHAPE](count))
            rival = SortedSet(client)
            rival.place(scores)
            client.set("one", "1")
            for number in _spread(count, ASKED):
                if rival.rank(name := population.member(number)) != truth.rank(name):
                    raise AssertionError(f"{rival.name}: {name} of {count}")
            one = seconds(lambda: client.get("one"), 500)
            used = int(client.info("memory")["used_memory"])
            times = {ask: round(seconds(do, 200) / one, 1) for ask, do in _asks(rival, count).items()}
            row = {"members": count, "bytes_per_member": round(used / count), "time_per_get": times}
            print(row, flush=True)
            yield row


def measure(*, small: bool) -> Row:
    """Everything that is in the result."""
    reason = redis_server.unavailable()
    if reason:
        raise SystemExit(f"compared: {reason}")
    sizes = SIZES[:2] if small else SIZES
    boards = [(SHAPE, count) for count in sizes] + [
        (shape, sizes[-1] if small else OTHERS) for shape in SHAPES if shape != SHAPE
    ]
    found: Row = {"redis": list(redis_rows(sizes if small else (*SIZES, 10_000_000)))}
    found["ranks"] = []
    for shape, count in boards:
        found["ranks"] += ranks(shape, count)
        gc.collect()
    return {
        **found,
        "accuracy": [
            row for shape in SHAPES for row in accuracy(shape, *((1_000, 20) if small else (ACCURACY, ASKED)))
        ],
        "changes": list(changes(ACCURACY, 100 if small else CHANGES)),
        "days": list(day_changes(ACCURACY, 100 if small else CHANGES)),
        "tops": list(tops(sizes[-1])),
        "staleness": staleness.measure(small=small),
    }


# ---- tables and pictures


def of_ranks(result: Row) -> Iterator[str]:
    """The median member's rank, by method, shape and members."""
    yield "| scores | members | method | read units | requests | time | refresh: read units | write units |"
    yield "|---" * 8 + "|"
    for row in result["ranks"]:
        job = (f"{row.get(f'refresh_{kind}_units', 0):,g}" for kind in ("read", "write"))
        yield (
            f"| {row['shape']} | {row['members']:,} | {row['method']} | {row['read_units']:,g} | {row['requests']:,} | "
            f"{row['time_per_get_item']:,g} | {' | '.join('' if one == '0' else one for one in job)} |"
        )


def of_accuracy(result: Row) -> Iterator[str]:
    """How many ranks are wrong where nothing has moved since the refresh."""
    yield f"| method | {' | '.join(SHAPES)} |"
    yield "|---" * (len(SHAPES) + 1) + "|"
    rows = {(row["method"], row["shape"]): row for row in result["accuracy"]}
    for method in dict.fromkeys(method for method, _ in rows):
        cells = (rows[method, shape] for shape in SHAPES)
        shown = (
            f"{100 * cell['wrong_share']:g} %, by {cell['error_mean']:,g}" if cell["error_most"] else "0 %"
            for cell in cells
        )
        yield f"| {method} | {' | '.join(shown)} |"


def of_changes(result: Row) -> Iterator[str]:
    """What a change of score costs, and the ceiling of the hottest key."""
    yield "| method | write units | read units | events a second at the hottest key | which is in |"
    yield "|---" * 5 + "|"
    for row in result["changes"]:
        yield (
            f"| {row['method']} | {row['write_units']:g} | {row['read_units']:g} | {row['events_per_second']:,} | "
            f"{row['hottest']} |"
        )


def of_days(result: Row) -> Iterator[str]:
    """What a sum of the last days costs an event."""
    yield "| method | write units | read units |"
    yield "|---" * 3 + "|"
    for row in result["days"]:
        yield f"| {row['method']} | {row['write_units']:g} | {row['read_units']:g} |"


def of_tops(result: Row) -> Iterator[str]:
    """Top N of ten shards."""
    yield f"| top N of {SHARDS} shards | members | {OURS}: read units | entries | N from each: read units | entries |"
    yield "|---" * 6 + "|"
    for row in result["tops"]:
        yield (
            f"| {row['top']:,} | {row['members']:,} | {row['read_units']:g} | {row['entries']:,} | "
            f"{row['naive_read_units']:g} | {row['naive_entries']:,} |"
        )


def of_redis(result: Row) -> Iterator[str]:
    """A sorted set's times."""
    asks = list(result["redis"][0]["time_per_get"])
    yield f"| members | {' | '.join(asks)} | bytes of memory for each member |"
    yield "|---" * (len(asks) + 2) + "|"
    for row in result["redis"]:
        times = " | ".join(f"{row['time_per_get'][ask]:g}" for ask in asks)
        yield f"| {row['members']:,} | {times} | {row['bytes_per_member']} |"


TABLES: Final[dict[str, Callable[[Row], Iterator[str]]]] = {
    "ranks": of_ranks,
    "accuracy": of_accuracy,
    "changes": of_changes,
    "days": of_days,
    "tops": of_tops,
    "staleness": staleness.table,
    "redis": of_redis,
}


def pictures(result: Row) -> dict[str, str]:
    """The plots, by path."""
    by_method: dict[str, list[tuple[float, float]]] = {}
    for row in result["ranks"]:
        if row["shape"] == SHAPE:
            by_method.setdefault(row["method"], []).append((row["members"], row["read_units"]))
    return {
        "docs/pictures/rank-units.svg": plot(
            "Read units of the median member's rank, log-normal scores", "members", "read units", by_method
        ),
        "docs/pictures/staleness.svg": plot(
            "Mean error of ranks of any members, while events flow",
            "seconds; jobs run at 0, 60 and 120",
            "places",
            staleness.lines(result),
        ),
    }


def main(arguments: list[str]) -> int:
    """Measure, keep the result and bring the page up to date."""
    out = output(arguments, __doc__)
    gc.disable()  # a million rows are looked through again and again for cycles that are not there
    result = measure(small=out.small)
    out.publish("compared", result, PAGE, COMMAND, TABLES, pictures(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
