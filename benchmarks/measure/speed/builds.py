"""Starts, requests and pace of this build beside an earlier one, in turns: `python -m benchmarks builds`.

Both builds have their layer as `sam build` makes it, over the same SDK. Everything is compiled before. Each run of a
function is a process of its own (`driver.py`), and the figures are the least CPU times of several turns, so that the
other work of this machine counts as little as can be. It needs the earlier commit in this clone.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest import mock

from benchmarks.harness import population
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.questions import Board
from benchmarks.harness.results_file import REPOSITORY, Output
from benchmarks.measure.speed import driver, pace, starts
from benchmarks.measure.speed.pace import ENVIRONMENT
from benchmarks.pages.tables import Table
from standings.wiring import building_blocks
from tests.support.aws.stack import http_event

BASE: Final = "beba167a"
"""The last commit whose functions used botocore's client."""
FUNCTIONS: Final = ("query", "writer", "projector")
BARS: Final = {
    ("query", "start"): 0.60,
    ("writer", "start"): 0.55,
    ("projector", "start"): 0.55,
    ("query", "the network stubbed"): 0.40,
    ("query", "over loopback"): 0.55,
    ("writer", "the network stubbed"): 1.0,
    ("projector", "the network stubbed"): 1.0,
    ("writer", "over loopback"): 1 / 1.3,
    ("projector", "over loopback"): 1 / 1.3,
}
"""CPU time of this build, as a multiple of the earlier one's."""
MEMBERS: Final = 20_000
BATCHES: Final = 5
RANKS: Final = 60
_DRIVER: Final = Path(driver.__file__)


def measure(out: Output) -> dict[str, Any]:
    turns = 2 if out.small else 15
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        here = Path(folder)
        sdk = starts.sdk(here / "sdk")
        base = stack.enter_context(_checkout(here / "base"))
        builds = {
            "base": (base, starts.build(here / "base-layer", base)),
            "now": (REPOSITORY, starts.build(here / "now-layer")),
        }
        for _, layer in builds.values():
            (layer / "boards.toml").write_text(population.BOARDS, encoding="utf-8")
        rows = _starts(builds, sdk, turns)
        for function in FUNCTIONS:
            work = _work(function, here)
            rows.append(_side_by_side(function, "the network stubbed", builds, sdk, work, turns))
            with _answering(work[1]) as url:
                rows.append(_side_by_side(function, "over loopback", builds, sdk, work, turns, AWS_ENDPOINT_URL=url))
        sizes = {name: _megabytes(layer) for name, (_, layer) in builds.items()}
    return {"base": BASE, "turns": turns, "rows": rows, "layer_megabytes": sizes}


Builds = Mapping[str, tuple[Path, Path]]  # By name: its repository and its built layer


def _starts(builds: Builds, sdk: Path, turns: int) -> list[dict[str, Any]]:
    programs = {
        (function, name): starts.functions(layer, sdk, repository)[function]
        for function in FUNCTIONS
        for name, (repository, layer) in builds.items()
    }
    runs: dict[tuple[str, str], list[dict[str, float]]] = {key: [] for key in programs}
    for _ in range(turns + 1):
        for key, program in programs.items():
            runs[key].append(starts.start(program))
    return [
        _row(function, "start", *(
            (min(1e6 * one["cpu"] for one in part), min(one["megabytes"] for one in part))
            for part in (runs[function, name][1:] for name in builds)
        ))
        for function in FUNCTIONS
    ]  # fmt: skip


def _side_by_side(
    function: str, how: str, builds: Builds, sdk: Path, work: tuple[Path, Path, int, int], turns: int, **variables: str
) -> dict[str, Any]:
    events, answers, size, records = work
    processes = {}
    for name, (repository, layer) in builds.items():
        environment = {**starts.bare(layer, sdk), **variables}
        command = [sys.executable, *starts.ALONE, str(_DRIVER), str(events), str(answers)]
        folder = repository / "functions" / function
        processes[name] = subprocess.Popen(  # noqa: S603 - our own program
            command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    taken: dict[str, list[int]] = {name: [] for name in builds}
    for turn in range(turns + 1):
        for name, process in processes.items():
            taken[name].append(_ask(process, f"{turn * size} {(turn + 1) * size}"))
    found = []
    for name, process in processes.items():
        rest, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{function} of {name}: {how}: the driver ended with {process.returncode}")
        found.append((min(taken[name][1:]) / records, int(rest) / 1000))
    return _row(function, how, *found)


def _ask(process: "subprocess.Popen[str]", line: str) -> int:
    if process.stdin is None or process.stdout is None:
        raise AssertionError("the driver has pipes")
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return int(process.stdout.readline() or 0)


def _row(function: str, what: str, base: tuple[float, float], now: tuple[float, float]) -> dict[str, Any]:
    """A row of the result: microseconds of CPU of a start, a rank, an event or a record, and megabytes."""
    return {
        "function": function,
        "what": what,
        "base_us": round(base[0], 1),
        "now_us": round(now[0], 1),
        "times": round(now[0] / base[0], 2),
        "bar": round(BARS[function, what], 2),
        "base_megabytes": round(base[1], 1),
        "now_megabytes": round(now[1], 1),
    }


def _work(function: str, folder: Path) -> tuple[Path, Path, int, int]:
    """The files of a function's invocations and answers, the invocations of a turn, and the records of these."""
    turns, answers = 16, dict[str, Any]()
    if function == "query":
        invocations, answers = _ranks(RANKS * turns)
        size, records = RANKS, RANKS
    else:
        invocations = pace.batches(function, population.BOARDS, MEMBERS, pace.BATCH, BATCHES * turns)
        size, records = BATCHES, BATCHES * pace.BATCH
    files = folder / f"{function}-events.json", folder / f"{function}-answers.json"
    for file, content in zip(files, (invocations, answers), strict=True):
        file.write_text(json.dumps(content), encoding="utf-8")
    return *files, size, records


def _ranks(count: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Requests for ranks, each of another member, and what DynamoDB answers to the requests of them."""
    board, scores = Board(population.boards()), population.lognormal(Random(1), MEMBERS)
    population.place_members(board.client, board.ranking("all"), scores)
    board.read_record()
    answers: dict[str, Any] = {}

    def noted(operation: str, request: dict[str, Any]) -> Any:
        answer = getattr(board.client, operation)(**request)
        known = {key: value for key, value in answer.items() if key != "ResponseMetadata"}
        answers[driver.key_of(operation.replace("_", ""), json.dumps(request))] = known
        return answer

    class Noting:
        def __getattr__(self, operation: str) -> Any:
            return lambda **request: noted(operation, request)

    os.environ.update(ENVIRONMENT)
    with mock.patch.object(building_blocks, "client", return_value=Noting()):
        app = pace.load("query", population.BOARDS, stubs_network=True)
    members = Random(2).sample(list(scores), count)
    path = f"/boards/{population.BOARD}/points/all/rank"
    events = [http_event(path, f"member={member}") for member in members]
    for one in events:
        if (answer := app.handler(one, None))["statusCode"] != 200:
            raise AssertionError(answer)
    return events, answers


@contextmanager
def _checkout(folder: Path) -> Iterator[Path]:
    """The files of the earlier commit."""
    git = ["git", "-C", str(REPOSITORY), "worktree"]
    subprocess.run([*git, "add", "--detach", str(folder), BASE], check=True, capture_output=True)  # noqa: S603 - git
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True, capture_output=True)  # noqa: S603 - git


@contextmanager
def _answering(answers: Path) -> Iterator[str]:
    """A server of DynamoDB's answers in a process of its own; yields its address."""
    command = [sys.executable, str(_DRIVER), str(answers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 - our own program
        if server.stdout is None:
            raise AssertionError("the server has a pipe")
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def _megabytes(layer: Path) -> float:
    return round(sum(file.stat().st_size for file in layer.rglob("*") if file.is_file()) / 1e6, 1)


TABLES: Final = {
    "builds": Table(
        "function | what | µs of CPU in 0.3 | now | ÷ 0.3 | at most",
        "{function} | {what} | {base_us:,.0f} | {now_us:,.0f} | {times:.2f} | {bar:.2f}",
        lambda result: result["rows"],
    )
}
BENCHMARK: Final = Benchmark(
    "builds",
    measure,
    {"docs/performance-tables.md": TABLES},
    command="python -m benchmarks builds",
    unavailable=starts.unavailable,
)
