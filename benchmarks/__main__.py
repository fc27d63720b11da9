"""Runs all benchmarks, each in a process of its own: `python -m benchmarks [--size small] [NAME …]`.

Whatever figure the README or a page shows comes from one of these.
"""

import argparse
import subprocess
import sys
import time
from typing import Final

from benchmarks.output import SIZES

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


def main(arguments: list[str]) -> int:
    """Run those that are named, or all; exit status 1 where one failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default=SIZES[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(ALL)}")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.names) - set(ALL))
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}")
    failed = []
    for name in [one for one in ALL if not given.names or one in given.names]:
        print(f"== {name}", flush=True)
        began = time.monotonic()
        command = [sys.executable, "-m", ELSEWHERE.get(name, f"benchmarks.{name}"), "--size", given.size]
        if subprocess.run(command, check=False).returncode:  # noqa: S603 - our own modules
            failed.append(name)
        print(f"== {name}: {time.monotonic() - began:.0f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
