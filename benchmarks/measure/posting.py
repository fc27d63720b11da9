"""How long 5,000 events take to a queue that answers after 20 ms, beside one request after another.

`python -m benchmarks posting` posts them through the SDK to a queue on this machine: ten with one request after
another, by the client's `batch()`, and by `standings post`. It writes `benchmarks/results/posting.json` and its table
in `docs/performance-tables.md`. The figure is a ratio of two times of one round, the median of the rounds.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from itertools import count
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, Final, NamedTuple
from unittest import mock

import orjson
from botocore.session import get_session

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import Output
from benchmarks.measure.slow_queue import ANSWER_S
from benchmarks.pages.tables import Table
from standings.aws.sqs import MAX_ENTRIES
from standings.client import connect
from standings.client.decimals import Decimals
from standings.client.posts import Queue
from standings.domain.boards_toml import parse_boards
from standings.runtime.clock import real_clock
from standings.wiring.building_blocks import client_of
from standings_cli.post.post_file import FilePosting, RowReader
from standings_cli.terminal import OK

EVENTS: Final = 5_000
ROUNDS: Final = 3
MOST: Final = 0.25
"""The budget of all ways, but for events of one member alone: they go one request after another."""
_AT: Final = "2000-01-01T00:00:00Z"
_BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'


class Place(NamedTuple):
    """The address of the queue, a folder, and the definitions in it."""

    url: str
    folder: Path
    boards: Path


def one_after_another(place: Place, events: Sequence[dict[str, Any]]) -> None:
    """Ten events with each request, each when the one before is answered, as `batch()` did up to version 0.3."""
    sqs, definitions, ids = client_of(get_session(), "sqs"), parse_boards(place.boards.read_text("utf-8")), count()
    clock, decimals = real_clock(), Decimals(lambda: definitions, lambda _: {}, real_clock())
    queue = Queue(lambda: sqs, lambda: place.url, lambda: definitions, clock, lambda: f"id-{next(ids)}", decimals)
    for first in range(0, len(events), MAX_ENTRIES):
        ready = [queue.prepare(event, queue.clock.now()) for event in events[first : first + MAX_ENTRIES]]
        assert not queue.send([one.message for one in ready]).failed


def batched(place: Place, events: Sequence[dict[str, Any]]) -> None:
    client = connect(queue_url=place.url, session=get_session(), boards=place.boards)
    with client.batch(progress=False) as batch:
        for event in events:
            batch.post_event(event)


def posted(form: str, place: Place, events: Sequence[dict[str, Any]]) -> None:
    """`standings post` of a file of this form, `csv` or `jsonl`, in this process."""
    file = place.folder / f"events.{form}"
    if form == "csv":
        lines = ["board,member,points", *(f"b,{event['member']},{event['metrics']['points']}" for event in events)]
    else:
        lines = [orjson.dumps(event).decode() for event in events]
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    reader = RowReader(form, file.name, boards=parse_boards(place.boards.read_text("utf-8")), at=_AT)
    connection: Any = SimpleNamespace(queue_url=place.url, client=partial(client_of, get_session()), knows_api=False)
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        assert FilePosting(str(file), reader, again=True).post(connection) == OK


WAYS: Final[dict[tuple[str, int], Callable[[Place, Sequence[dict[str, Any]]], None]]] = {
    **{("`batch()`", members): batched for members in (EVENTS, 100, 10, 1)},
    ("`standings post --csv`", EVENTS): partial(posted, "csv"),
    ("`standings post --jsonl`", EVENTS): partial(posted, "jsonl"),
}
"""What is measured, by its name and the number of members that the events are spread over."""


@contextmanager
def queue() -> Iterator[str]:
    """Run the queue in a process of its own, as the SDK's endpoint."""
    command = [sys.executable, "-m", "benchmarks.measure.slow_queue"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own module
        assert process.stdout is not None
        address = f"http://127.0.0.1:{int(process.stdout.readline())}"
        environment = {"AWS_ENDPOINT_URL": address, "AWS_DEFAULT_REGION": "eu-central-1", "NO_PROXY": "127.0.0.1"}
        try:
            with mock.patch.dict(os.environ, AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none", **environment):  # noqa: S106 - no secret
                yield f"{address}/000000000000/activity"
        finally:
            process.terminate()


def measure(out: Output) -> dict[str, Any]:
    many, rounds = (200, 1) if out.small else (EVENTS, ROUNDS)
    seconds: dict[tuple[str, int], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, queue() as url:
        place = Place(url, Path(folder), Path(folder, "boards.toml"))
        place.boards.write_text(_BOARDS, encoding="utf-8")
        for _ in range(rounds):
            for (name, members), way in {("alone", EVENTS): one_after_another, **WAYS}.items():
                events = [
                    {"board": "b", "member": f"u{number % members}", "metrics": {"points": 1}} for number in range(many)
                ]
                began = time.monotonic()
                way(place, events)
                seconds.setdefault((name, members), []).append(time.monotonic() - began)
                print(f"{name}, {members:,} members: {seconds[name, members][-1]:.2f} s", flush=True)
    alone = seconds.pop(("alone", EVENTS))
    return {
        "events": many,
        "answer_ms": round(ANSWER_S * 1000),
        "alone_seconds": round(median(alone), 2),
        "ways": [
            {
                "way": name,
                "members": members,
                "seconds": round(median(times), 2),
                "ratio": round(median(time / base for time, base in zip(times, alone, strict=True)), 2),
            }
            for (name, members), times in seconds.items()
        ],
    }


POSTING: Final = Table(
    "5,000 events, by | of members | × the time of one request after another | budget",
    "{way} | {members:,} | {ratio:.2f} | {budget}",
    lambda result: ({**row, "budget": f"≤ {MOST}" if row["members"] > 1 else ""} for row in result["ways"]),
)
BENCHMARK: Final = Benchmark("posting", measure, {"docs/performance-tables.md": {"posting": POSTING}})
