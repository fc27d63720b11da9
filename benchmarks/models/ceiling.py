"""How many events a second a deployment takes, how long they take to their ranks, and what to set for more.

`make bench` (or `python -m benchmarks.models.ceiling`) writes `benchmarks/results/ceiling.json` and the tables of
`docs/capacity.md`: a model (`benchmarks/models/lag.py`, `benchmarks/models/contention.py`), and beside it the real
projectors on an
engine in this process, in the same virtual time.
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
from benchmarks.models.cost.usage import Traffic, usage
from benchmarks.models.grid import ALL, SHIPPED
from benchmarks.models.lag import PER_SHARD, Deployment, Scene, as_row, found, writers_rate
from standings.aws.dynamodb.rankings.rankings import MAX_LANES
from standings.domain.boards.boards_toml import MAX_SHARDS
from standings.ports.scores import SLOTS

PAGE: Final = "docs/capacity.md"
COMMAND: Final = "make bench"
PROJECTORS: Final = (1, 2, 4, 8, 16)
BATCHES: Final = (100, 500)
SEEDS: Final = (2, 8)
"""Runs of each kind with the real projectors, and with the model: where lanes are taken by chance, runs differ."""
RATES: Final = (1_000.0, 10_000.0, 100_000.0)
BOARDS: Final = (1, 1_000)
RANKINGS: Final = {1: ALL, 9: SHIPPED}
"""Rankings that an event moves, and settings with so many."""
SPARE: Final = 0.7
"""Of a limit, that a setting should come to."""
WIDER: Final = ((1, 1), (2, 1), (5, 1), (10, 1), (10, 2), (10, 4), (10, 8))
"""What is tried, the least first: `ProjectorParallelizationFactor`, and how far Scores is warmed up."""
TABLE_QUOTA: Final = 40_000
"""Write units a second of one on-demand table, or index, until AWS is asked for more.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
"""


def checked(*, small: bool) -> Iterator[dict[str, Any]]:
    """Projectors that always have work on one board: the real ones, and the model."""
    drawn = Drawn(Traffic(members=lanes.MEMBERS))
    seconds, (runs, models) = (1.0, (1, 2)) if small else (BUSY, SEEDS)
    for batch in BATCHES[:1] if small else BATCHES:
        for count in PROJECTORS[:3] if small else PROJECTORS:
            real = [run(count, batch, seconds, seed) for seed in range(1, runs + 1)]
            told = [busy(drawn, count, MAX_LANES, batch, seed, seconds) for seed in range(1, models + 1)]
            ran, modelled = _means(real), _means(told)
            off = round(modelled["moves_per_second"] / ran["moves_per_second"] - 1, 3)
            row = {"projectors": count, "batch": batch, "run": ran, "model": modelled, "off": off}
            print(row, flush=True)
            yield row


def run(projectors: int, batch: int, seconds: float, seed: int) -> dict[str, float]:
    """The real projectors, always with work: moves a second of batches done in time, and the share cancelled."""
    ran = lanes.Run(projectors, MAX_LANES, batch, 0.0, seconds, seed)
    return {"moves_per_second": ran.in_time / seconds, "cancelled_share": ran.row()["cancelled_share"]}


def _means(rows: list[dict[str, float]]) -> dict[str, float]:
    return {
        "moves_per_second": round(mean(row["moves_per_second"] for row in rows)),
        "cancelled_share": round(mean(row["cancelled_share"] for row in rows), 3),
    }


def limits(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Events a second, of different members on one board, that each part takes as it is shipped, and at its most."""
    usual = Deployment()
    return {
        "writers": round(writers_rate(usual)),
        "writers_most": round(writers_rate(replace(usual, writers=1_000))),
        "scores": SLOTS * PER_SHARD,
        "index": usual.shards * PER_SHARD,
        "index_most": MAX_SHARDS * PER_SHARD,
        "lanes": max(row["model"]["moves_per_second"] for row in rows),
        "stream": lag.FIRST_SHARDS * PER_SHARD,
    }


def scenes(lanes_rate: float, *, small: bool) -> Iterator[dict[str, Any]]:
    """Each load with what is shipped, and with the least that keeps up."""
    drawn = Drawn(Traffic(members=1_000_000))
    for rate in RATES[:1] if small else RATES:
        for boards in BOARDS:
            for rankings in RANKINGS:
                scene = Scene(rate, boards, rankings)
                row = {
                    **as_row(scene, Deployment(), _shipped(scene, drawn)),
                    "set": _least(scene, drawn, lanes_rate),
                    "units": _units(scene),
                }
                print(row, flush=True)
                yield row


def _shipped(scene: Scene, drawn: Drawn) -> lag.Found:
    """With one index partition a hot board is held up by that, whatever else would be."""
    behind = lag.Found(lag.SECONDS, lag.SECONDS, 0.0)
    hot = scene.boards == 1 and scene.rate > PER_SHARD
    if hot or writers_rate(Deployment()) < scene.rate:
        return behind
    return found(scene, Deployment(), drawn)


def _least(scene: Scene, drawn: Drawn, lanes_rate: float) -> dict[str, Any] | None:
    """The least settings that keep up; None where none do."""
    hot = scene.boards == 1
    if hot and scene.rate > lanes_rate:
        return None
    each = writers_rate(Deployment(writers=1))
    usual = Deployment(
        writers=max(Deployment().writers, ceil(scene.rate / SPARE / each)),
        shards=min(MAX_SHARDS, ceil(scene.rate / scene.boards / SPARE / PER_SHARD)),
    )
    for parallelization, warm in WIDER:
        deployment = replace(usual, parallelization=parallelization, warm=warm)
        if not hot and lag.projectors_rate(scene, deployment) < scene.rate:
            continue
        what = found(scene, deployment, drawn)
        if what.keeps_up:
            return as_row(scene, deployment, what)
    return None


def _units(scene: Scene) -> dict[str, float]:
    """Write units a second of each table, and of the index."""
    batch = max(1, round(min(500, scene.rate / 4 / lag.FIRST_SHARDS) / scene.boards))
    used = usage(RANKINGS[scene.rankings], Traffic(batch=batch))
    return {
        "Scores": round(used.scores * scene.rate),
        "Receipts": round(used.receipts * scene.rate),
        "Rankings": round((used.entries + used.tiers) * scene.rate),
        "places": round(used.index * scene.rate),
    }


def of_limits(result: Mapping[str, Any]) -> Iterator[str]:
    """What each part takes of one board."""
    at = {name: f"{round(rate):,}" for name, rate in result["limits"].items()}
    yield "| part | events/s as shipped | events/s at most | what moves it |"
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
    """Lag as shipped, and what to set."""
    yield (
        "| events/s | boards | rankings | as shipped: p50, p99 | `WriterMaximumConcurrency` | "
        "`ProjectorParallelizationFactor` | `shards` | stream shards | then: p50, p99 | functions at once |"
    )
    yield "|---" * 10 + "|"
    for row in result["scenes"]:
        told = row["set"]
        before = f"{row['p50']:.1f} s, {row['p99']:.1f} s" if row["keeps_up"] else "falls behind"
        if told is None:
            after = "| | | | | **more than this takes** | |"
        else:
            at_once = told["WriterMaximumConcurrency"] + told["stream_shards"] * told["ProjectorParallelizationFactor"]
            after = (
                f"| {told['WriterMaximumConcurrency']} | {told['ProjectorParallelizationFactor']} | {told['shards']} | "
                f"{told['stream_shards']} | {told['p50']:.1f} s, {told['p99']:.1f} s | {at_once:,} |"
            )
        yield f"| {row['events_per_second']:,.0f} | {row['boards']:,} | {row['rankings']} | {before} {after}"


def of_units(result: Mapping[str, Any]) -> Iterator[str]:
    """Write units a second."""
    names = ("Scores", "Receipts", "Rankings", "places")
    yield f"| events/s | boards | rankings | {' | '.join(names)} |"
    yield "|---" * (3 + len(names)) + "|"
    for row in result["scenes"]:
        cells = (f"{row['units'][name]:,}" + "*" * (row["units"][name] > TABLE_QUOTA) for name in names)
        yield f"| {row['events_per_second']:,.0f} | {row['boards']:,} | {row['rankings']} | {' | '.join(cells)} |"
    yield ""
    yield f"\\* above {TABLE_QUOTA:,}, the quota of an on-demand table until you ask AWS for more."


def of_check(result: Mapping[str, Any]) -> Iterator[str]:
    """The model beside the real projectors."""
    yield "| projectors | batch | moves/s: run | model | off | cancelled: run | model |"
    yield "|---" * 7 + "|"
    for row in result["check"]:
        run, told = row["run"], row["model"]
        yield (
            f"| {row['projectors']} | {row['batch']} | {run['moves_per_second']:,} | {told['moves_per_second']:,} | "
            f"{100 * row['off']:+.0f} % | {100 * run['cancelled_share']:.1f} % | "
            f"{100 * told['cancelled_share']:.1f} % |"
        )
    yield ""
    yield (
        f"At most {100 * result['most_off']:.0f} % off, {100 * result['mean_off']:.0f} % on average; "
        f"cancelled shares by at most {100 * result['most_off_cancelled']:.0f} points."
    )


TABLES: Final = {"scenes": of_scenes, "limits": of_limits, "units": of_units, "check": of_check}


def measure(*, small: bool) -> dict[str, Any]:
    """Everything that is in the result."""
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
    """Work it out, keep the result and bring the page up to date."""
    out = output(arguments, __doc__)
    out.publish("ceiling", measure(small=out.small), PAGE, COMMAND, TABLES)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
