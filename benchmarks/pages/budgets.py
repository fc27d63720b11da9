"""The budgets of reads and events and the measured figures, in one table of all results.

`python -m benchmarks.pages.budgets` writes it into `docs/performance.md`.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from benchmarks.harness.results_file import Output, output
from benchmarks.measure import reads
from benchmarks.measure.comparison.curve_tables import BASE, flatness
from benchmarks.measure.comparison.event_curves import SHARDS
from benchmarks.measure.comparison.read_curves import DEEP, ON, RANK, READS, TOP
from benchmarks.measure.speed import speed
from benchmarks.pages import rolling_budgets
from benchmarks.pages.budget import Budget, Result
from benchmarks.rivals.board import OURS
from benchmarks.rivals.counting import CountAbove

PAGE: Final = "docs/performance.md"
COMMAND: Final = "make bench"
ENOUGH: Final = 1.75
"""The factor by which twice the shards must raise the ceiling; it is below 2 because members spread unevenly."""


def of_curves(result: Result) -> Iterator[Budget]:
    """Return the budgets of reads at every size, and those of the hottest key."""
    most = max(row["members"] for row in result["reads"])
    done = [row for row in result["reads"] if "asked" in row]
    of = {read: [row for row in done if row["read"] == read] for read in READS}
    units = {read: max(row["read_units_most"] for row in rows) for read, rows in of.items() if rows}
    trips = {read: max(row["round_trips_most"] for row in rows) for read, rows in of.items() if rows}
    yield Budget(
        f"a member's rank, scores below 2^28, all shapes, 1,000 to {most:,} members",
        "≤ 3 read units, 2 round trips",
        f"{units[RANK]:g}, {trips[RANK]}",
        units[RANK] <= 3 and trips[RANK] <= 2,
    )
    flat = max(flatness(result).values())
    yield Budget(f"the same at {most:,} members ÷ at {BASE:,}, all shapes", "≤ 1.1", f"{flat:.2f}", flat <= 1.1)
    yield Budget(
        "top 100 with the total, ids of 20 bytes",
        "≤ 2.5 read units, 1 round trip",
        f"{units[TOP]:g}, {trips[TOP]}",
        units[TOP] <= 2.5 and trips[TOP] == 1,
    )
    top = {(row["shape"], row["members"]): row["read_units_most"] for row in of[TOP]}
    # In these shapes few members share a score, so a page skips few entries.
    more = max(
        row["read_units_most"] - top[row["shape"], row["members"]]
        for row in of[DEEP]
        if row["shape"] in {"log-normal", "uniform"}
    )
    yield Budget("100 at the middle, few equals", "≤ 2.5 read units more", f"{more:g} more", more <= 2.5)
    on = max(row["read_units_most"] - top[row["shape"], row["members"]] for row in of[ON])
    yield Budget("100 by cursor from the middle, any equals", "≤ 2.5 read units more", f"{on:g} more", on <= 2.5)
    yield from of_ceilings(result)


def of_ceilings(result: Result) -> Iterator[Budget]:
    """Return the budgets of the hottest key."""
    four = min(row["events_per_second"] for row in result["ceilings"] if row["shards"] == 4)
    yield Budget(
        "a hot board of 4 shards, events of different members, until a key takes 1,000 write units per second",
        "≥ 1,000 events/s",
        f"{four:,}",
        four >= 1_000,
    )
    together = {row["shards"]: row["events_per_second"] for row in result["ceilings"] if row["batch"] > 1}
    growth = min(together[2 * shards] / together[shards] for shards in SHARDS[:-1])
    yield Budget(
        "the same with twice the shards, batches of 100",
        f"≥ {ENOUGH:g} ×",
        f"{growth:.2f} ×",
        growth >= ENOUGH,
    )


def of_compared(result: Result) -> Iterator[Budget]:
    """Return the budget of a rank compared with counting everyone above."""
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
    """Return the budgets of previous ranks, and of lists from several shards."""
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
    """Return the budgets of a rank on a hot board."""
    for row in result["reads"]:
        if row["lanes"] > 1:
            units, trips, most = row["read_units_most"], row["round_trips_first"], 0.5 + 2.5 * row["lanes"]
            yield Budget(
                f"a rank on a hot board of {row['lanes']} lanes",
                f"≤ {most:g} read units, 3 round trips",
                f"{units:g}, {trips}",
                units <= most and trips <= 3,
            )


def of_speed(result: Result) -> Iterator[Budget]:
    """Return the budgets of the pace of one core, and of the starts of functions."""
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
    "rolling_reads": rolling_budgets.of_reads,
    "units": rolling_budgets.of_events,
    "streams": rolling_budgets.of_streams,
    "speed": of_speed,
}
"""The results that have budgets, in the order of the table."""


def budgets(results: Mapping[str, Result]) -> Iterator[Budget]:
    """Yield the budgets of all results."""
    for name, result in results.items():
        yield from FROM[name](result)


def table(results: Mapping[str, Result]) -> Iterator[str]:
    """Return the lines of the page's table."""
    yield "| what | budget | measured | met |"
    yield "|---" * 4 + "|"
    for one in budgets(results):
        yield f"| {one.subject} | {one.budget} | {one.measured} | {'yes' if one.met else 'no'} |"


def read_results(out: Output) -> dict[str, Result]:
    """Read the results; a missing one is reported and left out."""
    results: dict[str, Result] = {}
    for name in FROM:
        try:
            results[name] = out.result(name)
        except FileNotFoundError:
            print(f"{name}: no result yet")
    return results


def main(arguments: list[str]) -> int:
    """Update the page."""
    out = output(arguments, __doc__)
    lines = list(table(read_results(out)))
    out.table(PAGE, "budgets", COMMAND, lines)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
