"""Other ways to rank in DynamoDB, beside ours: `python -m benchmarks compared` writes the tables of two pages.

The code of the other ways is gone. `benchmarks/results/compared.json` has what they cost, the commit that measured them
and the day.
"""

from collections.abc import Iterator
from statistics import mean
from typing import Final

from benchmarks.harness.benchmark import Benchmark
from benchmarks.pages.tables import Result, Table, crossed

SHAPE: Final = "log-normal"
SIZES: Final = (10_000, 1_000_000)
RATES: Final = "{events_per_second:,g} | {reads_per_second:,g} | {members:,}"
WAYS: Final = ("count on a sorted index", "fixed tiers, recounted every minute", "all ranks again at each batch")


def of_methods(result: Result) -> Iterator[str]:
    """Return the table of the methods: what a rank costs, how right it is, and what an event costs."""
    return crossed("method", sorted(_cells(result), key=lambda cell: COLUMNS.index(cell[1])))


COLUMNS: Final = (
    *(f"read units of a rank of {members:,}" for members in SIZES),
    f"a refresh of {SIZES[-1]:,}: units read, written",
    "wrong ranks just after a refresh",
    "mean error while events flow: members that just moved",
    "the same of other members",
    "write units of an event",
)


def _cells(result: Result) -> Iterator[tuple[str, str, str]]:
    for row in result["ranks"]:
        if row["shape"] == SHAPE and row["members"] in SIZES:
            yield row["method"], COLUMNS[SIZES.index(row["members"])], f"{row['read_units']:,g}"
        if row["shape"] == SHAPE and row["members"] == SIZES[-1] and row.get("refresh_read_units"):
            yield row["method"], COLUMNS[2], f"{row['refresh_read_units']:,g}, {row['refresh_write_units']:,g}"
    for row in result["accuracy"]:
        if row["shape"] == SHAPE:
            yield row["method"], COLUMNS[3], f"{100 * row['wrong_share']:.0f} %"
    for method, errors in result["staleness"]["mean_errors"].items():
        yield method, COLUMNS[4], f"{mean(errors['just moved']):.1f}"
        yield method, COLUMNS[5], f"{mean(errors['others']):.1f}"
    for row in result["changes"]:
        yield row["method"].removesuffix(", events in batches of 1"), COLUMNS[6], f"{row['write_units']:g}"


DOLLARS: Final = Table(
    f"events/s | reads/s | members | {' | '.join(WAYS)}",
    f"{RATES} | {' | '.join(f'${{{way}:,.0f}}' for way in WAYS)}",
    lambda result: (row for row in result["dollars"] if row["events_per_second"] <= 100),
)
BENCHMARK: Final = Benchmark(
    "compared", None, {"docs/performance.md": {"methods": of_methods}, "docs/cost-tables.md": {"dollars": DOLLARS}}
)
