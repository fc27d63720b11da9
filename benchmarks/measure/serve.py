"""Measures `make serve`: how soon the live page shows standings, how soon it ends after Ctrl-C, and more.

It is compared with the version of an earlier commit: both serve in turns, each from a folder of its own. All that
`make serve` needs is installed before, and both have served once, so that `sam build` has little to do; what that first
time took is said apart. The browser is the Chromium on the PATH; it runs already, and opens the page as soon as its
address is printed. The seconds are this machine's; `load_before` is its load average.

Then it reads a rank by the client, in turns from the tables and over the API, both from this process, posts events that
wait for their ranks, changes `boards.toml`, and takes the pictures of the page.
"""

import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import IO, Any, Final
from unittest import mock

import orjson
from playwright.sync_api import Browser

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import REPOSITORY, Output
from benchmarks.pages import live_page
from demo.demo import BOARD
from demo.serve import ADDRESSES, BOARDS, READY, UP
from standings.client import Board, Standings, connect
from standings.runtime.environment import BOARDS_FILE
from tests.support.aws.embedded_tools import copied, linked_tools
from tests.support.browser import chromium
from tests.template.expansion import source

BEFORE: Final = "beba167a"
"""The commit to compare with: a `make serve` that copied the layer for each process and named all members first."""
ANOTHER: Final = '\n[boards."run-*"]\nmetrics.distance = { aggregate = "sum", windows = ["all"] }\n'
_ROUNDS: Final = 3
_PATIENCE_S: Final = 120
_TIMES: Final = ("page_is_up_s", "first_standings_s", "all_activity_counted_s", "stopped_s")

Timings = dict[str, float]


def measure(out: Output) -> dict[str, Any]:
    """Serve both versions some times; return the seconds of all rounds, and write the pictures of the last one."""
    with tempfile.TemporaryDirectory() as temporary, chromium.chromium() as browser:
        folders = {"before": _of_commit(Path(temporary, "before")), "now": copied(Path(temporary, "now"))}
        first = {name: _round(browser, folder) for name, folder in folders.items()}
        rounds = []
        for number in range(1 if out.small else _ROUNDS):
            rounds.append({name: _round(browser, folder) for name, folder in folders.items()})
            print(number, rounds[-1], flush=True)
        last = _last(browser, folders["now"], out)
    medians = {name: _medians([one[name] for one in rounds]) for name in folders}
    ratios = {name: round(median(one["now"][name] / one["before"][name] for one in rounds), 2) for name in _TIMES}
    return {
        "processors": os.cpu_count(),
        "commit_before": BEFORE,
        "rounds": [{"version": name, **one[name]} for one in rounds for name in folders],
        "the_first_time": [{"version": name, **timings} for name, timings in first.items()],
        "before": medians["before"],
        "median": medians["now"] | last,
        "now_to_before": ratios,
    }


def unavailable() -> str | None:
    """Return the reason why this cannot run here, None if it can."""
    if reason := chromium.unavailable():
        return reason
    asked = ["git", "cat-file", "-e", BEFORE]
    known = subprocess.run(asked, cwd=REPOSITORY, check=False, capture_output=True)  # noqa: S603
    return f"expected the commit {BEFORE}, to compare with; fetch the whole history" if known.returncode else None


def _medians(rounds: list[Timings]) -> Timings:
    return {name: round(median(one[name] for one in rounds), 2) for name in rounds[0]}


def _of_commit(folder: Path) -> Path:
    archive = subprocess.check_output(["git", "archive", BEFORE], cwd=REPOSITORY)  # noqa: S603, S607
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return linked_tools(folder)


def _round(browser: Browser, folder: Path) -> Timings:
    """Serve once; return the seconds from the start, and those of the end."""
    timings = {"load_before": round(os.getloadavg()[0], 1)}
    with _serving(folder, timings) as lines:
        _until_ready(browser, lines, timings)
    return timings


def _last(browser: Browser, folder: Path, out: Output) -> Timings:
    """Serve once more: read ranks, post events that wait for theirs, change `boards.toml`, and take the pictures."""
    timings: Timings = {}
    with _serving(folder, {}) as lines:
        address = _until_ready(browser, lines, {})
        timings |= _rank(folder / ADDRESSES.relative_to(REPOSITORY))
        timings |= _followed(folder / ADDRESSES.relative_to(REPOSITORY))
        timings |= _taken_up(folder / BOARDS.relative_to(REPOSITORY), address)
        live_page.take(browser, address, out)
    return timings


def _until_ready(browser: Browser, lines: IO[str], timings: Timings) -> str:
    """Follow the output until all activity is counted; return the page's address."""
    began = time.monotonic()

    def seconds() -> float:
        return round(time.monotonic() - began, 1)

    address = _line_with(lines, UP).partition(UP)[2].strip()
    timings["page_is_up_s"] = seconds()
    page = browser.new_page()
    page.goto(f"{address}?board={BOARD}")
    page.wait_for_selector("#rows tr[data-rank]", timeout=live_page.PATIENCE_MS)
    timings["first_standings_s"] = seconds()
    page.close()
    _line_with(lines, READY)
    timings["all_activity_counted_s"] = seconds()
    return address


def _taken_up(boards: Path, address: str) -> Timings:
    """Change `boards.toml`; return the seconds until the API knows what it says."""
    boards.write_text(boards.read_text(encoding="utf-8") + ANOTHER, encoding="utf-8")
    began = time.monotonic()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() - began < _PATIENCE_S:
        with opener.open(f"{address}boards/run-berlin", timeout=_PATIENCE_S) as answer:
            if [one["metric"] for one in orjson.loads(answer.read())["metrics"]] == ["distance"]:
                return {"boards_taken_up_s": round(time.monotonic() - began, 1)}
        time.sleep(0.1)
    raise RuntimeError(f"expected the API to have what {boards} says after {_PATIENCE_S} s, but it has not")


def _rank(addresses: Path, reads: int = 200) -> Timings:
    """Read ranks of the served stack; return the medians in milliseconds, and the median of the pairs' ratios."""
    with _keys(addresses):
        tables, api = (connect("standings", reads=way, boards=BOARDS_FILE).board(BOARD) for way in ("tables", "api"))
        member = tables.top(1)["entries"][0]["member"]
        taken = [(_milliseconds(tables, member), _milliseconds(api, member)) for _ in range(reads + 1)][1:]
    by_client, by_api = (round(median(each), 1) for each in zip(*taken, strict=True))
    ratio = round(median(one / other for one, other in taken), 2)
    return {"rank_by_client_ms": by_client, "rank_by_api_ms": by_api, "ratio": ratio}


def _followed(addresses: Path, posts: int = 30) -> Timings:
    """Post events that wait for their ranks, one after the other, beside the activity of the served stack.

    Return the median of the seconds until the answer, and how many times the batching window of the writer that is.
    """
    window = source()["Parameters"]["WriterBatchingWindow"]["Default"]
    with _keys(addresses):
        api = connect("standings", reads="api", boards=BOARDS_FILE)
        seconds = [_until_followed(api, entry["member"]) for entry in api.board(BOARD).top(posts)["entries"]]
    return {"followed_s": round(median(seconds), 2), "followed_to_window": round(median(seconds) / window, 2)}


def _until_followed(api: Standings, member: str) -> float:
    began = time.perf_counter()
    if api.post(BOARD, member, wait=10, points=1).members is None:
        raise RuntimeError("expected the ranks to follow an event within 10 s, but they do not")
    return time.perf_counter() - began


@contextmanager
def _keys(addresses: Path) -> Iterator[None]:
    """Let clients of this process find the served stack, and not ask a proxy for it."""
    keys = {
        "AWS_ENDPOINT_URL": orjson.loads(addresses.read_bytes())["endpoint"],
        "AWS_ACCESS_KEY_ID": "embedded",
        "AWS_SECRET_ACCESS_KEY": "embedded",
    }
    with mock.patch.dict(os.environ, {**keys, "AWS_DEFAULT_REGION": "us-east-1", "NO_PROXY": "127.0.0.1"}):
        yield


def _milliseconds(board: Board, member: str) -> float:
    began = time.perf_counter()
    board.rank(member)
    return 1000 * (time.perf_counter() - began)


@contextmanager
def _serving(folder: Path, timings: Timings) -> Iterator[IO[str]]:
    """Run the program of `make serve` and yield its output; stop it like Ctrl-C at the end, and time that."""
    environment: Mapping[str, str] = {**os.environ, "PYTHONPATH": str(folder / "layers" / "standings")}
    process = subprocess.Popen(
        [sys.executable, "-m", "demo.serve"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        began = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=2 * _PATIENCE_S)
        timings["stopped_s"] = round(time.monotonic() - began, 1)


def _line_with(lines: IO[str], text: str) -> str:
    """Return the next line with this text; RuntimeError if the output ends before."""
    read = []
    for line in lines:
        read.append(line)
        if text in line:
            return line
    raise RuntimeError(f"expected a line with {text!r}, but `make serve` ended:\n{''.join(read)}")


BENCHMARK: Final = Benchmark("serve", measure, {}, "make pictures", unavailable=unavailable)
