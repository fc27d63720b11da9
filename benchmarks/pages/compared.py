"""The tables and pictures of other ways to rank, from their last measurement.

The result says on which day they were measured, and at which commit the code of their methods stands, which is no
longer here. `python -m benchmarks compared` writes the tables again.
"""

from collections.abc import Iterator
from statistics import mean
from typing import Final

from benchmarks.harness.benchmark import Benchmark
from benchmarks.pages.plots import plot
from benchmarks.pages.tables import Lines, Result, Row, Table, crossed

OURS: Final = "Standings"
COUNTING: Final = "count everyone above"
PUBLISHED: Final = "fixed tiers, the rule as published"


def of_ranks(result: Result) -> Iterator[Row]:
    """Return the rows of the median member's rank, with the units of the method's job."""
    for row in result["ranks"]:
        yield {"refresh_read_units": 0, "refresh_write_units": 0, **row}


def of_accuracy(result: Result) -> Iterator[str]:
    """Return the table of wrong ranks right after a refresh."""

    def cell(row: Row) -> str:
        return f"{100 * row['wrong_share']:g} %, by {row['error_mean']:,g}" if row["error_most"] else "0 %"

    return crossed("method", ((row["method"], row["shape"], cell(row)) for row in result["accuracy"]))


def of_staleness(result: Result) -> Iterator[str]:
    """Return what was measured while events flowed, and the table of errors by method."""
    staleness = result["staleness"]
    yield (
        "{events_per_second} events per second on {members:,} members with uniform scores; each event gives another "
        "member 1 to {most_points:,} points. Schedules run every {refresh_every} seconds. Every {asked_every} seconds "
        "the ranks of {asked} members are compared; half of them have just moved."
    ).format_map(staleness)
    yield ""
    yield from Table(
        "method | mean error of a rank: members that just moved | any members | largest error",
        "{method} | {just moved:,.1f} | {others:,.1f} | {most:,}",
        lambda _: (
            {
                "method": name,
                "most": staleness["error_most"][name],
                **{kind: mean(values) for kind, values in errors.items()},
            }
            for name, errors in staleness["mean_errors"].items()
        ),
    )(result)


TABLES: Final[dict[str, Lines]] = {
    "ranks": Table(
        "scores | members | method | read units | requests | time | refresh: read units | refresh: write units",
        "{shape} | {members:,} | {method} | {read_units:,g} | {requests:,} | {time_per_get_item:,g} | "
        "{refresh_read_units:,g} | {refresh_write_units:,g}",
        of_ranks,
    ),
    "accuracy": of_accuracy,
    "changes": Table(
        "method | write units | read units | events per second at the hottest key | its table or index",
        "{method} | {write_units:g} | {read_units:g} | {events_per_second:,} | {hottest}",
        "changes",
    ),
    "days": Table("method | write units | read units", "{method} | {write_units:g} | {read_units:g}", "days"),
    "tops": Table(
        f"top N of 10 shards | members | {OURS}: read units | entries | N from each shard: read units | entries",
        "{top:,} | {members:,} | {read_units:g} | {entries:,} | {naive_read_units:g} | {naive_entries:,}",
        "tops",
    ),
    "staleness": of_staleness,
    "redis": Table(
        "members | a rank | top 100 | around me | 100 at the middle | bytes of memory per member",
        "{members:,} | {time_per_get[a rank]:g} | {time_per_get[top 100]:g} | {time_per_get[around me]:g} | "
        "{time_per_get[100 at the middle]:g} | {bytes_per_member}",
        "redis",
    ),
}


def pictures(result: Result) -> dict[str, str]:
    """Return the plots by path. A method whose ranks are always right has no line among the errors."""
    by_method: dict[str, list[tuple[float, float]]] = {}
    for row in result["ranks"]:
        if row["shape"] == "log-normal":
            by_method.setdefault(row["method"], []).append((row["members"], row["read_units"]))
    staleness = result["staleness"]
    errors = {
        name: [(staleness["asked_every"] * (number + 1), error) for number, error in enumerate(by_kind["others"])]
        for name, by_kind in staleness["mean_errors"].items()
        if any(by_kind["others"])
    }
    return {
        "docs/pictures/rank-units.svg": plot(
            "Read units of the median member's rank, log-normal scores", "members", "read units", by_method
        ),
        "docs/pictures/staleness.svg": plot(
            "Mean error of ranks of any members, while events flow",
            "seconds; jobs run at 0, 60 and 120",
            "places",
            errors,
        ),
    }


BENCHMARK: Final = Benchmark(
    "compared", None, {"docs/performance.md": TABLES}, "python -m benchmarks compared", pictures
)
