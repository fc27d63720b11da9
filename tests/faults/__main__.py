"""Run one schedule and print each of its steps: `make faults SEED=7`.

`make faults SEED=7 SEEDS=100` runs the hundred schedules from seed 7 on and prints those that came out wrong. Both end
with status 1 if a schedule came out wrong. With NOTES=1 they are schedules in which scores keep notes, and with BESTS=1
beside it bests are set. With TIES=1 rankings have tie-breaks, with PEOPLE=1 members are merged and rankings begin at a
score, with CORRECTIONS=1 events are corrected, with ENDS=1 boards end and their names are used again.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence

import tests.conftest  # noqa: F401 - sets the environment variables before any module of the product is imported
from tests.faults.world import Options, run

OPTIONS = ("notes", "bests", "ties", "people", "corrections", "ends")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the schedules and return the exit status: 0 if all came out right, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("seed", type=int, help="seed of the first schedule")
    parser.add_argument("count", type=int, nargs="?", default=1, help="number of schedules (default: 1)")
    parser.add_argument("--notes", action="store_true", help="scores of the league keep notes: other schedules")
    parser.add_argument("--bests", action="store_true", help="with --notes, bests are set: other schedules")
    parser.add_argument("--ties", action="store_true", help="rankings of the league have tie-breaks: other schedules")
    parser.add_argument("--people", action="store_true", help="members are merged: other schedules")
    parser.add_argument("--corrections", action="store_true", help="events are corrected: other schedules")
    parser.add_argument("--ends", action="store_true", help="boards end: other schedules")
    options = parser.parse_args(arguments)
    wrong = 0
    traps: Counter[str] = Counter()
    began = time.process_time()
    for seed in range(options.seed, options.seed + options.count):
        kinds = {name: getattr(options, name) for name in OPTIONS}
        world = run(seed, Options(trace=options.count == 1, **kinds))
        traps.update(world.traps.keys())
        wrong += bool(world.differences)
        for line in world.trace:
            print(line)
        faults = sum(world.faults.values())
        if options.count == 1 or world.differences:
            print(f"seed {seed}: {world.digest()}, {world.calls} calls, {faults} faults")
            for difference in world.differences[:12]:
                print(f"  wrong: {difference}")
        if options.count == 1:
            print(dict(world.faults), dict(world.traps), world.comparison.compared, world.workers)
    seconds = (time.process_time() - began) / options.count
    print(f"{wrong} of {options.count} schedules wrong, {seconds:.3f} s of processor time each")
    for name, schedules in sorted(traps.items()):
        print(f"{schedules:6} {name}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
