"""What a tie-break costs: read units of a rank and write units of an event, beside the same ranking without it.

`make units` writes `benchmarks/results/tie_breaks.json` and a table of `docs/performance.md`. Every rank is compared
with a sorted list.
"""

import gc
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.harness import population
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.pipeline import Pipeline, event
from benchmarks.harness.questions import Board, Question
from benchmarks.harness.results_file import Output
from benchmarks.measure.units import MEMBERS, TOGETHER
from benchmarks.pages.tables import Result, Table
from standings.domain.boards_toml import parse_boards
from standings.domain.scoring import SortValues
from standings.read import member_ranks

Numbers = tuple[int, int]
"""A score and a tie-break."""
BOUND: Final = 2**14
READ: Final = 5_000
"""Members of the board whose ranks are read."""
SAMPLE: Final = 200
WINDOWS: Final = {"all": 3.5, "last-7-days": 8.0}
"""The most read units of a rank with a score and a tie-break below 2^14, by window."""
ROUND_TRIPS: Final = 2
BATCHES: Final = 4
"""Batches of events that are counted."""


class Kind(NamedTuple):
    """Members' numbers, and how an event changes them. The events of a board with a best name its new number.

    With the tie-break, an event costs at most `most` times as many write units.
    """

    draw: Callable[[Random], Numbers]
    step: Callable[[Random, Numbers], Numbers]
    most: float
    aggregate: str = "sum"


KINDS: Final = {
    "solved 0–12, penalty below 2,000": Kind(
        lambda rng: (rng.randrange(12), rng.randrange(1_700)),
        lambda rng, old: (old[0] + 1, old[1] + rng.randint(20, 300)),
        1.2,
    ),
    "points, median 400, the second number below 2^14": Kind(
        lambda rng: (max(1, round(rng.lognormvariate(5.99, 1.2))), rng.randrange(BOUND - 300)),
        lambda rng, old: (old[0] + rng.randint(1, 100), old[1] + rng.randint(1, 300)),
        2.5,
    ),
    "best 1–400, bodyweight 40.0–150.0 `with` it": Kind(
        lambda rng: (rng.randint(1, 400), rng.randint(400, 1_500)),
        lambda rng, old: (old[0] + rng.randint(1, 5), rng.randint(400, 1_500)),
        2.5,
        "max",
    ),
}
"""What is counted, by what the table calls it."""


def definition(aggregate: str, *windows: str, tied: bool) -> str:
    """The `boards.toml` of a board whose points are ranked, with the tie-break or without it."""
    listed = ", ".join(f'"{window}"' for window in windows)
    ties = ', tie_breaks = ["second"]' if tied else ""
    made = 'aggregate = "sum"' if aggregate == "sum" else 'with = "points"'
    lines = [f'metrics.points = {{ aggregate = "{aggregate}", windows = [{listed}]{ties} }}']
    lines += [f'metrics.second = {{ {made}, order = "ascending" }}'] * tied
    return "\n".join(['[boards."*"]', *lines])


def given(numbers: Numbers, *, tied: bool) -> dict[str, int]:
    """The numbers of an event by metric; without the tie-break the score alone."""
    return dict(zip(("points", "second"), numbers, strict=True)) if tied else {"points": numbers[0]}


def values(numbers: Numbers, *, tied: bool) -> SortValues:
    """The sort values of a member's place: the highest score leads, then the lowest second number."""
    return (-numbers[0], numbers[1]) if tied else (-numbers[0],)


def ranks(window: str, count: int, *, tied: bool) -> dict[str, Any]:
    """Measure the ranks of a sample of members, whose numbers are below 2^14. Few share a score."""
    board, rng = Board(parse_boards(definition("sum", window, tied=tied))), Random(1)
    numbers = {population.member(n): (rng.randrange(128, BOUND), rng.randrange(128, BOUND)) for n in range(count)}
    posted = [event(name, board.name, name, given(numbers[name], tied=tied)) for name in numbers]
    for start in range(0, count, TOGETHER):
        board.pipeline.write(posted[start : start + TOGETHER])
        board.pipeline.project(TOGETHER)
    board.read_record(window)
    order = sorted(values(each, tied=tied) for each in numbers.values())

    def question(name: str) -> Question:
        rank = 1 + bisect_left(order, values(numbers[name], tied=tied))
        return (
            lambda: member_ranks.rank(board.about(window), member=name),
            lambda answer: (answer["rank"], answer["score"]) == (rank, numbers[name][0]),
        )

    return board.row("rank", map(question, rng.sample(list(numbers), SAMPLE)))


def write_units(kind: Kind, count: int, together: int, *, tied: bool) -> float:
    """Count the write units of an event that comes in batches, on a board whose `all` has so many members."""
    boards, rng = parse_boards(definition(kind.aggregate, "all", tied=tied)), Random(1)
    lived = Pipeline(boards, prune=True, counted=False)
    counted = Pipeline(boards, prune=True, engine=lived.client)
    everyone = [kind.draw(rng) for _ in range(count)]
    ranking = population.ranking_of(boards.families[0])
    tree = population.tree_of_places(values(numbers, tied=tied) for numbers in everyone)
    population.place_tree(lived.client, ranking, tree)
    spent = 0.0
    for batch in _batches(rng, count, together):
        before = {population.member(n): everyone[n] for n in batch}
        after = {name: kind.step(rng, numbers) for name, numbers in before.items()}
        if kind.aggregate == "sum":
            after = {name: (new[0] - before[name][0], new[1] - before[name][1]) for name, new in after.items()}
        lived.write(event(f"lived-{name}", population.BOARD, name, given(before[name], tied=tied)) for name in before)
        lived.project(together)
        counted.skip()
        began = counted.meter.snapshot().total.write
        counted.write(event(f"event-{name}", population.BOARD, name, given(after[name], tied=tied)) for name in after)
        counted.project(together)
        spent += counted.meter.snapshot().total.write - began
    return spent / (BATCHES * together)


def _batches(rng: Random, count: int, together: int) -> Iterator[Sequence[int]]:
    """Members of whom nothing is stored yet, one for each event of a batch."""
    chosen = rng.sample(range(count), BATCHES * together)
    return (chosen[start : start + together] for start in range(0, len(chosen), together))


def measure(out: Output) -> dict[str, Any]:
    gc.disable()  # It would search the rows for cycles again and again
    reading, members, together = (1_000, 10_000, 50) if out.small else (READ, MEMBERS, TOGETHER)
    rows = [rank_row(window, most, reading) for window, most in WINDOWS.items()]
    rows += [event_row(name, kind, members, together) for name, kind in KINDS.items()]
    return {"ties": rows}


def rank_row(window: str, most: float, count: int) -> dict[str, Any]:
    without, tied = (ranks(window, count, tied=tied) for tied in (False, True))
    units = {"without": without["read_units_most"], "with": tied["read_units_most"], "most": most}
    return {"what": f"read units of a rank, `{window}`", **units, "round_trips": tied["round_trips_most"]}


def event_row(name: str, kind: Kind, members: int, together: int) -> dict[str, Any]:
    without, tied = (write_units(kind, members, together, tied=tied) for tied in (False, True))
    units = {"without": round(without, 2), "with": round(tied, 2), "most": kind.most}
    return {"what": name, **units, "times": round(tied / without, 2), "members": members}


def table(result: Result) -> Iterator[str]:
    """Return the table of what a tie-break costs, each with its budget in brackets."""
    rows = []
    for row in result["ties"]:
        if "times" in row:
            shown = {
                "what": f"write units of an event: {row['what']}",
                "budget": f"{row['times']:.2f} × (≤ {row['most']:g})",
            }
            rows.append({**shown, "without": f"{row['without']:.1f}", "with": f"{row['with']:.1f}"})
        else:
            ties = f"{row['with']:g} ({row['round_trips']})"
            rows.append(
                {**row, "without": f"{row['without']:g}", "with": ties, "budget": f"≤ {row['most']:g} ({ROUND_TRIPS})"}
            )
    return Table("what | without | with | budget", "{what} | {without} | {with} | {budget}", lambda _: rows)(result)


BENCHMARK: Final = Benchmark("tie_breaks", measure, {"docs/performance.md": {"tie_breaks": table}}, "make units")
