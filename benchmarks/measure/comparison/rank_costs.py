"""What a rank costs with each method, how right it is, and what the job of a schedule costs."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from statistics import mean
from typing import Any, Final

from benchmarks.harness import population, shapes
from benchmarks.harness.meter import Meter
from benchmarks.harness.questions import Board, Questions
from benchmarks.harness.shapes import SHAPES, Sorted
from benchmarks.harness.timing import median_seconds
from benchmarks.rivals.board import OURS, RIVALS, Rival, highest, ours, place
from benchmarks.rivals.counting import CountAbove, FixedTiers
from benchmarks.rivals.tree import CountTree
from tests.support.dynamodb.engine import Engine

PUBLISHED: Final = "fixed tiers, the rule as published"
FEW: Final = 10
"""Members of a large board whose ranks are checked."""
Row = dict[str, Any]


def spread(count: int, sample: int) -> list[int]:
    """Return numbers of members from the first to the last, the median included."""
    return sorted({*(number * (count - 1) // (sample - 1) for number in range(sample)), count // 2})


def accuracy(shape: str, count: int, sample: int) -> Iterator[Row]:
    """Compare ranks with the sorted list right after a refresh."""
    scores = SHAPES[shape](count)
    truth = Sorted(scores)
    client = Engine()
    place(client, scores, highest(shape))
    board = Board(population.boards())
    shapes.place(board.client, board.ranking("all"), scores, range(count))
    names = [population.member(number) for number in spread(count, sample)]
    tiers = FixedTiers(client, highest(shape))
    methods: list[tuple[str, bool, Callable[[str], int]]] = [(OURS, True, ours(board.client))]
    for kind in RIVALS:
        rival = tiers if kind is FixedTiers else kind(client, highest(shape))
        rival.refresh()
        methods.append((rival.name, rival.exact, rival.rank))
    methods.append((PUBLISHED, False, tiers.published_rank))
    for name, exact, rank in methods:
        errors = [abs(rank(member) - truth.rank(member)) for member in names]
        if exact and any(errors):
            raise AssertionError(f"{name}, {shape}: expected no wrong ranks, got {sum(map(bool, errors))}")
        wrong = sum(map(bool, errors)) / len(errors)
        yield {
            "method": name,
            "shape": shape,
            "members": count,
            "wrong_share": round(wrong, 3),
            "error_mean": round(mean(errors), 1),
            "error_most": max(errors),
        }


def ranks(shape: str, count: int) -> Iterator[Row]:
    """Measure the median member's rank and a refresh with each method; check some more ranks."""
    scores = SHAPES[shape](count)
    truth = Sorted(scores)
    board = Board(population.boards())
    client = board.client
    middle = population.member(count // 2)
    checked = spread(count, FEW)
    shapes.place(client, board.ranking("all"), scores, checked)
    place(client, scores, highest(shape))
    item = median_seconds(lambda: client.get_item(TableName="Members", Key={"member": {"S": middle}}), 200)
    meter = Meter(client)
    questions = Questions(board, truth, Random(1))
    for number in checked:
        board.row("rank", [questions.rank(population.member(number))])
    rank, raw = ours(meter), ours(client)
    raw(middle)  # reads the board's record, which is not measured
    rank(middle)
    yield _rank_row(
        OURS,
        shape,
        count,
        meter,
        lambda: rank(middle),
        truth.rank(middle),
        median_seconds(lambda: raw(middle), 50) / item,
    )
    for kind in RIVALS:
        before = meter.snapshot()
        rival: Rival = kind(meter, highest(shape))
        rival.refresh()
        job = (meter.snapshot() - before).total
        bare: Rival = kind(client, highest(shape))
        times = 3 if kind in {CountAbove, FixedTiers} else 50
        share = median_seconds(partial(bare.rank, middle), times) / item
        right = truth.rank(middle) if rival.exact else None
        row = _rank_row(rival.name, shape, count, meter, partial(rival.rank, middle), right, share)
        if kind in {FixedTiers, CountTree}:
            _check(bare, truth, checked[:: 1 if kind is CountTree else 4])
        yield {**row, "refresh_read_units": job.read, "refresh_write_units": job.write}


def _check(rival: Rival, truth: Sorted, numbers: Sequence[int]) -> None:
    """Compare the ranks of members with the sorted list."""
    for name in map(population.member, numbers):
        if (rank := rival.rank(name)) != truth.rank(name):
            raise AssertionError(
                f"{rival.name}, {truth.total} members: expected {name} at {truth.rank(name)}, got {rank}"
            )


def _rank_row(
    name: str, shape: str, count: int, meter: Meter, ask: Callable[[], int], right: int | None, share: float
) -> Row:
    before = meter.snapshot()
    answer = ask()
    cost = (meter.snapshot() - before).total
    if right is not None and answer != right:
        raise AssertionError(f"{name}, {count} {shape}: expected rank {right}, got {answer}")
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
