"""Lists: the top of a sharded index, ours and N from each shard; and a sorted set of Redis."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any, Final

from benchmarks.harness import population, shapes
from benchmarks.harness.meter import Meter
from benchmarks.harness.questions import Board, Questions
from benchmarks.harness.shapes import SHAPES, Sorted
from benchmarks.harness.timing import median_seconds
from benchmarks.measure.comparison.rank_costs import spread
from benchmarks.rivals.lists import ScatterGather
from benchmarks.rivals.sorted_set import SortedSet
from standings.domain.boards.boards_toml import parse_boards
from tests.support.aws import redis_server

SHAPE: Final = "log-normal"
SAMPLE: Final = 100
"""Members whose ranks are checked."""
SHARDS: Final = 10
Row = dict[str, Any]


def tops(count: int, sizes: Sequence[int] = (100, 1_000)) -> Iterator[Row]:
    """Measure the top N of an index with ten shards: ours, and N from each shard."""
    scores = SHAPES[SHAPE](count)
    truth = Sorted(scores)
    board = Board(parse_boards(population.sharded(SHARDS)))
    listed = range(min(count, 2 * SHARDS * sizes[-1]))
    shapes.place(board.client, board.ranking("all"), scores, listed)
    board.read_record()
    ask = Questions(board, truth, Random(1))
    meter = Meter(board.client)
    naive = ScatterGather(meter, SHARDS)
    naive.members.create()
    naive.members.place(board.client, scores, len(listed))
    for size in sizes:
        row = board.row("top", [ask.page(1, size)])
        before = meter.snapshot()
        if naive.top(size) != [(name, score) for _, name, score in truth.lines(1, size)]:
            raise AssertionError(f"{naive.name}: expected the right top {size}, got another list")
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


def _calls(rival: SortedSet, count: int) -> dict[str, Callable[[], Any]]:
    middle = population.member(count // 2)
    return {
        "a rank": lambda: rival.rank(middle),
        "top 100": lambda: rival.page(1, 100),
        "around me": lambda: rival.around(middle, 5),
        "100 at the middle": lambda: rival.page(count // 2, 100),
    }


def redis_rows(sizes: Iterable[int]) -> Iterator[Row]:
    """Measure reads of a sorted set, in multiples of one `GET` of the same server."""
    with redis_server.started() as client:
        for count in sizes:
            client.flushall()
            truth = Sorted(scores := SHAPES[SHAPE](count))
            rival = SortedSet(client)
            rival.place(scores)
            client.set("one", "1")
            for number in spread(count, SAMPLE):
                if rival.rank(name := population.member(number)) != truth.rank(name):
                    raise AssertionError(
                        f"{rival.name}, {count} members: expected the right rank of {name}, got another"
                    )
            one = median_seconds(lambda: client.get("one"), 500)
            used = int(client.info("memory")["used_memory"])
            times = {read: round(median_seconds(call, 200) / one, 1) for read, call in _calls(rival, count).items()}
            row = {"members": count, "bytes_per_member": round(used / count), "time_per_get": times}
            print(row, flush=True)
            yield row
