"""How many events per second a deployment takes, how long until their ranks, and the parameters for more events.

`make bench` (or `python -m benchmarks.models.ceiling`) writes `benchmarks/results/ceiling.json` and the tables of
`docs/capacity.md`. The figures come from a model (`benchmarks/models/lag.py`, `benchmarks/models/contention.py`), which
is compared with the product's projectors on an engine in this process, in the same virtual time.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil
from statistics import mean
from typing import Any, Final

from benchmarks.harness.results_file import output
from benchmarks.measure import lanes
from benchmarks.models import lag
from benchmarks.models.contention import BUSY, Drawn, busy
from benchmarks.models.cost.load_inputs import Traffic
from benchmarks.models.cost.usage import usage
from benchmarks.models.grid import ALL, SHIPPED
from benchmarks.models.lag import PER_SHARD, Deployment, Scene, as_row, simulate, writers_rate
from standings.aws.dynamodb.rankings.rankings import MAX_LANES
from standings.domain.boards.boards_toml import MAX_SHARDS
from standings.ports.scores import SLOTS

PAGE: Final = "docs/capacity.md"
COMMAND: Final = "make bench"
PROJECTORS: Final = (1, 2, 4, 8, 16)
BATCHES: Final = (100, 500)
SEEDS: Final = (2, 8)
"""Runs with the product's projectors, and runs of the model; runs differ because projectors draw their lanes."""
RATES: Final = (1_000.0, 10_000.0, 100_000.0)
BOARDS: Final = (1, 1_000)
WINDOWS: Final = {1: ALL, 3: SHIPPED}
"""Settings by the number of windows."""
SPARE: Final = 0.7
"""The share of a limit that a setting should use."""
WIDER: Final = ((1, 1), (2, 1), (5, 1), (10, 1), (10, 2), (10, 4), (10, 8))
"""The pairs to try, the smallest first: `ProjectorParallelizationFactor`, and the warm throughput factor of Scores."""
TABLE_QUOTA: Final = 40_000
"""Write units per second of an on-demand table or index, before you ask AWS for more.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
"""


def checked(*, small: bool) -> Iterator[dict[str, Any]]:
    """Run projectors that always have work on one board: the product's, and the model's."""
    drawn = Drawn(Traffic(members=lanes.MEMBERS))
    seconds, (runs, models) = (1.0, (1, 2)) if small else (BUSY, SEEDS)
    for batch in BATCHES[:1] if small else BATCHES:
        for count in PROJECTORS[:3] if small else PROJECTORS:
            real = [run(count, batch, seconds, seed) for seed in range(1, runs + 1)]
            modelled = [busy(drawn, count, MAX_LANES, batch, seed, seconds) for seed in range(1, models + 1)]
            ran, model = _means(real), _means(modelled)
            off = round(model["moves_per_second"] / ran["moves_per_second"] - 1, 3)
            row = {"projectors": count, "batch": batch, "run": ran, "model": model, "off": off}
            print(row, flush=True)
            yield row


def run(projectors: int, batch: int, seconds: float, seed: int) -> dict[str, float]:
    """Run the product's projectors; return the moves per second of batches done in time, and the cancelled share."""
    ran = lanes.Run(projectors, MAX_LANES, batch, 0.0, seconds, seed)
    return {"moves_per_second": ran.in_time / seconds, "cancelled_share": ran.row()["cancelled_share"]}


def _means(rows: list[dict[str, float]]) -> dict[str, float]:
    return {
        "moves_per_second": round(mean(row["moves_per_second"] for row in rows)),
        "cancelled_share": round(mean(row["cancelled_share"] for row in rows), 3),
    }


def limits(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the events per second on one board that each part takes as shipped, and at most."""
    shipped = Deployment()
    return {
        "writers": round(writers_rate(shipped)),
        "writers_most": round(writers_rate(replace(shipped, writers=1_000))),
        "scores": SLOTS * PER_SHARD,
        "index": shipped.shards * PER_SHARD,
        "index_most": MAX_SHARDS * PER_SHARD,
        "lanes": max(row["model"]["moves_per_second"] for row in rows),
        "stream": lag.FIRST_SHARDS * PER_SHARD,
    }


def scenes(lanes_rate: float, *, small: bool) -> Iterator[dict[str, Any]]:
    """Measure each load with the shipped parameters, and with the smallest that keep up."""
    drawn = Drawn(Traffic(members=1_000_000))
    for rate in RATES[:1] if small else RATES:
        for boards in BOARDS:
            for windows, settings in WINDOWS.items():
                scene = Scene(rate, boards, windows, usage(settings, Traffic()).single_writes)
                row = {
                    **as_row(scene, Deployment(), _shipped(scene, drawn)),
                    "set": _least(scene, drawn, lanes_rate),
                    "units": _units(scene),
                }
                print(row, flush=True)
                yield row


def _shipped(scene: Scene, drawn: Drawn) -> lag.Lag:
    """Measure the shipped parameters; the index of a hot board is one partition and alone limits its rate."""
    behind = lag.Lag(lag.SECONDS, lag.SECONDS, 0.0)
    hot = scene.boards == 1 and scene.rate > PER_SHARD
    if hot or writers_rate(Deployment()) < scene.rate:
        return behind
    return simulate(scene, Deployment(), drawn)


def _least(scene: Scene, drawn: Drawn, lanes_rate: float) -> dict[str, Any] | None:
    """Return the smallest parameters that keep up, None if there are none."""
    hot = scene.boards == 1
    if hot and scene.rate > lanes_rate:
        return None
    each = writers_rate(Deployment(writers=1))
    base = Deployment(
        writers=max(Deployment().writers, ceil(scene.rate / SPARE / each)),
        shards=min(MAX_SHARDS, ceil(scene.rate / scene.boards / SPARE / PER_SHARD)),
    )
    for parallelization, warm in WIDER:
        deployment = replace(base, parallelization=parallelization, warm=warm)
        if not hot and lag.projectors_rate(scene, deployment) < scene.rate:
            continue
        outcome = simulate(scene, deployment, drawn)
        if outcome.keeps_up:
            return as_row(scene, deployment, outcome)
    return None


def _units(scene: Scene) -> dict[str, float]:
    """Return the write units per second of each table and of the index."""
    batch = max(1, round(min(500, scene.rate / 4 / lag.FIRST_SHARDS) / scene.boards))
    used = usage(WINDOWS[scene.windows], Traffic(batch=batch))
    return {
        "Scores": round(used.scores * scene.rate),
        "Receipts": round(used.receipts * scene.rate),
        "Rankings": round((used.entries + used.tiers) * scene.rate),
        "places": round(used.index * scene.rate),
    }


def of_limits(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of what each part takes."""
    at = {name: f"{round(rate):,}" for name, rate in result["limits"].items()}
    yield "| part | events/s as shipped | events/s at most | raised by |"
    yield "|---" * 4 + "|"
    yield (
        f"| writers, whole batches | {at['writers']} | {at['writers_most']} | `WriterMaximumConcurrency`, "
        f"then your account's concurrency |"
    )
    yield f"| Scores: {SLOTS} keys of a board | {at['stream']} at first | {at['scores']} | warm throughput of Scores |"
    yield f"| sorted index of a ranking | {at['index']} | {at['index_most']} | `shards` of the family |"
    most = at["lanes"]
    tiers = f"tiers of a ranking, {MAX_LANES} lanes, batches of {BATCHES[-1]}"
    yield f"| {tiers} | {most} | {most} | batches, not projectors |"


def of_scenes(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of lags as shipped, and of the parameters to set."""
    yield (
        "| events/s | boards | windows | as shipped: p50, p99 | `WriterMaximumConcurrency` | "
        "`ProjectorParallelizationFactor` | `shards` | stream shards | then: p50, p99 | functions at once |"
    )
    yield "|---" * 10 + "|"
    for row in result["scenes"]:
        parameters = row["set"]
        before = f"{row['p50']:.1f} s, {row['p99']:.1f} s" if row["keeps_up"] else "falls behind"
        if parameters is None:
            after = "| | | | | **more than this takes** | |"
        else:
            writers, factor = parameters["WriterMaximumConcurrency"], parameters["ProjectorParallelizationFactor"]
            shards = parameters["stream_shards"]
            after = (
                f"| {writers} | {factor} | {parameters['shards']} | {shards} | {parameters['p50']:.1f} s, "
                f"{parameters['p99']:.1f} s | {writers + shards * factor:,} |"
            )
        yield f"| {row['events_per_second']:,.0f} | {row['boards']:,} | {row['windows']} | {before} {after}"


def of_units(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of write units per second."""
    names = ("Scores", "Receipts", "Rankings", "places")
    yield f"| events/s | boards | windows | {' | '.join(names)} |"
    yield "|---" * (3 + len(names)) + "|"
    for row in result["scenes"]:
        cells = (f"{row['units'][name]:,}" + "*" * (row["units"][name] > TABLE_QUOTA) for name in names)
        yield f"| {row['events_per_second']:,.0f} | {row['boards']:,} | {row['windows']} | {' | '.join(cells)} |"
    yield ""
    yield f"\\* above {TABLE_QUOTA:,}, the quota of an on-demand table before you ask AWS for more."


def of_check(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of the model and the product's projectors."""
    yield "| projectors | batch | moves/s: run | model | error | cancelled: run | model |"
    yield "|---" * 7 + "|"
    for row in result["check"]:
        run, model = row["run"], row["model"]
        yield (
            f"| {row['projectors']} | {row['batch']} | {run['moves_per_second']:,} | {model['moves_per_second']:,} | "
            f"{100 * row['off']:+.0f} % | {100 * run['cancelled_share']:.1f} % | "
            f"{100 * model['cancelled_share']:.1f} % |"
        )
    yield ""
    yield (
        f"Error: at most {100 * result['most_off']:.0f} %, on average {100 * result['mean_off']:.0f} %; "
        f"of the cancelled share at most {100 * result['most_off_cancelled']:.0f} points."
    )


TABLES: Final = {"scenes": of_scenes, "limits": of_limits, "units": of_units, "check": of_check}


def measure(*, small: bool) -> dict[str, Any]:
    """Return the whole result."""
    rows = list(checked(small=small))
    most = limits(rows)
    return {
        "check": rows,
        "most_off": max(abs(row["off"]) for row in rows),
        "mean_off": round(mean(abs(row["off"]) for row in rows), 3),
        "most_off_cancelled": max(
            round(abs(row["model"]["cancelled_share"] - row["run"]["cancelled_share"]), 3) for row in rows
        ),
        "limits": most,
        "scenes": list(scenes(most["lanes"], small=small)),
    }


def main(arguments: list[str]) -> int:
    """Compute and measure, write the result and update the page."""
    out = output(arguments, __doc__)
    out.publish("ceiling", measure(small=out.small), PAGE, COMMAND, TABLES)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
