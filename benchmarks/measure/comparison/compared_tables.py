"""The tables and pictures of the comparison with other ways to rank."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from benchmarks.harness.shapes import SHAPES
from benchmarks.measure import staleness
from benchmarks.measure.comparison.list_costs import SHAPE, SHARDS
from benchmarks.pages.plots import plot
from benchmarks.rivals.board import OURS

Row = dict[str, Any]


def of_ranks(result: Row) -> Iterator[str]:
    """Return the table of the median member's rank, by method, shape and members."""
    yield "| scores | members | method | read units | requests | time | refresh: read units | refresh: write units |"
    yield "|---" * 8 + "|"
    for row in result["ranks"]:
        job = (f"{row.get(f'refresh_{kind}_units', 0):,g}" for kind in ("read", "write"))
        yield (
            f"| {row['shape']} | {row['members']:,} | {row['method']} | {row['read_units']:,g} | {row['requests']:,} | "
            f"{row['time_per_get_item']:,g} | {' | '.join('' if one == '0' else one for one in job)} |"
        )


def of_accuracy(result: Row) -> Iterator[str]:
    """Return the table of wrong ranks right after a refresh."""
    yield f"| method | {' | '.join(SHAPES)} |"
    yield "|---" * (len(SHAPES) + 1) + "|"
    rows = {(row["method"], row["shape"]): row for row in result["accuracy"]}
    for method in dict.fromkeys(method for method, _ in rows):
        cells = (rows[method, shape] for shape in SHAPES)
        shown = (
            f"{100 * cell['wrong_share']:g} %, by {cell['error_mean']:,g}" if cell["error_most"] else "0 %"
            for cell in cells
        )
        yield f"| {method} | {' | '.join(shown)} |"


def of_changes(result: Row) -> Iterator[str]:
    """Return the table of changes, with the ceiling of the hottest key."""
    yield "| method | write units | read units | events per second at the hottest key | its table or index |"
    yield "|---" * 5 + "|"
    for row in result["changes"]:
        yield (
            f"| {row['method']} | {row['write_units']:g} | {row['read_units']:g} | {row['events_per_second']:,} | "
            f"{row['hottest']} |"
        )


def of_days(result: Row) -> Iterator[str]:
    """Return the table of sums of the last days."""
    yield "| method | write units | read units |"
    yield "|---" * 3 + "|"
    for row in result["days"]:
        yield f"| {row['method']} | {row['write_units']:g} | {row['read_units']:g} |"


def of_tops(result: Row) -> Iterator[str]:
    """Return the table of the top N of ten shards."""
    columns = f"{OURS}: read units | entries | N from each shard: read units | entries"
    yield f"| top N of {SHARDS} shards | members | {columns} |"
    yield "|---" * 6 + "|"
    for row in result["tops"]:
        yield (
            f"| {row['top']:,} | {row['members']:,} | {row['read_units']:g} | {row['entries']:,} | "
            f"{row['naive_read_units']:g} | {row['naive_entries']:,} |"
        )


def of_redis(result: Row) -> Iterator[str]:
    """Return the table of a sorted set's times."""
    reads = list(result["redis"][0]["time_per_get"])
    yield f"| members | {' | '.join(reads)} | bytes of memory per member |"
    yield "|---" * (len(reads) + 2) + "|"
    for row in result["redis"]:
        times = " | ".join(f"{row['time_per_get'][read]:g}" for read in reads)
        yield f"| {row['members']:,} | {times} | {row['bytes_per_member']} |"


TABLES: Final[dict[str, Callable[[Row], Iterator[str]]]] = {
    "ranks": of_ranks,
    "accuracy": of_accuracy,
    "changes": of_changes,
    "days": of_days,
    "tops": of_tops,
    "staleness": staleness.table,
    "redis": of_redis,
}


def pictures(result: Row) -> dict[str, str]:
    """Return the plots by path."""
    by_method: dict[str, list[tuple[float, float]]] = {}
    for row in result["ranks"]:
        if row["shape"] == SHAPE:
            by_method.setdefault(row["method"], []).append((row["members"], row["read_units"]))
    return {
        "docs/pictures/rank-units.svg": plot(
            "Read units of the median member's rank, log-normal scores", "members", "read units", by_method
        ),
        "docs/pictures/staleness.svg": plot(
            "Mean error of ranks of any members, while events flow",
            "seconds; jobs run at 0, 60 and 120",
            "places",
            staleness.lines(result),
        ),
    }
