"""What a member's history costs, and a member's rank beside a page: read units and round trips.

`make reads` (or `python -m benchmarks.measure.member_reads`) writes `benchmarks/results/member_reads.json` and a table
of `docs/reads.md`. It compares every answer with sorted lists.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final

from benchmarks.harness import population
from benchmarks.harness.pipeline import event
from benchmarks.harness.questions import Answer, Board, Question, Questions, placed
from benchmarks.harness.results_file import output
from benchmarks.harness.truth import Truth
from benchmarks.measure.units import SHIPPED
from benchmarks.members.histories import TWO_OF_SEVEN
from benchmarks.members.rolling_board import NOON, RollingBoard
from standings.domain.boards.boards_toml import parse_boards
from standings.read.history import MAX_PERIODS, history

PAGE: Final = "docs/reads.md"
COMMAND: Final = "make reads"
SIZES: Final = (10_000, 100_000)
SMALL: Final = (2_500,)
SAMPLE: Final = 50
FEW_DAYS: Final = 14
ROLLING_PERIODS: Final = 8
"""Periods of `last-7-days` that can be read as shipped: today's, and those that still take late events."""
DAYS: Final = 'keep = "120 days"\nmetrics.points = { aggregate = "sum", windows = ["day"] }'
CALENDAR: Final = "`day`"
ROLLING: Final = f"`{SHIPPED.names[-1]}`"


def days(count: int, most: int) -> Iterator[Answer]:
    """Measure histories over days; few members share a score."""
    board = Board(parse_boards(f'[boards."*"]\n{DAYS}'))
    scores = population.finegrained(Random(count), count)
    members = Random(1).sample(sorted(scores), SAMPLE)
    truths = []
    for ago in range(most):
        values = list(scores.values())
        Random(ago).shuffle(values)
        of_day = dict(zip(scores, values, strict=True))
        population.place_members(board.client, board.ranking("day", ago), of_day, entries=set(members))
        truths.append(Truth(of_day))
    board.pipeline.write([event("idle", board.name, "idle", {"points": 1}, population.NOW)])
    board.read_record("day")
    for periods in dict.fromkeys((1, FEW_DAYS, most)):
        some = [_history(board, "day", member, truths[:periods]) for member in members]
        yield board.row(f"history of {_count(periods)}", some)
    yield board.row(
        f"history of {_count(FEW_DAYS)}, ranked in none", [_history(board, "day", "idle", truths[:FEW_DAYS])]
    )


def rolling(count: int) -> Iterator[Answer]:
    """Measure histories over the periods of a rolling window, on a board as shipped."""
    offsets = range(1 - ROLLING_PERIODS, 2)
    of = RollingBoard(SHIPPED.definition, SHIPPED.names[-1], SHIPPED.days, TWO_OF_SEVEN, count, offsets)
    of.at(NOON)
    for periods in (1, 2, ROLLING_PERIODS):
        truths = [of.truths[-ago] for ago in range(periods)]
        some = [_history(of.board, of.window, member, truths) for member in of.members[:SAMPLE]]
        yield of.board.row(f"history of {_count(periods)}", some)
    ask = of.ask(0)
    yield of.board.row("top 100", [ask.page(1)])
    yield of.board.row("rank of a member", map(ask.rank, of.members[:SAMPLE]))
    yield of.board.row("top 100 with `me`", map(ask.page_with, of.members[:SAMPLE]))


def beside_pages(count: int, shards: int) -> Iterator[Answer]:
    """Measure a member's rank beside a page of a board that ranks `all` alone; few members share a score."""
    board, truth = placed(count, population.finegrained, shards)
    ask = Questions(board, truth, Random(1))
    members = ask.sample(SAMPLE)
    yield board.row("top 100", [ask.page(1)])
    yield board.row("rank of a member", map(ask.rank, members))
    yield board.row("top 100 with `me`", map(ask.page_with, members))


def measure(sizes: Sequence[int] = SIZES) -> Answer:
    """Return the whole result."""
    rows: list[Answer] = []

    def keep(board: str, members: int, measured: Iterable[Answer]) -> None:
        for row in measured:
            print(f"{members:>9,} {board:<14} {row['read']}: {row['read_units_most']} units", flush=True)
            rows.append({"members": members, "board": board, **row})

    for count in sizes:
        keep(CALENDAR, count, days(count, MAX_PERIODS if count == min(sizes) else FEW_DAYS))
        keep(ROLLING, count, rolling(count))
        keep("`all`", count, beside_pages(count, 1))
        keep("`all`, 4 shards", count, beside_pages(count, 4))
    return {"reads": rows, "answers_checked": sum(row["asked"] for row in rows), "answers_wrong": 0}


def table(result: Answer) -> Iterator[str]:
    """Return the table of all reads, by board."""
    yield "| board | read | members | units (round trips) | units a period |"
    yield "|---|---|---|---|---|"
    for row in result["reads"]:
        each = f"{row['read_units_most'] / periods:.3g}" if (periods := periods_of(row)) else ""
        cost = f"{row['read_units_most']:g} ({row['round_trips_most']})"
        yield f"| {row['board']} | {row['read']} | {row['members']:,} | {cost} | {each} |"


def periods_of(row: Mapping[str, object]) -> int:
    """Return how many periods a row's history has; 0 for another read."""
    read = str(row["read"])
    return int(read.split()[2]) if read.startswith("history") else 0


TABLES: Final = {"members": table}


def main(arguments: list[str]) -> int:
    """Measure, write the result and update its page."""
    out = output(arguments, __doc__)
    result = measure(SMALL if out.small else SIZES)
    out.publish("member_reads", result, PAGE, COMMAND, TABLES)
    return 0


def _count(periods: int) -> str:
    return f"{periods} period{'' if periods == 1 else 's'}"


def _history(board: Board, window: str, member: str, truths: Sequence[Truth]) -> Question:
    expected = [
        (truth.rank(member), truth.scores[member], truth.total) if member in truth.scores else (None, None, truth.total)
        for truth in truths
    ]

    def is_right(answer: Answer) -> bool:
        return [(one["rank"], one["score"], one["total"]) for one in answer["periods"]] == expected

    return lambda: history(board.about(window), member=member, periods=len(truths)), is_right


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
