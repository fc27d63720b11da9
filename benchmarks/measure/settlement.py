"""What settling a large period takes: memory, files, read units, calls.

`python -m benchmarks settlement` writes `benchmarks/results/settlement.json` and a line of
`docs/how-to/seasons-and-prizes.md`. It runs the real maintenance function, and compares the first and the last lines of
the files with a sort.
"""

import gc
import gzip
import os
import resource
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, Final

import orjson

from benchmarks.harness import population
from benchmarks.harness.benchmark import Benchmark
from standings.aws.dynamodb.rankings.audit_reads import DynamoAuditReads
from standings.aws.dynamodb.scores.board_records import encode_record
from standings.aws.dynamodb.scores.member_items import encode_image
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.coverage import coverage_of
from standings.domain.boards.definitions import Ranking
from standings.domain.members.member_item import Image
from standings.domain.windows.calendar import DAY
from standings.ports.board_records import BoardRecord
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

MEMBERS: Final = 1_000_000
SMALL: Final = 5_000
BOARDS: Final = """
[boards."*"]
late = "1 day"
settle = ["day"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
prizes.day = [{ ranks = "1", name = "gold" }, { percent = 10, name = "top-10" }]
"""
SECONDS: Final = 900.0  # Timeout of the maintenance function
MB: Final = 1_000_000
SHOWN: Final = 1_000  # Lines at both ends of the files that are compared with a sort


def measure(members: int) -> dict[str, Any]:
    engine = Engine()
    create_tables(engine)
    scores = population.lognormal(Random(1), members)
    ranking = load(engine, scores)
    timetable = ranking.metric.timetable
    clock = ManualClock(timetable.end("d", ranking.period) + 3 * DAY)
    os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "Standings")
    with running(engine, clock, BOARDS) as stack:
        gc.collect()
        calls, peak, summary = settle(stack, str(timetable.local(timetable.start("d", ranking.period)).date()))
        compare(stack, scores)
        units = sum(one.units for one in gc.get_objects() if isinstance(one, DynamoAuditReads))
        return {
            "members": members,
            "calls": calls,
            "peak_mb": round(peak / MB),
            "files": sum(key.endswith(".gz") for key in stack.bucket.results),
            "files_mb": round(sum(map(len, stack.bucket.results.values())) / MB, 1),
            "read_units": round(units),
            "winners": {prize["name"]: prize["winners"] for prize in summary["prizes"]},
        }


def load(engine: Engine, scores: dict[str, int]) -> Ranking:
    """Put a board in place whose members all scored on one day."""
    family = parse_boards(BOARDS).families[0]
    metric = family.metrics["points"]
    window = metric.windows[1]
    ranking = Ranking(population.BOARD, metric, window, metric.timetable.current(window, population.NOW))
    total, bucket = metric.total(), metric.bucket("d", ranking.period)
    images = (
        Image(population.BOARD, member, 1, population.NOW, score, hidden=False, values={total: score, bucket: score})
        for member, score in scores.items()
    )
    engine.load("Scores", map(encode_image, images))
    begun = population.NOW - 30 * DAY
    record = BoardRecord(population.BOARD, 1, begun, coverage_of(family, begun), family.rankings())
    engine.load("Scores", [encode_record(record)])
    population.place_members(engine, ranking, scores)
    return ranking


def settle(stack: Stack, day: str) -> tuple[int, int, dict[str, Any]]:
    """Call the task until it is done: the number of calls, the bytes by which this process grew, and the summary."""
    arguments: dict[str, Any] = {"board": population.BOARD, "window": "day", "period": day}
    calls, began = 0, _most_memory()
    while True:
        answer = stack.maintenance({"settle": arguments}, Context(seconds=SECONDS))
        calls += 1
        (told,) = answer["rankings"]
        if told["why"] is not None:
            raise LookupError(f"expected the period to be settled, got {told['why']}")
        if answer["done"]:
            return calls, _most_memory() - began, told["summary"]
        arguments["cursor"] = answer["cursor"]


def compare(stack: Stack, scores: dict[str, int]) -> None:
    ordered = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
    lines = list(_lines(stack.bucket.results))
    if len(lines) != len(ordered):
        raise LookupError(f"expected {len(ordered)} lines, got {len(lines)}")
    for part in (slice(0, SHOWN), slice(-SHOWN, None)):
        found = [(line["member"], line["score"]) for line in map(orjson.loads, lines[part])]
        if found != ordered[part]:
            raise LookupError("the files are not in the order of a sort")


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _lines(results: dict[str, bytes]) -> Iterator[bytes]:
    for key in sorted(results):
        if key.endswith(".jsonl.gz"):
            yield from gzip.decompress(results[key]).splitlines()


def line(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"With {result['members']:,} members: {result['files']} files with {result['files_mb']} MB in all, "
        f"{result['read_units']:,} read units, and {result['peak_mb']} MB of memory beside what it starts with."
    )


BENCHMARK: Final = Benchmark(
    "settlement",
    lambda out: measure(SMALL if out.small else MEMBERS),
    {"docs/how-to/seasons-and-prizes.md": {"settlement": line}},
    "python -m benchmarks settlement",
)
