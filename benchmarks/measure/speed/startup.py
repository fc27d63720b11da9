"""How long a function takes to start: a whole process, compared with one that only makes a boto3 client.

The layer is built by its own makefile, like `sam build` does. Python compiles the modules at every start, because
Lambda's file system takes no compiled files.
"""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.harness.results_file import REPOSITORY
from benchmarks.measure.speed.handlers import ENVIRONMENT

FUNCTIONS: Final = ("writer", "projector", "query", "command", "maintenance")
BASE: Final = "boto3"
BUILDER: Final = REPOSITORY / ".local" / "tools" / "bootstrap" / "bin" / "python"
_BASE_PROGRAM: Final = "import boto3; boto3.client('dynamodb')"


def unavailable() -> str | None:
    """Return the reason why no layer can be built here, None if one can."""
    return None if BUILDER.exists() else f"expected {BUILDER}, which builds the layer, found none: run `make setup`"


def build(directory: Path) -> Path:
    """Build the layer for this interpreter; return the folder that functions import from."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    processor = "arm64" if platform.machine().lower() in {"arm64", "aarch64"} else "x86_64"
    command: list[str | Path] = ["make", "--directory", REPOSITORY / "layers" / "standings", "build-StandingsLayer"]
    command += ["--file", Path("targets") / f"python{version}-{processor}" / "Makefile"]
    command += [f"ARTIFACTS_DIR={directory}", f"PYTHON={BUILDER}"]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own makefile
    return directory / "python"


def start(program: str, directory: Path, layer: Path) -> dict[str, float]:
    """Run one process; return its seconds (wall and CPU time) and its peak memory in megabytes."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(layer), "PYTHONDONTWRITEBYTECODE": "1", **ENVIRONMENT}
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", program], cwd=directory, env=environment)  # noqa: S603 - ours
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{directory}: expected {program!r} to end with 0, got {process.returncode}")
    return {"wall": seconds, "cpu": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1000}


def measure(layer: Path, rounds: int) -> list[dict[str, Any]]:
    """Return medians over the rounds; each round starts every program once, and one more round goes before them."""
    programs = {BASE: (_BASE_PROGRAM, layer)}
    programs.update((name, ("import app", REPOSITORY / "functions" / name)) for name in FUNCTIONS)
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, (program, directory) in programs.items():
            started = start(program, directory, layer)
            if number:
                runs[name].append(started)
    rows = []
    for name, starts in runs.items():
        wall, cpu, megabytes = (median(one[kind] for one in starts) for kind in ("wall", "cpu", "megabytes"))
        pairs = list(zip(starts, runs[BASE], strict=True))
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
