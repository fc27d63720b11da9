"""Replays your own stream through the deployed handlers on DynamoDB Local and checks every rank.

    python -m benchmarks.measure.replay FILE [--last N] [--seed N]

FILE is CSV (or .csv.gz) with the columns id, epoch_seconds and member. Each row becomes an event of one point on a
`demo-` board. The times are shifted so that the last event happened an hour ago. Events are posted in random order, one
in twenty of them twice. The ranks are compared with a sorted list. The result, `benchmarks/results/replay.json`, has
the number of compared and of wrong ranks, and the seconds.
"""

import argparse
import csv
import gzip
import json
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import orjson

from benchmarks.harness.results_file import Output
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import LocalStream, Queue, SqsPoller, StreamPoller
from tests.support.dynamodb.local import DynamoDBLocal
from tests.support.dynamodb.tables import create_tables
from tests.support.oracle.model import Model

BOARD: Final = "demo-replay"
LATE: Final = timedelta(days=35)
BATCH: Final = 1000
TWICE: Final = 0.05
OK: Final = 200
GONE: Final = 404
WINDOWS: Final = ("all", "day", "week", "month", "year", "last-7-days")


class Row(NamedTuple):
    """One line of the file."""

    id: str
    at: datetime
    member: str

    @property
    def body(self) -> str:
        event = {"id": self.id, "board": BOARD, "member": self.member, "at": self.at.isoformat()}
        return orjson.dumps({**event, "metrics": {"points": 1}}).decode()


def read_rows(file: Path, last: int | None, now: datetime) -> list[Row]:
    """Read the rows of a file (the last N, if given), shifted so that the last was an hour ago."""
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        rows = list(csv.DictReader(lines))
    rows = rows[-last:] if last else rows
    shift = int((now - timedelta(hours=1)).timestamp()) - max(int(row["epoch_seconds"]) for row in rows)
    return [
        Row(row["id"], datetime.fromtimestamp(int(row["epoch_seconds"]) + shift, UTC), row["member"]) for row in rows
    ]


def model_of(rows: list[Row], now: datetime) -> Model:
    """Return a model to which the rows are added at an instant."""
    model = Model(late=LATE)
    for row in rows:
        model.add(row.id, row.member, row.at, 1, now)
    return model


def wrong_ranks(stack: Stack, model: Model, now: datetime) -> tuple[int, int]:
    """Compare the ranks of all windows and readable periods; return how many were compared, and how many were wrong."""
    compared = wrong = 0
    for window in WINDOWS:
        on = now
        while _is_kept(stack, window, on, now):
            expected = model.standings(window, on)
            entries = stack.entries(f"/boards/{BOARD}/points/{window}", 1000, _named(on, now))
            lines = [(entry["rank"], entry["member"], entry["score"]) for entry in entries]
            compared += len(expected)
            wrong += len(set(lines) ^ set(expected)) + (lines != expected)
            if window == "all":
                break
            on = _before(window, on)
    return compared, wrong


def _named(on: datetime, now: datetime) -> str | None:
    return None if on == now else on.date().isoformat()


def _is_kept(stack: Stack, window: str, on: datetime, now: datetime) -> bool:
    status, answer = stack.get(f"/boards/{BOARD}/points/{window}", limit=1, period=_named(on, now))
    if status == GONE and answer["type"] == "urn:standings:period-gone":
        return False
    if status != OK:
        raise AssertionError(answer)
    return True


def _before(window: str, on: datetime) -> datetime:
    """Return an instant in the period before the one of this instant."""
    first = {"week": on - timedelta(days=on.weekday()), "month": on.replace(day=1), "year": on.replace(month=1, day=1)}
    return first.get(window, on) - timedelta(days=1)


def exactness(rows: list[Row], now: datetime, seed: int) -> dict[str, Any]:
    """Replay the rows on DynamoDB Local; compare the ranks at once and a day, a week and a month later."""
    clock = ManualClock(int(now.timestamp() * 1000))
    rng = Random(seed)
    with DynamoDBLocal.started() as server, running(client := server.client(), clock) as stack:
        create_tables(client, expire=False)
        queue = Queue(rng)
        for row in rows:
            for _ in range(1 + (rng.random() < TWICE)):
                queue.send(row.body)
        messages = len(queue)
        started = time.monotonic()
        SqsPoller(stack.writer, queue, BATCH).drain()
        written = time.monotonic()
        StreamPoller(stack.projector, LocalStream(client, "Scores"), BATCH).drain()
        projected = time.monotonic()
        model = model_of(rows, now)
        checks = {}
        tables = [_images(client, name) for name in ("Scores", "Rankings")]
        for label, days in (("now", 0), ("a day later", 1), ("a week later", 7), ("a month later", 31)):
            later = now + timedelta(days=days)
            clock.milliseconds = int(later.timestamp() * 1000)
            compared, wrong = wrong_ranks(stack, model, later)
            checks[label] = {"ranks_compared": compared, "wrong": wrong}
        untouched = tables == [_images(client, name) for name in ("Scores", "Rankings")]
        return {
            "messages": messages,
            "dead_letters": len(stack.dead_letters.messages),
            "writer_seconds": round(written - started, 1),
            "projector_seconds": round(projected - written, 1),
            "checks": checks,
            "nothing_written_while_time_passed": untouched,
        }


def _images(client: Any, table: str) -> list[str]:
    pages = client.get_paginator("scan").paginate(TableName=table)
    return sorted(json.dumps(item, sort_keys=True, default=str) for page in pages for item in page["Items"])


def main(arguments: list[str]) -> int:
    """Replay a file; the exit status is 1 if a rank was wrong, or if anything was written while time passed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measure.replay", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--last", type=int, help="only the last N rows")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    os.environ.update(
        POWERTOOLS_SERVICE_NAME="replay",
        POWERTOOLS_METRICS_NAMESPACE="Standings",
        POWERTOOLS_METRICS_DISABLED="true",
        POWERTOOLS_LOG_LEVEL="WARNING",
        AWS_DEFAULT_REGION="us-east-1",
    )
    now = datetime.now(UTC).replace(microsecond=0)
    rows = read_rows(options.file, options.last, now)
    result = {
        "events": len(rows),
        "members": len({row.member for row in rows}),
        **exactness(rows, now, options.seed),
    }
    Output().keep("replay", result)
    print(json.dumps(result, indent=2))
    checks = result["checks"].values()
    return int(any(check["wrong"] for check in checks) or not result["nothing_written_while_time_passed"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
