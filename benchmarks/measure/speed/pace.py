"""How fast the code of one function is, on one core: a process of its own for each question.

`python -m benchmarks.measure.speed.pace pace writer store 200000 10 5` prints JSON: events (records) per second of CPU
time, through the deployed handler, from records as Lambda passes them. Level `store` stubs the tables: every write
succeeds at no cost. Level `network` stubs the network: requests are built and signed, and an empty 200 answers them.
`memory writer all` prints how much memory a batch takes.
"""

import importlib.util
import os
import sys
import time
import tracemalloc
from collections.abc import Iterable
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, Final
from unittest import mock

import orjson

from benchmarks.harness import population
from benchmarks.harness.pipeline import event
from benchmarks.harness.results_file import REPOSITORY
from benchmarks.measure.speed import driver
from standings.aws.dynamodb import scores
from standings.aws.dynamodb.scores import encode_image
from standings.domain.boards_toml import parse_boards
from standings.domain.members import EventPart, Image, counted_in
from standings.rankings import storing
from standings.rankings.calendar import pruning
from standings.rankings.calendar.storing import CalendarStorage
from standings.runtime import clock
from standings.runtime.environment import BOARDS_FILE
from standings.wiring import building_blocks
from tests.support.awslambda.context import Context
from tests.support.awslambda.pollers import Message, record_of
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

BATCH: Final = 500
LARGEST: Final = 1_000  # The largest batch that `template.yaml` allows, of messages and of records
_MEGABYTE: Final = 1_000_000
ENVIRONMENT: Final = {
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "none",
    "POWERTOOLS_METRICS_NAMESPACE": "Standings",
    "POWERTOOLS_SERVICE_NAME": "speed",
    "SCORES_TABLE": "Scores",
    "RECEIPTS_TABLE": "Receipts",
    "RANKINGS_TABLE": "Rankings",
    "PROFILES_TABLE": "Profiles",
    "ACTIVITY_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/000000000000/activity",
    "DEAD_LETTER_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/000000000000/dead",
    "FAILURE_BUCKET": "failures",
}
"""The environment variables of all functions."""


def pace(function: str, level: str, members: int, count: int, repeats: int) -> dict[str, Any]:
    """Measure records per second; every repeat has batches of its own.

    The pace is that of the fastest repeat, the one that other processes disturbed least.
    """
    app = load(function, population.BOARDS, stubs_network=level == "network")
    all_batches = batches(function, population.BOARDS, members, BATCH, count * (repeats + 1))
    run(app, all_batches[:count])
    best = min(_seconds(app, all_batches[turn * count : (turn + 1) * count]) for turn in range(1, repeats + 1))
    return {"function": function, "level": level, "records_per_second": round(BATCH * count / best)}


def _seconds(app: ModuleType, part: Iterable[dict[str, Any]]) -> float:
    began = time.process_time()
    run(app, part)
    return time.process_time() - began


def memory(function: str, boards: str) -> dict[str, Any]:
    """Measure the peak memory of the largest batch, from its event to the last request, in megabytes."""
    app = load(function, boards, stubs_network=True)
    made = batches(function, boards, 10 * LARGEST, LARGEST, 2)
    first, second = map(orjson.dumps, made)
    run(app, [orjson.loads(first)])
    tracemalloc.start()
    run(app, [orjson.loads(second)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {
        "function": function,
        "records": LARGEST,
        "event_megabytes": round(len(second) / _MEGABYTE, 2),
        "peak_megabytes": round(peak / _MEGABYTE, 1),
    }


class Accepting:
    """Takes the place of the stores of both functions: accepts each write at once and holds nothing."""

    def __init__(self, *_: Any) -> None:
        """Take what any of the stores takes."""

    def apply(self, *_: Any, **__: Any) -> list[Any]:
        return []

    def bytes_of(self, *_: Any) -> int:
        return 0

    def lanes(self, *_: Any) -> dict[Any, Any]:
        return {}

    def records(self, _: Any) -> dict[str, Any]:
        return {}

    def put(self, *_: Any) -> bool:
        return True


class AcceptingRankings(CalendarStorage):
    """Commits moves at once, and holds nothing."""

    def move(self, *_: Any) -> list[Any]:
        return []


_STORES: Final = (
    (building_blocks, "BoardRecords", Accepting),
    (scores, "Scores", Accepting),
    (pruning, "CalendarReads", Accepting),
    (storing, "CalendarStorage", AcceptingRankings),
)


def load(function: str, boards: str, *, stubs_network: bool) -> ModuleType:
    """Import a function's `app.py` with a `boards.toml` of this text.

    With `stubs_network`, no request of this process leaves it from now on. Otherwise the stores are stubbed.
    """
    spec = importlib.util.spec_from_file_location(function, REPOSITORY / "functions" / function / "app.py")
    if spec is None or spec.loader is None:
        raise LookupError(f"expected a function in functions/, got {function!r}")
    app = importlib.util.module_from_spec(spec)
    with ExitStack() as stubs:
        stubs.enter_context(mock.patch.object(building_blocks, "boards", return_value=parse_boards(boards)))
        if stubs_network:
            driver.stub({})
        else:
            for module, name, store in _STORES:
                stubs.enter_context(mock.patch.object(module, name, store))
        spec.loader.exec_module(app)
    return app


def run(app: ModuleType, batches: Iterable[dict[str, Any]]) -> None:
    """Pass batches to the handler; AssertionError if it reports a failed record."""
    for batch in batches:
        answer = app.handler(batch, Context(seconds=600))
        if answer["batchItemFailures"]:
            raise AssertionError(f"expected no failed records, got {answer}")


def batches(function: str, boards: str, members: int, size: int, count: int) -> list[dict[str, Any]]:
    """Make `count` batches as Lambda passes them; the members of a batch are all different, their scores log-normal."""
    rng = Random(1)
    totals = population.lognormal(rng, members)
    names = list(totals)
    now = clock.now()
    family = population.family(boards)
    engine = Engine()
    create_tables(engine)

    def item(name: str, version: int, score: int) -> dict[str, Any]:
        values = counted_in(family, EventPart("", now, {"points": score}), now)
        return encode_image(Image(population.BOARD, name, now + version, now, score, hidden=False, values=values))

    records: list[dict[str, Any]] = []
    for batch in range(count):
        chosen = rng.sample(names, size)
        points = {name: rng.randint(1, 100) for name in chosen}
        if function == "writer":
            for number, name in enumerate(chosen, batch * size):
                body = event(f"0197f2c4-{number:012}", population.BOARD, name, {"points": points[name]}, now)
                message = Message(orjson.dumps(body).decode(), {}, now, f"059f36b4-87a3-44ab-83d2-{number:012}", 1, now)
                record = record_of(message, "arn:aws:sqs:eu-central-1:000000000000:activity")
                records.append({**record, "receiptHandle": "A" * 300})  # as long as those of AWS
        else:
            engine.load("Scores", (item(name, 1, totals[name]) for name in chosen))
            (shard,) = engine.stream("Scores")
            before = len(shard)
            for name in chosen:
                engine.put_item(TableName="Scores", Item=item(name, 2, totals[name] + points[name]))
            records += orjson.loads(orjson.dumps(shard[before:]))
    return [{"Records": records[start : start + size]} for start in range(0, len(records), size)]


def main(arguments: list[str]) -> int:
    question, function, *rest = arguments
    os.environ.update(ENVIRONMENT)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        if question == "pace":
            answer = pace(function, rest[0], *map(int, rest[1:]))
        else:
            boards = population.BOARDS if rest[0] == "all" else BOARDS_FILE.read_text(encoding="utf-8")
            answer = memory(function, boards)
    print(orjson.dumps(answer).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
