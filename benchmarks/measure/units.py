"""What ranks and events cost: read and write units and round trips, counted over the real requests.

`make units` writes `benchmarks/results/units.json` and a table of `docs/performance.md`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.harness import population
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.questions import Questions, placed
from benchmarks.harness.results_file import Output
from benchmarks.harness.rolling_board import ONE_DAY, TWO_OF_SEVEN
from benchmarks.models.cost.counted import Settings, Traffic, usage
from benchmarks.pages.tables import Result, crossed

SIZES: Final = (1_000, 10_000, 100_000)
MEMBERS: Final = 200_000
SMALL: Final = 10_000
SAMPLE: Final = 200
"""Members whose ranks are read."""
TOGETHER: Final = 500
"""Events that come together, in one batch."""
AMOUNTS: Final = (1, 100)
"""The fewest and the most points of an event, unless it says others."""
WIDE: Final = (100, 2_500)
LIVES: Final[dict[str, float | None]] = {ONE_DAY: None, TWO_OF_SEVEN: 2 / 7}
"""The events of a member a day, by what a table calls it. None: all of its score is of today."""


ALL: Final = Settings(("all",))
SHIPPED: Final = Settings()
MONTH: Final = Settings(("all", "last-30-days"))
QUARTER: Final = Settings(("all", "last-90-days"))
BOARDS: Final = (ALL, SHIPPED, MONTH, QUARTER)


def reads(members: int) -> dict[str, Any]:
    """Measure a member's rank and the top 100 on a board with so many members."""
    board, truth = placed(members, lambda _, count: population.lognormal(Random(1), count))
    ask = Questions(board, truth, Random(1))
    rank = board.row("rank", map(ask.rank, population.sample(Random(1), truth.scores, SAMPLE)))
    top = board.row("top 100", [ask.page(1)])
    return {
        "members": members,
        "rank_read_units_mean": rank["read_units_mean"],
        "rank_read_units_most": rank["read_units_most"],
        "rank_round_trips_most": rank["requests_most"],
        "top_100_read_units": top["read_units_most"],
    }


def writes(settings: Settings, *, small: bool) -> Iterator[dict[str, Any]]:
    """Count the units of an event on a board with these windows, for each life of its members."""
    for life, daily in LIVES.items():
        if settings == ALL and life != ONE_DAY:
            continue
        kinds = [("together", AMOUNTS), ("alone", AMOUNTS)] + [("together", WIDE)] * (settings == SHIPPED)
        for kind, amounts in kinds:
            traffic = Traffic(MEMBERS, amounts=amounts, batch=TOGETHER if kind == "together" else 1, daily=daily)
            if small:
                traffic = replace(traffic, members=SMALL, batch=min(traffic.batch, 10), counted=10)
            used = usage(settings, traffic)
            row = {
                "windows": settings.text,
                "kind": kind,
                "life": life,
                "amounts": amounts,
                "members": traffic.members,
                "write_units_per_event": round(used.write_units, 2),
                "read_units_per_event": round(used.read_units, 2),
                "row_transactions_per_event": round(used.projector_transactions, 2),
            }
            print(row, flush=True)
            yield row


class Kind(NamedTuple):
    """Events of one kind: the windows of the board, whether they come together, the members' life and the points."""

    windows: Settings
    kind: str
    life: str = ONE_DAY
    amounts: tuple[int, int] = AMOUNTS


BUDGETS: Final = {
    Kind(ALL, "together"): 10,
    Kind(SHIPPED, "together"): 24,
    Kind(SHIPPED, "together", TWO_OF_SEVEN): 28,
    Kind(SHIPPED, "alone"): 37,
    Kind(SHIPPED, "alone", TWO_OF_SEVEN): 40,
    Kind(SHIPPED, "together", ONE_DAY, WIDE): 44,
    Kind(MONTH, "together"): 28,
    Kind(MONTH, "together", TWO_OF_SEVEN): 63,
    Kind(MONTH, "alone"): 41,
    Kind(MONTH, "alone", TWO_OF_SEVEN): 82,
    Kind(QUARTER, "together"): 55,
}
"""Write units of an event."""


def kind_of(row: Mapping[str, Any]) -> Kind:
    (settings,) = (one for one in BOARDS if one.text == row["windows"])
    return Kind(settings, row["kind"], row["life"], tuple(row["amounts"]))


def cell(row: Mapping[str, Any]) -> tuple[str, str, str]:
    kind = kind_of(row)
    amounts = "" if kind.amounts == AMOUNTS else "amounts of {:,}–{:,}".format(*kind.amounts)
    life = kind.life if kind.life == TWO_OF_SEVEN else ""
    budget = f" (≤ {BUDGETS[kind]})" if kind in BUDGETS else ""
    what = ", ".join(filter(None, (row["windows"], amounts, life)))
    return what, kind.kind, f"{row['write_units_per_event']:.1f}{budget}"


def table(result: Result) -> Iterator[str]:
    """Return the table of write units of an event, each with its budget in brackets."""
    return crossed("windows", map(cell, result["writes"]))


def measure(out: Output) -> dict[str, Any]:
    return {
        "reads": [reads(size) for size in (SIZES[:2] if out.small else SIZES)],
        "writes": [row for settings in BOARDS for row in writes(settings, small=out.small)],
    }


BENCHMARK: Final = Benchmark("units", measure, {"docs/performance.md": {"units": table}}, "make units")
