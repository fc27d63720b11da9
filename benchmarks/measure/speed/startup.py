"""How long a function takes to start: a whole process, beside one that makes a boto3 client and no more.

The layer is built by its own makefile, as `sam build` does it; programs are compiled at every start, as where they
cannot be written beside.
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
    """Say why no layer can be built here, None if it can."""
    return None if BUILDER.exists() else f"there is no {BUILDER}, which builds the layer: `make setup` installs it"


def build(directory: Path) -> Path:
    """The layer for this interpreter, as it is deployed: the folder that functions import from."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    processor = "arm64" if platform.machine().lower() in {"arm64", "aarch64"} else "x86_64"
    command: list[str | Path] = ["make", "--directory", REPOSITORY / "layers" / "standings", "build-StandingsLayer"]
    command += ["--file", Path("targets") / f"python{version}-{processor}" / "Makefile"]
    command += [f"ARTIFACTS_DIR={directory}", f"PYTHON={BUILDER}"]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own makefile
    return directory / "python"


def start(program: str, directory: Path, layer: Path) -> dict[str, float]:
    """One process from its start to its end: seconds by the clock and of CPU time, megabytes at its peak."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(layer), "PYTHONDONTWRITEBYTECODE": "1", **ENVIRONMENT}
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", program], cwd=directory, env=environment)  # noqa: S603 - ours
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{directory}: {program!r} ended with {process.returncode}")
    return {"wall": seconds, "cpu": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1000}


def measure(layer: Path, rounds: int) -> list[dict[str, Any]]:
    """Medians of many rounds, in each of which every program starts once; the first is not counted."""
    programs = {BASE: (_BASE_PROGRAM, layer)}
    programs.update((name, ("import app", REPOSITORY / "functions" / name)) for name in FUNCTIONS)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, (program, directory) in programs.items():
            started = start(program, directory, layer)
            if number:
                found[name].append(started)
    rows = []
    for name, starts in found.items():
        wall, cpu, megabytes = (median(one[what] for one in starts) for what in ("wall", "cpu", "megabytes"))
        pairs = list(zip(starts, found[BASE], strict=True))
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
