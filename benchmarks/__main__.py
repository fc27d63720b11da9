"""Runs all benchmarks, each in a process of its own: `python -m benchmarks [--size small] [NAME …]`.

Whatever figure the README or a page shows comes from one of these.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.harness.results_file import SIZES
from benchmarks.measure.speed import startup
from tests.support.aws import redis_server

ALL: Final = (
    "units",
    "reads",
    "cost",
    "lanes",
    "ceiling",
    "rolling",
    "compared",
    "curves",
    "speed",
    "budgets",
    "safeguards",
)
"""In this order: later ones read what earlier ones found."""
ELSEWHERE: Final = {"safeguards": "tests.faults.safeguards"}
"""Modules of those that are no benchmarks."""
UNAVAILABLE: Final[Mapping[str, Callable[[], str | None]]] = {
    "compared": redis_server.unavailable,
    "speed": startup.unavailable,
}
"""For each benchmark that needs a program: why it cannot run on this machine, or None if it can."""


def main(arguments: list[str]) -> int:
    """Run the named benchmarks, or all; exit status 1 where one failed or was left out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default=SIZES[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(ALL)}")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.names) - set(ALL))
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}")
    names = [name for name in ALL if not given.names or name in given.names]
    missing = {name: reason for name in names if name in UNAVAILABLE and (reason := UNAVAILABLE[name]())}
    for name, reason in missing.items():
        print(f"{name} will be left out: {reason}", flush=True)
    failed = [name for name in names if name not in missing and run(name, given.size)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    for name, reason in missing.items():
        print(f"{name} was left out: {reason}", file=sys.stderr)
    return int(bool(failed or missing))


def run(name: str, size: str) -> int:
    """Run one benchmark in a process of its own; return its exit status."""
    print(f"== {name}", flush=True)
    began = time.monotonic()
    command = [sys.executable, "-m", ELSEWHERE.get(name, f"benchmarks.{name}"), "--size", size]
    status = subprocess.run(command, check=False).returncode  # noqa: S603 - our own modules
    print(f"== {name}: {time.monotonic() - began:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
