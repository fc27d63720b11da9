"""How fast the code itself is: events and records per second on one core, memory, and starts.

`python -m benchmarks speed` writes `benchmarks/results/speed.json` and tables of `docs/performance-tables.md`. The
seconds are this machine's; the ratios compare with code that the same run measures.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import Output
from benchmarks.measure.speed import starts
from benchmarks.measure.speed.pace import BATCH
from benchmarks.pages.tables import Lines, Result, Table, crossed

FUNCTIONS: Final = ("writer", "projector")
MEMBERS: Final = 200_000
BATCHES: Final = 5
BUDGETS: Final = {"store": 10_000, "network": 10_000}
"""Records per second, by what is stubbed."""
STARTS: Final = {"writer": 0.7, "projector": 0.7, "query": 0.7}
"""Multiples of the start of a program that only makes a boto3 client."""
COMMAND_STARTS: Final = {"standings --help": 3, "standings --version": 3, "standings boards check": 5}
"""The same for commands, of the start of a Python that does nothing."""
RECORDS: Final = {"writer": "events", "projector": "records"}
STUBBED: Final = {"store": "the store", "network": "the network"}


def _ask_pace(*question: str) -> dict[str, Any]:
    """Ask `pace` in a process of its own, which no earlier measurement affects."""
    command = [sys.executable, "-m", "benchmarks.measure.speed.pace", *question]
    # Without the variables of this machine, such as a CA bundle: they may send requests through botocore's client.
    alone = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=alone)  # noqa: S603 - our own module
    answer: dict[str, Any] = orjson.loads(process.stdout)
    print(answer, flush=True)
    return answer


def measure(out: Output) -> dict[str, Any]:
    processes, repeats, rounds, command_rounds = (1, 2, 2, 2) if out.small else (3, 6, 25, 40)
    board = ("10000", "1") if out.small else (str(MEMBERS), str(BATCHES))
    with tempfile.TemporaryDirectory() as directory:
        layer, sdk = starts.build(Path(directory) / "layer"), starts.sdk(Path(directory) / "sdk")
        functions = starts.measure(starts.functions(layer, sdk), rounds)
    commands = starts.measure(starts.commands(), command_rounds)
    paces = []
    for function in FUNCTIONS:
        for level in BUDGETS:
            answers = [_ask_pace("pace", function, level, *board, str(repeats)) for _ in range(processes)]
            paces.append(max(answers, key=lambda answer: answer["records_per_second"]))
    return {
        "members": MEMBERS,
        "batch": BATCH,
        "starts": functions,
        "commands": commands,
        "paces": paces,
        "memory": [
            {"boards": boards, **_ask_pace("memory", function, boards)}
            for function in FUNCTIONS
            for boards in ("all", "shipped")
        ],
    }


RARE: Final = ("command", "maintenance")
"""Functions whose starts nobody waits for."""


def of_paces(result: Result) -> Iterator[str]:
    """Return the table of records per second of one core, each with its budget."""
    return crossed(
        "function",
        (
            (
                row["function"],
                f"per second of one core, {STUBBED[row['level']]} stubbed",
                f"{row['records_per_second']:,} {RECORDS[row['function']]} (≥ {BUDGETS[row['level']]:,})",
            )
            for row in result["paces"]
        ),
    )


TABLES: Final[dict[str, Lines]] = {
    "paces": of_paces,
    "starts": Table(
        "program | ms | ms of CPU | ÷ boto3 client | the same for CPU | budget | peak MB",
        "{program} | {milliseconds:,} | {cpu_milliseconds:,} | {times_base:.2f} | {times_base_cpu:.2f} | {budget} | "
        "{megabytes}",
        lambda result: (
            {**row, "budget": STARTS.get(row["program"], "")} for row in result["starts"] if row["program"] not in RARE
        ),
    ),
}
BENCHMARK: Final = Benchmark("speed", measure, {"docs/performance-tables.md": TABLES}, unavailable=starts.unavailable)
