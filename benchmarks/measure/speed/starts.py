"""How long programs take to start: each a whole process, compared with a base that runs in turns with it.

Functions are compared with a program that only makes a boto3 client, over the layer as its own makefile builds it, like
`sam build` does, and over an SDK. Both are compiled before, so that no start compiles anything. The command line is
compared with `python -c pass`.
"""

import compileall
import importlib
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from benchmarks.harness.results_file import REPOSITORY
from benchmarks.measure.speed.pace import ENVIRONMENT

FUNCTIONS: Final = ("writer", "projector", "query", "command", "maintenance")
BUILDER: Final = REPOSITORY / ".local" / "tools" / "bootstrap" / "bin" / "python"
ALONE: Final = ("-S", "-s")
"""Options of Python: nothing of this environment but what the path names."""
PEAK: Final = "\nprint([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM:')][0])"
"""Code that prints the most memory of a process, in kilobytes."""
NOTHING: Final = "python -c pass"
COMMANDS: Final = ("standings --help", "standings --version", "standings boards check")


class Program(NamedTuple):
    """What Python runs, where, and with which variables of the environment."""

    arguments: list[str]
    directory: Path
    environment: Mapping[str, str]


def unavailable() -> str | None:
    """Return the reason why no layer can be built here, None if one can."""
    return None if BUILDER.exists() else f"expected {BUILDER}, which builds the layer, found none: run `make setup`"


def build(directory: Path, repository: Path = REPOSITORY) -> Path:
    """Build a repository's layer for this interpreter; return the folder that functions import from."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    processor = "arm64" if platform.machine().lower() in {"arm64", "aarch64"} else "x86_64"
    command: list[str | Path] = ["make", "--directory", repository / "layers" / "standings", "build-StandingsLayer"]
    command += ["--file", Path("targets") / f"python{version}-{processor}" / "Makefile"]
    command += [f"ARTIFACTS_DIR={directory}", f"PYTHON={BUILDER}"]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own makefile
    return directory / "python"


def sdk(directory: Path) -> Path:
    """Copy the SDK of this environment, compiled, as runtimes of Lambda have it; return the folder."""
    for name in ("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six", "urllib3"):
        origin = Path(str(importlib.import_module(name).__file__))
        origin = origin.parent if origin.name == "__init__.py" else origin
        copy = shutil.copytree if origin.is_dir() else shutil.copy
        directory.mkdir(exist_ok=True)
        copy(origin, directory / origin.name)
    if not compileall.compile_dir(directory, quiet=2, workers=2):
        raise RuntimeError(f"expected all of {directory} to compile")
    return directory


def bare(*path: Path) -> dict[str, str]:
    """The environment of a function that imports from these folders."""
    found = os.pathsep.join(map(str, path))
    return {"PATH": os.environ["PATH"], "PYTHONPATH": found, "PYTHONDONTWRITEBYTECODE": "1", **ENVIRONMENT}


def functions(layer: Path, sdk: Path, repository: Path = REPOSITORY) -> dict[str, Program]:
    """Return the functions over a layer, and first the program that only makes a client."""
    environment = bare(layer, sdk)
    make = "import boto3; boto3.client('dynamodb')"
    base = Program([*ALONE, "-c", make + PEAK], layer, environment)
    reads = f"{make}; import standings.client.standings, standings.read.dispatch"
    client = Program([*ALONE, "-c", reads + PEAK], layer, environment)
    folder = repository / "functions"
    named = {name: Program([*ALONE, "-c", "import app" + PEAK], folder / name, environment) for name in FUNCTIONS}
    return {"a boto3 client of DynamoDB": base, "the same, and `standings.client`": client, **named}


def commands() -> dict[str, Program]:
    """Return commands, and first a Python that does nothing."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "layers" / "standings")}
    arguments = {NOTHING: ["-c", "pass"], **{one: ["-m", "standings_cli", *one.split()[1:]] for one in COMMANDS}}
    return {name: Program(words, REPOSITORY, environment) for name, words in arguments.items()}


def start(program: Program) -> dict[str, float]:
    """Run one process; return its seconds (wall and CPU time) and its peak memory in megabytes, which Linux alone says.

    A process says it itself: the system counts what its parent had when it began.
    """
    arguments, directory, environment = program
    began = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - our own programs
        [sys.executable, *arguments], cwd=directory, env=environment, stdout=subprocess.PIPE, text=True
    )
    with process:
        said = process.stdout.read() if process.stdout is not None else ""
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{directory}: expected {arguments} to end with 0, got {process.returncode}")
    peak = int(said.split()[-1]) / 1000 if arguments[-1].endswith(PEAK) else 0.0
    return {"wall": seconds, "cpu": used.ru_utime + used.ru_stime, "megabytes": peak}


def measure(programs: Mapping[str, Program], rounds: int) -> list[dict[str, Any]]:
    """Return medians over the rounds; each round starts every program once, and one more round goes before them."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, program in programs.items():
            started = start(program)
            if number:
                runs[name].append(started)
    bases = next(iter(runs.values()))
    rows = []
    for name, starts in runs.items():
        wall, cpu, megabytes = (median(one[kind] for one in starts) for kind in ("wall", "cpu", "megabytes"))
        pairs = list(zip(starts, bases, strict=True))
        rows.append(
            {
                "program": name,
                "milliseconds": round(1000 * wall),
                "cpu_milliseconds": round(1000 * cpu),
                "times_base": round(median(one["wall"] / base["wall"] for one, base in pairs), 2),
                "times_base_cpu": round(median(one["cpu"] / base["cpu"] for one, base in pairs), 2),
                "megabytes": round(megabytes),
            }
        )
    return rows
