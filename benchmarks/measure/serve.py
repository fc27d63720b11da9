"""Measures the time from `make serve` to the first standings on the live page, and takes the pictures of that page.

Then it reads a rank by the client, in turns from the tables and over the API, both from this process.

Everything that `make serve` needs is installed before. The browser is the Chromium on the PATH; it runs already, and
opens the page as soon as its address is printed. The seconds are this machine's; `load_before` is its load average.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import IO, Any, Final
from unittest import mock

import orjson
from playwright.sync_api import Browser

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import REPOSITORY, Output
from benchmarks.pages import live_page
from demo.demo import BOARD
from demo.serve import ADDRESSES, READY, UP
from standings.client import Board, connect
from standings.runtime.environment import BOARDS_FILE
from tests.support.browser.chromium import chromium, unavailable

_ROUNDS: Final = 3


def measure(out: Output) -> dict[str, Any]:
    """Serve some times; return the seconds of all rounds, and write the pictures of the first."""
    rounds = []
    with chromium() as browser:
        for number in range(1 if out.small else _ROUNDS):
            rounds.append(_round(browser, out if number == 0 else None))
            print(rounds[-1], flush=True)
    typical = {name: round(median(one[name] for one in rounds), 2) for name in rounds[0]}
    return {"processors": os.cpu_count(), "rounds": rounds, "median": typical}


def _round(browser: Browser, out: Output | None) -> dict[str, float]:
    """Run `make serve` once; return the seconds from its start. With `out`, take the pictures."""
    timings = {"load_before": round(os.getloadavg()[0], 1)}
    began = time.monotonic()

    def seconds() -> float:
        return round(time.monotonic() - began, 1)

    with _serving() as lines:
        address = _line_with(lines, UP).partition(UP)[2].strip()
        timings["page_is_up_s"] = seconds()
        page = browser.new_page()
        page.goto(f"{address}?board={BOARD}")
        page.wait_for_selector("#rows tr[data-rank]", timeout=live_page.PATIENCE_MS)
        timings["first_standings_s"] = seconds()
        page.close()
        _line_with(lines, READY)
        timings["all_activity_counted_s"] = seconds()
        timings |= _rank()
        if out is not None:
            live_page.take(browser, address, out)
    return timings


def _rank(reads: int = 200) -> dict[str, float]:
    """Read ranks of the served stack; return the medians in milliseconds, and the median of the pairs' ratios."""
    served = orjson.loads(ADDRESSES.read_bytes())
    keys = {
        "AWS_ENDPOINT_URL": served["endpoint"],
        "AWS_ACCESS_KEY_ID": "embedded",
        "AWS_SECRET_ACCESS_KEY": "embedded",
    }
    with mock.patch.dict(os.environ, {**keys, "AWS_DEFAULT_REGION": "us-east-1", "NO_PROXY": "127.0.0.1"}):
        tables, api = (connect("standings", reads=way, boards=BOARDS_FILE).board(BOARD) for way in ("tables", "api"))
        member = tables.top(1)["entries"][0]["member"]
        taken = [(_milliseconds(tables, member), _milliseconds(api, member)) for _ in range(reads + 1)][1:]
    by_client, by_api = (round(median(each), 1) for each in zip(*taken, strict=True))
    ratio = round(median(one / other for one, other in taken), 2)
    return {"rank_by_client_ms": by_client, "rank_by_api_ms": by_api, "ratio": ratio}


def _milliseconds(board: Board, member: str) -> float:
    began = time.perf_counter()
    board.rank(member)
    return 1000 * (time.perf_counter() - began)


@contextmanager
def _serving() -> Iterator[IO[str]]:
    """Start `make serve` and yield its output; stop it like Ctrl-C at the end."""
    process = subprocess.Popen(
        ["make", "serve"],  # noqa: S607
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)


def _line_with(lines: IO[str], text: str) -> str:
    """Return the next line with this text; RuntimeError if the output ends before."""
    read = []
    for line in lines:
        read.append(line)
        if text in line:
            return line
    raise RuntimeError(f"expected a line with {text!r}, but `make serve` ended:\n{''.join(read)}")


BENCHMARK: Final = Benchmark("serve", measure, {}, "make pictures", unavailable=unavailable)
