"""Runs one schedule alone, and prints what happened in it: `make faults SEED=7`.

`make faults SEED=7 SEEDS=100` runs a hundred from there on, and says which were wrong.
"""

import sys
import time
from collections import Counter

import tests.conftest  # noqa: F401 - the environment that tests have, before anything of the functions is loaded
from tests.faults.world import Options, run, uncollected


def main() -> None:
    first = int(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    wrong = 0
    traps: Counter[str] = Counter()
    began = time.process_time()
    for seed in range(first, first + count):
        outcome = run(seed, Options(trace=count == 1))
        traps.update(outcome.traps.keys())
        wrong += bool(outcome.differences)
        for line in outcome.trace:
            print(line)
        faults = sum(outcome.faults.values())
        if count == 1 or outcome.differences:
            print(f"seed {seed}: {outcome.digest}, {outcome.calls} calls, {faults} faults, {outcome.differences[:12]}")
            if count == 1:
                print(dict(outcome.faults), dict(outcome.traps), outcome.compared, outcome.workers)
    print(f"{wrong} of {count} schedules wrong, {(time.process_time() - began) / count:.3f} s of processor time each")
    for name, schedules in sorted(traps.items()):
        print(f"{schedules:6} {name}")


with uncollected():
    main()
