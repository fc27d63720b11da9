"""`standings post` counts every row of a file once, even if it is killed and started again."""

import csv
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import pytest

from standings_cli.post.outbox import MAX_WAITING
from tests.support.aws import servers
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.fakes import ActivityQueue
from tests.support.aws.stack import ManualClock, project, running
from tests.support.awslambda.context import Context
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.thoroughness import TIMES

PROJECT = Path(__file__).parents[3]
pytestmark = pytest.mark.thorough
BOARDS = '[boards."*"]\nmetrics.points = { aggregate = "sum", precision = 2, windows = ["all"] }'


def write_rows(file: Path, count: int, rng: Random) -> Counter[str]:
    """Write rows without ids: many are equal, some have no time. Returns each member's sum in hundredths."""
    expected: Counter[str] = Counter()
    now = datetime.now(UTC).replace(microsecond=0)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["who", "at", "points", "country"])
        for _ in range(count):
            member = rng.choice([f"用户 {rng.randrange(50)}", f'"{rng.randrange(count)}",\n'])
            hundredths = rng.choice([100, 100, 100, 250, -125, rng.randrange(10_000)])
            amount = f"{'-' if hundredths < 0 else ''}{abs(hundredths) // 100}.{abs(hundredths) % 100:02}"
            at = (now - timedelta(hours=rng.randrange(3))).isoformat() if rng.random() < 0.7 else ""
            writer.writerow([member, at, amount, "x"])
            expected[member] += hundredths
    return expected


Taken = Callable[[int, subprocess.Popen[str]], bool]
"""Takes the number of a request in a run, and the run's process. Returns whether to answer the request."""


@dataclass
class Endpoint:
    """A queue and its address.

    `taken` is called for each request after its messages are on the queue and before the answer is sent. It gets the
    number of the request, from 1. If it returns False, the request gets no answer.
    """

    queue: ActivityQueue
    taken: Callable[[int], bool] = lambda _: True
    url: str = ""
    requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def queue_url(self) -> str:
        return f"{self.url}/000000000000/activity"

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any] | None:  # noqa: N803
        assert QueueUrl == self.queue_url
        with self._lock:
            self.requests += 1
            number = self.requests
            answer = self.queue.send_message_batch(ENVIRONMENT["ACTIVITY_QUEUE_URL"], Entries)
        return answer if self.taken(number) else None


@contextmanager
def listening(queue: ActivityQueue) -> Iterator[Endpoint]:
    endpoint = Endpoint(queue)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            assert self.headers["X-Amz-Target"] == "AmazonSQS.SendMessageBatch"
            answer = endpoint.send_message_batch(**json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.close_connection = answer is None
            if answer is not None:
                content = json.dumps(answer).encode()
                # The test may have killed the sending process.
                with suppress(ConnectionError):
                    self.send_response(200)
                    self.send_header("Content-Type", "application/x-amz-json-1.0")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Do not log requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_port}"
    with servers.listening(server):
        yield endpoint


class Runs:
    """Runs the same command line until it ends or is killed."""

    def __init__(self, endpoint: Endpoint, file: Path) -> None:
        self._endpoint = endpoint
        self._state = file.with_name(f"{file.name}.posted")
        where = ["--endpoint-url", endpoint.url, "--queue-url", endpoint.queue_url, "--region", "us-east-1", "--json"]
        what = ["post", "--csv", str(file), "--board", "b", "--column", "member=who", "--ignore", "country"]
        self._command = [sys.executable, "-m", "standings_cli", *where, *what]
        self._environment = {
            **os.environ,
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(PROJECT / "layers" / "standings"),
        }

    def run(self, taken: Taken) -> tuple[int, str, str]:
        pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(self._command, env=self._environment, cwd=PROJECT, **pipes)
        before = self._endpoint.requests
        self._endpoint.taken = lambda number: taken(number - before, process)
        try:
            out, err = process.communicate(timeout=900)
        finally:
            process.kill()
        return process.returncode, out, err

    def remembered(self) -> int:
        rows: int = json.loads(self._state.read_text(encoding="utf-8"))["mark"]["rows"] if self._state.exists() else 0
        return rows

    def dies_unanswered(self, number: int) -> Taken:
        """Kill the command after the queue took a request's messages, and before it answered."""

        def taken(request: int, process: subprocess.Popen[str]) -> bool:
            deadline = time.monotonic() + 60
            while request >= number and not self.remembered():
                assert time.monotonic() < deadline
                time.sleep(0.005)
            if request >= number:
                process.kill()
            return request < number

        return taken


def test_every_row_counts_once_although_it_was_killed(tmp_path: Path) -> None:
    count = 600 * TIMES
    rng = Random(count)
    file = tmp_path / "rows.csv"
    expected = write_rows(file, count, rng)
    half = count // 10 // 2
    clock = ManualClock(time.time_ns() // 1_000_000)
    client = Engine()
    with running(client, clock, BOARDS) as stack, listening(stack.activity) as endpoint:
        create_tables(client)
        runs = Runs(endpoint, file)

        assert runs.run(runs.dies_unanswered(half))[0] == -9
        reached = runs.remembered()
        status, out, err = runs.run(lambda *_: True)

        assert status == 0, err
        assert 0 < reached < count
        summary = json.loads(out)
        assert (summary["before"], summary["posted"], summary["wrong"]) == (reached, count - reached, 0)
        # Rows that the queue had and the command did not remember were sent again: that is what this test needs.
        again = len(endpoint.queue.messages) - count
        assert 10 <= again <= 10 * MAX_WAITING
        clock.milliseconds = time.time_ns() // 1_000_000

        assert stack.writer({"Records": stack.activity.records()}, Context(seconds=900)) == {"batchItemFailures": []}
        project(stack)
        assert stack.dead_letters.reasons() == []
        scores = {entry["member"]: round(entry["score"] * 100) for entry in stack.entries("/boards/b/points/all")}
        assert scores == expected
        assert runs.run(lambda *_: False)[0] == 0
        assert len(endpoint.queue.messages) == 0
