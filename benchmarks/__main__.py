"""Runs all benchmarks, each in a process of its own: `python -m benchmarks [--size small] [NAME …]`.

Every figure of the README and of the pages comes from one of these.
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
from tests.support.browser import chromium

MODULES: Final = {
    "units": "benchmarks.measure.units",
    "reads": "benchmarks.measure.reads",
    "rolling_reads": "benchmarks.measure.rolling_reads",
    "member_reads": "benchmarks.measure.member_reads",
    "profiles": "benchmarks.measure.profiles",
    "announcements": "benchmarks.measure.announcing.looks",
    "cost": "benchmarks.models.cost.cost",
    "lanes": "benchmarks.measure.lanes",
    "ceiling": "benchmarks.models.ceiling",
    "compared": "benchmarks.measure.comparison.compared",
    "curves": "benchmarks.measure.comparison.curves",
    "speed": "benchmarks.measure.speed.speed",
    "command_line": "benchmarks.measure.speed.command_line",
    "settlement": "benchmarks.measure.upkeep.settlement",
    "tabs": "benchmarks.measure.live_page.tabs",
    "budgets": "benchmarks.pages.budgets",
    "safeguards": "tests.faults.safeguards",
}
"""The benchmarks in the order in which they run: later ones read the results of earlier ones."""
UNAVAILABLE: Final[Mapping[str, Callable[[], str | None]]] = {
    "compared": redis_server.unavailable,
    "speed": startup.unavailable,
    "tabs": chromium.unavailable,
}
"""For each benchmark that needs a program: a function that says why it cannot run here, or None if it can."""


def main(arguments: list[str]) -> int:
    """Run the named benchmarks, or all; the exit status is 1 if one failed or was left out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default=SIZES[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(MODULES)}")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - MODULES.keys())
    if unknown:
        parser.error(f"expected names of benchmarks ({', '.join(MODULES)}), got {', '.join(unknown)}")
    names = [name for name in MODULES if not options.names or name in options.names]
    missing = {name: reason for name in names if name in UNAVAILABLE and (reason := UNAVAILABLE[name]())}
    for name, reason in missing.items():
        print(f"{name} will be left out: {reason}", flush=True)
    failed = [name for name in names if name not in missing and run(name, options.size)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    for name, reason in missing.items():
        print(f"{name} was left out: {reason}", file=sys.stderr)
    return int(bool(failed or missing))


def run(name: str, size: str) -> int:
    """Run one benchmark in a process of its own; return its exit status."""
    print(f"== {name}", flush=True)
    began = time.monotonic()
    command = [sys.executable, "-m", MODULES[name], "--size", size]
    status = subprocess.run(command, check=False).returncode  # noqa: S603 - our own modules
    print(f"== {name}: {time.monotonic() - began:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
