"""What reads and events may cost, beside what was measured: one table made of all results that are there.

`python -m benchmarks.pages.budgets` writes it into `docs/performance.md`.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from benchmarks.harness.results_file import Output, output
from benchmarks.measure import reads
from benchmarks.measure.comparison import curves
from benchmarks.measure.speed import speed
from benchmarks.rivals.board import OURS
from benchmarks.rivals.counting import CountAbove

PAGE: Final = "docs/performance.md"
COMMAND: Final = "make bench"
ENOUGH: Final = 1.75
"""How many times the events a doubling of the shards has to bear at least: members are not spread quite evenly."""

Result = Mapping[str, Any]


class Budget(NamedTuple):
    """One line: what it is about, what it may be, what was measured, and whether that is within."""

    what: str
    budget: str
    measured: str
    met: bool


def of_curves(result: Result) -> Iterator[Budget]:
    """Reads at every size, and the hottest key."""
    most = max(row["members"] for row in result["reads"])
    asked = [row for row in result["reads"] if "asked" in row]
    of = {read: [row for row in asked if row["read"] == read] for read in curves.READS}
    units = {read: max(row["read_units_most"] for row in rows) for read, rows in of.items() if rows}
    trips = {read: max(row["round_trips_most"] for row in rows) for read, rows in of.items() if rows}
    yield Budget(
        f"a member's rank, scores below 2^28, all shapes, 1,000 to {most:,} members",
        "≤ 3 read units, 2 round trips",
        f"{units[curves.RANK]:g}, {trips[curves.RANK]}",
        units[curves.RANK] <= 3 and trips[curves.RANK] <= 2,
    )
    flat = max(curves.flatness(result).values())
    yield Budget(
        f"the same at {most:,} members ÷ at {curves.SIZES[1]:,}, all shapes", "≤ 1.1", f"{flat:.2f}", flat <= 1.1
    )
    yield Budget(
        "top 100 with the total, ids of 20 bytes",
        "≤ 2.5 read units, 1 round trip",
        f"{units[curves.TOP]:g}, {trips[curves.TOP]}",
        units[curves.TOP] <= 2.5 and trips[curves.TOP] == 1,
    )
    top = {(row["shape"], row["members"]): row["read_units_most"] for row in of[curves.TOP]}
    # In these shapes so few share a score that hardly anything is skipped.
    more = max(
        row["read_units_most"] - top[row["shape"], row["members"]]
        for row in of[curves.DEEP]
        if row["shape"] in {"log-normal", "uniform"}
    )
    yield Budget("100 at the middle, few equals", "≤ 2.5 read units more", f"{more:g} more", more <= 2.5)
    on = max(row["read_units_most"] - top[row["shape"], row["members"]] for row in of[curves.ON])
    yield Budget("100 by cursor from the middle, any equals", "≤ 2.5 read units more", f"{on:g} more", on <= 2.5)
    four = min(row["events_per_second"] for row in result["ceilings"] if row["shards"] == 4)
    yield Budget(
        "a hot board of 4 shards, every event another member, until a key takes 1,000 write units a second",
        "≥ 1,000 events/s",
        f"{four:,}",
        four >= 1_000,
    )
    together = {row["shards"]: row["events_per_second"] for row in result["ceilings"] if row["batch"] > 1}
    growth = min(together[2 * shards] / together[shards] for shards in curves.SHARDS[:-1])
    yield Budget(
        "the same with twice the shards, batches of 100: growing in step",
        f"≥ {ENOUGH:g} × each time",
        f"{growth:.2f} ×",
        growth >= ENOUGH,
    )


def of_compared(result: Result) -> Iterator[Budget]:
    """A rank beside counting everyone above."""
    most = max(row["members"] for row in result["ranks"])
    costs = {row["method"]: row["read_units"] for row in result["ranks"] if row["members"] == most}
    share = costs[CountAbove.name] / costs[OURS]
    yield Budget(
        f"the median of {most:,} members: counting everyone above ÷ a rank, in read units",
        "≥ 1,000",
        f"{share:,.0f}",
        share >= 1_000,
    )


def of_reads(result: Result) -> Iterator[Budget]:
    """Previous ranks, and lists of several shards."""
    rows = [row for row in result["reads"] if row["read"] == "rank of a member with the previous rank"]
    units, trips = max(row["read_units_most"] for row in rows), max(row["round_trips_most"] for row in rows)
    yield Budget(
        "a rank with the previous rank",
        "≤ 6 read units, 2 round trips",
        f"{units:g}, {trips}",
        units <= 6 and trips <= 2,
    )
    spread = [row for row in result["reads"] if row["board"] == f"{reads.SHARDS} shards" and row["read"] == "top 100"]
    units, most = max(row["read_units_most"] for row in spread), 2.5 + 0.5 * (reads.SHARDS - 1)
    yield Budget(f"top 100 of {reads.SHARDS} shards", f"≤ {most:g} read units", f"{units:g}", units <= most)


def of_lanes(result: Result) -> Iterator[Budget]:
    """A rank on a hot board."""
    for row in result["reads"]:
        if row["lanes"] > 1:
            units, trips, most = row["read_units_most"], row["round_trips_first"], 0.5 + 2.5 * row["lanes"]
            yield Budget(
                f"a rank on a hot board of {row['lanes']} lanes",
                f"≤ {most:g} read units, 3 round trips",
                f"{units:g}, {trips}",
                units <= most and trips <= 3,
            )


def of_units(result: Result) -> Iterator[Budget]:
    """An event."""
    units = result["writes"]["`all` alone"]["write_units_per_event"]
    yield Budget(
        "an event on a board with `all` only, steps of 1–100, 200,000 members, batches of 500",
        "≤ 10 write units",
        f"{units:g}",
        units <= 10,
    )


def of_speed(result: Result) -> Iterator[Budget]:
    """What one core does, and how long functions take to start."""
    for row in result["paces"]:
        least = speed.BUDGETS[row["level"]]
        yield Budget(
            f"{row['function']}, one core, {speed.STUBBED[row['level']]} stubbed",
            f"≥ {least:,} {speed.RECORDS[row['function']]} a second",
            f"{row['records_per_second']:,}",
            row["records_per_second"] >= least,
        )
    for row in result["starts"]:
        if row["program"] in speed.STARTS:
            most = speed.STARTS[row["program"]]
            yield Budget(
                f"a start of the {row['program']} function ÷ of a module that only makes a boto3 client, CPU time",
                f"≤ {most:g}",
                f"{row['times_base_cpu']:.2f}",
                row["times_base_cpu"] <= most,
            )


FROM: Final[dict[str, Callable[[Result], Iterator[Budget]]]] = {
    "curves": of_curves,
    "compared": of_compared,
    "reads": of_reads,
    "lanes": of_lanes,
    "units": of_units,
    "speed": of_speed,
}
"""Results that are looked at, in the order of the table; those that are not there are left out."""


def budgets(results: Mapping[str, Result]) -> Iterator[Budget]:
    """Every budget that results say something of."""
    for name, result in results.items():
        yield from FROM[name](result)


def table(results: Mapping[str, Result]) -> Iterator[str]:
    """The same as the page shows it."""
    yield "| what | budget | measured | met |"
    yield "|---" * 4 + "|"
    for one in budgets(results):
        yield f"| {one.what} | {one.budget} | {one.measured} | {'yes' if one.met else 'no'} |"


def found(out: Output) -> dict[str, Result]:
    """The results that are there."""
    results: dict[str, Result] = {}
    for name in FROM:
        try:
            results[name] = out.result(name)
        except FileNotFoundError:
            print(f"{name}: no result yet")
    return results


def show(out: Output) -> None:
    """Write the table into its page."""
    out.table(PAGE, "budgets", COMMAND, table(found(out)))


def main(arguments: list[str]) -> int:
    """Bring the page up to date."""
    out = output(arguments, __doc__)
    show(out)
    for line in table(found(out)):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
