"""The tables and pictures of the curves."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from benchmarks.harness.shapes import SHAPES
from benchmarks.measure.comparison.event_curves import SHARDS
from benchmarks.measure.comparison.read_curves import RANK, READS
from benchmarks.pages.plots import plot

BASE: Final = 10_000
"""Members of the board that the largest one is compared with."""
Row = dict[str, Any]


def of_reads(result: Row) -> Iterator[str]:
    """Return the table of reads: read units at most, round trips and time."""
    yield f"| scores | members | {' | '.join(READS)} |"
    yield "|---" * (len(READS) + 2) + "|"
    rows = {(row["shape"], row["members"], row["read"]): row for row in result["reads"]}
    for shape, count in dict.fromkeys((shape, count) for shape, count, _ in rows):
        cells = (rows[shape, count, read] for read in READS)
        yield f"| {shape} | {count:,} | {' | '.join(map(_read_cell, cells))} |"


def _read_cell(row: Row) -> str:
    if "asked" not in row:
        return "refused"
    return f"{row['read_units_most']:g} ({row['round_trips_most']}), {row['time_per_get_item']:,.0f} ×"


def flatness(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the read units of a rank on the largest board, divided by those at 10,000 members, by shape."""
    rows = {(row["shape"], row["members"]): row for row in result["reads"] if row["read"] == RANK}
    most = max(count for _, count in rows)
    return {
        shape: max(rows[shape, most][kind] / rows[shape, BASE][kind] for kind in ("read_units_mean", "read_units_most"))
        for shape in dict.fromkeys(shape for shape, _ in rows)
    }


def of_flatness(result: Row) -> Iterator[str]:
    """Return the table of these quotients."""
    most = max(row["members"] for row in result["reads"])
    yield f"| scores | a rank at {most:,} members ÷ at {BASE:,}, in read units |"
    yield "|---|---|"
    for shape, share in flatness(result).items():
        yield f"| {shape} | {share:.2f} |"


def of_events(result: Row) -> Iterator[str]:
    """Return the table of events."""
    yield "| varied | batch | amounts | windows | write units | tiers and entries alone | index alone | read units |"
    yield "|---" * 8 + "|"
    for row in result["events"]:
        by = row["by_table"]
        yield (
            f"| {row['varied']} | {row['batch']} | {row['amounts'][0]:,}–{row['amounts'][1]:,} | "
            f"{', '.join(f'`{one}`' for one in row['windows'])} | {row['write_units']:g} | {by['Rankings']:g} | "
            f"{by['Rankings/places']:g} | {row['read_units']:g} |"
        )


def of_ceilings(result: Row) -> Iterator[str]:
    """Return the table of events per second until a key is hot, and which key."""
    yield f"| records in a batch | lanes | {' | '.join(f'{one} shards' for one in SHARDS)} |".replace(
        " 1 shards", " 1 shard"
    )
    yield "|---" * (len(SHARDS) + 2) + "|"
    rows = {(row["batch"], row["lanes"], row["shards"]): row for row in result["ceilings"]}
    for batch, lanes in dict.fromkeys((batch, lanes) for batch, lanes, _ in rows):
        cells = (rows[batch, lanes, shards] for shards in SHARDS)
        shown = " | ".join(f"{cell['events_per_second']:,} ({cell['first']})" for cell in cells)
        yield f"| {batch} | {lanes} | {shown} |"


TABLES: Final[dict[str, Callable[[Row], Iterator[str]]]] = {
    "reads": of_reads,
    "flat": of_flatness,
    "events": of_events,
    "ceilings": of_ceilings,
}


def pictures(result: Row) -> dict[str, str]:
    """Return the plots by path."""
    ranks = {
        shape: [
            (row["members"], row["read_units_mean"])
            for row in result["reads"]
            if row["shape"] == shape and row["read"] == RANK
        ]
        for shape in SHAPES
    }
    reads = {
        read: [
            (row["members"], row["read_units_most"])
            for row in result["reads"]
            if row["shape"] == "log-normal" and row["read"] == read
        ]
        for read in READS
    }
    ceiling: dict[str, list[tuple[float, float]]] = {}
    for row in result["ceilings"]:
        name = f"batches of {row['batch']}, {row['lanes']} lane{'s' if row['lanes'] > 1 else ''}"
        ceiling.setdefault(name, []).append((row["shards"], row["events_per_second"]))
    return {
        "docs/pictures/rank-shapes.svg": plot("A rank, by how scores are spread", "members", "read units", ranks),
        "docs/pictures/reads.svg": plot("Reads of log-normal scores", "members", "read units", reads),
        "docs/pictures/ceilings.svg": plot(
            "Events per second when the first key takes 1,000 write units", "shards of the index", "events/s", ceiling
        ),
    }
