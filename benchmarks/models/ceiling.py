"""How many events per second a deployment takes, how long until their ranks, and the parameters for more events.

`python -m benchmarks ceiling` writes `benchmarks/results/ceiling.json` and the tables of capacity in
`docs/performance.md` and `docs/performance-tables.md`. What the projectors of one board bear is measured: they are the
product's, in virtual time (`benchmarks/measure/lanes.py`). The rest is arithmetic with the times of
`benchmarks/models/assumed.py`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from statistics import mean
from typing import Any, Final

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import Output
from benchmarks.measure import lanes
from benchmarks.models import assumed
from benchmarks.models.cost.counted import Settings, Traffic, usage
from benchmarks.pages.tables import Lines, Result, Row, Table
from standings.domain.boards_toml import MAX_SHARDS
from standings.rankings.calendar.storing import MAX_LANES
from standings.stores import SLOTS

PROJECTORS: Final = (1, 2, 4, 8, 16)
BATCHES: Final = (100, 500)
RUNS: Final = 2
"""Runs of the same projectors; they differ because projectors take their lanes by chance."""
SECONDS: Final = 4.0
"""Virtual seconds after which a projector begins no more batches."""
RATES: Final = (1_000.0, 10_000.0, 100_000.0)
BOARDS: Final = (1, 1_000)
WINDOWS: Final = {1: Settings(windows=("all",)), 3: Settings()}
"""Settings by the number of windows."""
SPARE: Final = 0.7
"""The share of a limit that a setting should use."""
WIDER: Final = ((1, 1), (2, 1), (5, 1), (10, 1), (10, 2), (10, 4), (10, 8))
"""The pairs to try, the smallest first: `ProjectorParallelizationFactor`, and the warm throughput factor of Scores."""
POLL: Final = 0.25
"""Seconds between polls of a shard without new records.

https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
"""
PER_SHARD: Final = 500
"""Changes per second of a partition of Scores, and so of a shard of its stream; also of a shard of an index.

A change in a transaction takes two write units, and so does a row of the index that moves. A partition takes 1,000.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
"""
FIRST_SHARDS: Final = 4
"""Partitions, and so stream shards, of a new on-demand table: 4,000 write units per second.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""
EVENTS_OF_TRANSACTION: Final = 50
"""Events in a transaction; each has a receipt and, with different members, an item."""
TABLE_QUOTA: Final = 40_000
"""Write units per second of an on-demand table or index, before you ask AWS for more.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
"""
Tiers = Mapping[tuple[int, int], float]
"""Moves a second of projectors on one board, by their number and their batch."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Parameters of `template.yaml`, and `shards` of `boards.toml`."""

    writer_batch: int = 1_000
    window: float = 1.0
    writers: int = 10
    projector_batch: int = 500
    parallelization: int = 1
    shards: int = 1
    warm: int = 1
    """The warm throughput of Scores, as a multiple of the write units of the rate; it multiplies the stream shards."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Events per second of different members, the number of boards, and the windows of each board.

    In a rolling window an event also makes single writes, of list items: so many in all windows.
    """

    rate: float
    boards: int
    windows: int
    single_writes: float = 0.0


@dataclass(frozen=True, slots=True)
class Lag:
    """Seconds from an event on the queue to its rank, on average and at most, if nothing waits for a free function."""

    average: float
    most: float


def writer_seconds(events: float) -> float:
    """Return the seconds of one run of the writer."""
    transactions = ceil(events / EVENTS_OF_TRANSACTION)
    return assumed.INVOCATION + events * assumed.EVENT + transactions * assumed.TRANSACTION


def writers_rate(deployment: Deployment) -> float:
    """Return the events per second of all writers, with full batches."""
    return deployment.writers * deployment.writer_batch / writer_seconds(deployment.writer_batch)


def shards_of_stream(rate: float, deployment: Deployment) -> int:
    """Return the shards of the stream at this rate, after DynamoDB has split busy partitions."""
    return deployment.warm * max(FIRST_SHARDS, ceil(rate / PER_SHARD))


def projector_seconds(scene: Scene, projectors: int, records: float, tiers: Tiers) -> float:
    """Return the seconds of one run of a projector, beside all others.

    On one board it takes as long for its moves as was measured. On many boards each has transactions of its own.
    """
    own: float = assumed.INVOCATION + records * (assumed.EVENT + scene.windows * assumed.MOVE)
    own += assumed.single_writes(records * scene.single_writes)
    if scene.boards == 1:
        near = min(tiers, key=lambda run: (abs(run[0] - projectors), abs(run[1] - records)))
        return own + records * near[0] / tiers[near]
    boards: float = scene.boards * (1 - (1 - 1 / scene.boards) ** records)
    return own + ceil(boards * scene.windows / assumed.SIDE_BY_SIDE) * assumed.TRANSACTION


def lag_of(scene: Scene, deployment: Deployment, tiers: Tiers, used: float = 1.0) -> Lag | None:
    """Return the lag of a deployment, None if its projectors need more than this share of their time."""
    projectors = shards_of_stream(scene.rate, deployment) * deployment.parallelization
    full = projector_seconds(scene, projectors, deployment.projector_batch, tiers)
    if (
        writers_rate(deployment) < scene.rate
        or scene.rate / scene.boards > deployment.shards * PER_SHARD
        or (scene.boards == 1 and scene.rate > max(tiers.values()))
        or used * projectors * deployment.projector_batch / full < scene.rate
    ):
        return None
    needed = ceil(2 * scene.rate * deployment.writers / writers_rate(deployment))
    each = scene.rate / min(deployment.writers, max(assumed.POLLERS, needed))
    gathered = min(deployment.window, deployment.writer_batch / each)
    writing = writer_seconds(each * gathered)
    # A projector takes what has come since its last run, and first what a writer has written at once.
    records = each * gathered / projectors
    for _ in range(50):
        took = projector_seconds(scene, projectors, records, tiers)
        records = min(deployment.projector_batch, max(records, scene.rate / projectors * max(POLL, took)))
    took = projector_seconds(scene, projectors, records, tiers)
    return Lag((gathered + writing + POLL) / 2 + took, gathered + writing + POLL + 2 * took)


def least(scene: Scene, tiers: Tiers) -> tuple[Deployment, Lag] | None:
    """Return the smallest parameters that keep up and their lag, None if there are none.

    On many boards projectors have some time to spare. On a single one more projectors do not help.
    """
    used = 1.0 if scene.boards == 1 else SPARE
    each = writers_rate(Deployment(writers=1))
    base = Deployment(
        writers=max(Deployment().writers, ceil(scene.rate / SPARE / each)),
        shards=min(MAX_SHARDS, ceil(scene.rate / scene.boards / SPARE / PER_SHARD)),
    )
    for parallelization, warm in WIDER:
        deployment = replace(base, parallelization=parallelization, warm=warm)
        if lag := lag_of(scene, deployment, tiers, used):
            return deployment, lag
    return None


def tier_run(batch: int, count: int, *, small: bool) -> dict[str, Any]:
    """Run the product's projectors that always have work on one board: moves a second, and the cancelled share."""
    seconds, seeds = (0.5, range(1, 2)) if small else (SECONDS, range(1, RUNS + 1))
    runs = [lanes.Run(count, MAX_LANES, batch, 0.0, seconds, seed) for seed in seeds]
    return {
        "projectors": count,
        "batch": batch,
        "moves_per_second": round(mean(run.in_time / seconds for run in runs)),
        "cancelled_share": round(mean(run.row()["cancelled_share"] for run in runs), 3),
    }


def measure(out: Output) -> dict[str, Any]:
    counts = PROJECTORS[:3] if out.small else PROJECTORS
    runs = [tier_run(batch, count, small=out.small) for batch in BATCHES for count in counts]
    tiers = {(row["projectors"], row["batch"]): row["moves_per_second"] for row in runs}
    return {"runs": runs, "limits": limits(tiers), "scenes": list(scenes(tiers, small=out.small))}


def limits(tiers: Tiers) -> dict[str, float]:
    """Return the events per second on one board that each part takes as shipped, and at most."""
    shipped = Deployment()
    return {
        "writers": round(writers_rate(shipped)),
        "writers_most": round(writers_rate(replace(shipped, writers=1_000))),
        "scores": SLOTS * PER_SHARD,
        "index": shipped.shards * PER_SHARD,
        "index_most": MAX_SHARDS * PER_SHARD,
        "tiers": max(tiers.values()),
        "stream": FIRST_SHARDS * PER_SHARD,
    }


def scenes(tiers: Tiers, *, small: bool) -> Iterator[dict[str, Any]]:
    """Yield each load with the lag of the shipped parameters, the smallest that keep up, and the write units."""
    for rate, boards, (windows, settings) in product(RATES[:1] if small else RATES, BOARDS, WINDOWS.items()):
        batch = max(1, round(min(500, rate / 4 / FIRST_SHARDS) / boards))
        used = usage(settings, Traffic(members=20_000, batch=batch))
        scene = Scene(rate, boards, windows, used.single_writes)
        shipped, found = lag_of(scene, Deployment(), tiers), least(scene, tiers)
        units = {"Scores": used.scores, "Receipts": used.receipts, "Rankings": used.rankings, "places": used.places}
        yield {
            "events_per_second": rate,
            "boards": boards,
            "windows": windows,
            "shipped": shipped and _seconds(shipped),
            "set": found and _parameters(rate, *found),
            "units": {name: round(each * rate) for name, each in units.items()},
        }


def _seconds(lag: Lag) -> dict[str, float]:
    return {"average": round(lag.average, 2), "most": round(lag.most, 2)}


def _parameters(rate: float, deployment: Deployment, lag: Lag) -> dict[str, Any]:
    stream_shards = shards_of_stream(rate, deployment)
    return {
        "WriterMaximumConcurrency": deployment.writers,
        "ProjectorParallelizationFactor": deployment.parallelization,
        "shards": deployment.shards,
        "stream_shards": stream_shards,
        "functions": deployment.writers + stream_shards * deployment.parallelization,
        **_seconds(lag),
    }


def of_limits(result: Result) -> Iterator[str]:
    at = {name: f"{rate:,}" for name, rate in result["limits"].items()}
    yield "| part | events/s as shipped | events/s at most | raised by |"
    yield "|---" * 4 + "|"
    concurrency = "`WriterMaximumConcurrency`, then your account's concurrency"
    yield f"| writers, whole batches | {at['writers']} | {at['writers_most']} | {concurrency} |"
    yield f"| Scores: {SLOTS} keys of a board | {at['stream']} at first | {at['scores']} | warm throughput of Scores |"
    yield f"| sorted index of a ranking | {at['index']} | {at['index_most']} | `shards` of the family |"
    tiers = f"tiers of a ranking, {MAX_LANES} lanes, batches of {BATCHES[-1]}"
    yield f"| {tiers} | {at['tiers']} | {at['tiers']} | batches, not projectors |"


def of_scenes(result: Result) -> Iterator[Row]:
    """Yield the loads; of those that are more than one board takes, the smallest."""
    set_ = (
        "{WriterMaximumConcurrency} | {ProjectorParallelizationFactor} | {shards} | {stream_shards} | "
        "{average:.1f} s, {most:.1f} s | {functions:,}"
    )
    beyond: dict[tuple[Any, ...], float] = {}
    for row in result["scenes"]:
        load = row["boards"], row["windows"]
        if row["set"] is None and beyond.setdefault(load, row["events_per_second"]) < row["events_per_second"]:
            continue
        before = "{average:.1f} s, {most:.1f} s".format_map(row["shipped"]) if row["shipped"] else "falls behind"
        after = set_.format_map(row["set"]) if row["set"] else "| | | | **more than this takes** |"
        yield {**row, "before": before, "after": after}


def of_units(result: Result) -> Iterator[str]:
    """Return the table of write units per second; those above the quota have a star.

    The highest rate is left out: it takes ten times the units of the one before.
    """
    yield from Table(
        "events/s | boards | windows | Scores | Receipts | Rankings | places",
        "{events_per_second:,.0f} | {boards:,} | {windows} | {Scores} | {Receipts} | {Rankings} | {places}",
        lambda one: (
            row | {name: f"{rate:,}{'*' if rate > TABLE_QUOTA else ''}" for name, rate in row["units"].items()}
            for row in one["scenes"]
            if row["events_per_second"] < RATES[-1]
        ),
    )(result)
    yield ""
    yield f"\\* above {TABLE_QUOTA:,}, the quota of an on-demand table before you ask AWS for more."


TABLES: Final[dict[str, Lines]] = {
    "scenes": Table(
        "events/s | boards | windows | as shipped: average, at most | `WriterMaximumConcurrency` | "
        "`ProjectorParallelizationFactor` | `shards` | stream shards | then: average, at most | functions at once",
        "{events_per_second:,.0f} | {boards:,} | {windows} | {before} | {after}",
        of_scenes,
    ),
    "limits": of_limits,
}
BENCHMARK: Final = Benchmark(
    "ceiling", measure, {"docs/performance.md": TABLES, "docs/performance-tables.md": {"per_second": of_units}}
)
