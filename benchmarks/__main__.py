"""Runs benchmarks, each in a process of its own: `python -m benchmarks [--size small] [NAME …]`.

Every figure of the README and of the pages comes from one of these. With `--pages` nothing is measured: the pages are
written from the results that are there.
"""

import argparse
import subprocess
import sys
import time
from importlib import import_module
from typing import Final

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import SIZES, Output

MODULES: Final = {
    "units": "benchmarks.measure.units",
    "tie_breaks": "benchmarks.measure.tie_breaks",
    "reads": "benchmarks.measure.reads",
    "announcements": "benchmarks.measure.announcements",
    "cost": "benchmarks.models.cost.cost_page",
    "lanes": "benchmarks.measure.lanes",
    "ceiling": "benchmarks.models.ceiling",
    "hot_key": "benchmarks.measure.hot_key",
    "speed": "benchmarks.measure.speed.speed",
    "streams": "benchmarks.measure.rolling",
    "posting": "benchmarks.measure.posting",
    "tabs": "benchmarks.measure.tabs",
    "compared": "benchmarks.pages.other_ways",
    "budgets": "benchmarks.pages.budgets",
    "zones": "benchmarks.pages.zones",
    "packed": "benchmarks.models.packed",
}
"""The modules of the benchmarks, in the order in which they run: later ones read the results of earlier ones."""
NAMED: Final = {
    "serve": "benchmarks.measure.serve",
    "builds": "benchmarks.measure.speed.builds",
    "beside": "benchmarks.beside.others",
}
"""Benchmarks that run only if they are named: they deploy the stack, need an earlier commit, or ask other tools."""
SAFEGUARDS: Final = "safeguards"
"""A program of the tests, which `make bench` runs too."""


def load(name: str) -> Benchmark:
    benchmark: Benchmark = import_module({**MODULES, **NAMED}[name]).BENCHMARK
    return benchmark


def main(arguments: list[str]) -> int:
    """Run the named benchmarks, or all; the exit status is 1 if one failed or was left out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default=SIZES[0], help="small writes below .local/bench only")
    parser.add_argument("--pages", action="store_true", help="only write the pages from the committed results")
    known = (*MODULES, SAFEGUARDS, *NAMED)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(known)}")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"expected names of benchmarks ({', '.join(known)}), got {', '.join(unknown)}")
    names = [name for name in known if (name in options.names if options.names else name not in NAMED)]
    out = Output(small=options.size == "small")
    if options.pages:
        for name in (one for one in names if one != SAFEGUARDS):
            load(name).show(out, load(name).committed())
        return 0
    missing = {name: reason for name in names if name != SAFEGUARDS and (reason := load(name).unavailable())}
    for name, reason in missing.items():
        print(f"{name} will be left out: {reason}", flush=True)
    present = [name for name in names if name not in missing]
    if len(names) == 1 and present and names != [SAFEGUARDS]:
        load(names[0]).run(out)
        return 0
    failed = [name for name in present if run(name, options.size)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    for name, reason in missing.items():
        print(f"{name} was left out: {reason}", file=sys.stderr)
    return int(bool(failed or missing))


def run(name: str, size: str) -> int:
    print(f"== {name}", flush=True)
    began = time.monotonic()
    program = ["tests.faults.safeguards"] if name == SAFEGUARDS else ["benchmarks", name]
    status = subprocess.run([sys.executable, "-m", *program, "--size", size], check=False).returncode  # noqa: S603
    print(f"== {name}: {time.monotonic() - began:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
