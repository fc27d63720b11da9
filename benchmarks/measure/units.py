"""What ranks and events cost: read and write units and round trips, counted over the real requests.

`make units` writes `benchmarks/results/units.json` and a table of `docs/performance.md`. The result also says what the
units of an event are for.
"""

from collections.abc import Iterator
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.harness import population
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.questions import Board, Questions
from benchmarks.harness.results_file import Output
from benchmarks.harness.truth import Truth
from benchmarks.members.events import AMOUNTS, Scene, cost
from benchmarks.members.histories import LIVES, ONE_DAY, TWO_OF_SEVEN, points
from benchmarks.pages.tables import Result
from standings.domain.windows.window import MAX_SLAB, parse_window

SIZES: Final = (1_000, 10_000, 100_000)
MEMBERS: Final = 200_000
SMALL: Final = 10_000
SAMPLE: Final = 200
"""Members whose ranks are read."""
WIDE: Final = (100, 2_500)


class Windows(NamedTuple):
    """The windows of a board, the days of the longest, and on how many days of a slab events are counted at least."""

    names: tuple[str, ...]
    days: int
    counted: int = MAX_SLAB

    @property
    def slab(self) -> int:
        return len(parse_window(self.names[-1]).slab_of(0))

    @property
    def text(self) -> str:
        *most, last = (f"`{name}`" for name in self.names)
        return f"{', '.join(most)} and {last}" if most else last

    @property
    def definition(self) -> str:
        """A `boards.toml` of a board with these windows."""
        names = ", ".join(f'"{name}"' for name in self.names)
        return f'[boards."*"]\nmetrics.points = {{ aggregate = "sum", windows = [{names}] }}'


ALL: Final = Windows(("all",), 7, counted=2)
SHIPPED: Final = Windows(("all", "day", "last-7-days"), 7)
MONTH: Final = Windows(("all", "last-30-days"), 30)
QUARTER: Final = Windows(("all", "last-90-days"), 90, counted=4)
WINDOWS: Final = (ALL, SHIPPED, MONTH, QUARTER)


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


def writes(windows: Windows, members: int, counted: int | None = None) -> Iterator[dict[str, Any]]:
    """Measure the units of an event on a board with these windows, for each life of its members.

    How many steps an event changes depends on how far its slab is, so events are counted on many days of one, or on
    `counted`.
    """
    days = range(0, windows.slab, max(1, windows.slab // (counted or windows.counted)))
    for life, draw in LIVES.items():
        if windows == ALL and life != ONE_DAY:
            continue
        histories = draw(Random(2), members, windows.days, points)
        kinds = [("together", AMOUNTS), ("alone", AMOUNTS)] + [("together", WIDE)] * (windows == SHIPPED)
        for kind, amounts in kinds:
            figures = cost(Scene(windows.definition, histories, days, amounts), kind)
            row = {
                "windows": windows.text,
                "kind": kind,
                "life": life,
                "amounts": amounts,
                "members": members,
                **figures,
            }
            print(line(row), flush=True)
            yield row


def line(row: dict[str, Any]) -> str:
    amounts = "" if tuple(row["amounts"]) == AMOUNTS else "amounts of {:,}–{:,}".format(*row["amounts"])
    life = row["life"] if row["life"] == TWO_OF_SEVEN else ""
    what = ", ".join(filter(None, (row["windows"], amounts, row["kind"], life)))
    return f"| an event, {what} | {row['members']:,} | {row['write_units_per_event']:.1f} write units |"


def table(result: Result) -> Iterator[str]:
    yield "| what | members | units |"
    yield "|---|---|---|"
    for one in result["reads"]:
        yield (
            f"| a member's rank, score, percentile and the total | {one['members']:,} | "
            f"{one['rank_read_units_most']} read units at most, {one['rank_round_trips_most']} round trips |"
        )
    for one in result["reads"]:
        yield f"| the top 100 with ranks and total | {one['members']:,} | {one['top_100_read_units']} read units |"
    yield from map(line, result["writes"])


def measure(out: Output) -> dict[str, Any]:
    members, counted = (SMALL, 1) if out.small else (MEMBERS, None)
    return {
        "reads": [reads(size, seed=1) for size in (SIZES[:2] if out.small else SIZES)],
        "writes": [row for windows in WINDOWS for row in writes(windows, members, counted)],
    }


BENCHMARK: Final = Benchmark("units", measure, {"docs/performance.md": {"units": table}}, "make units")
