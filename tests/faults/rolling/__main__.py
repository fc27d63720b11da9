"""Print how many schedules are wrong with all rules, and without each: `python -m tests.faults.rolling [SEEDS]`."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from .rules import Rule
from .schedule import run


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. Returns 1 if a schedule is wrong with all rules, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.rolling", description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=200, help="number of schedules (default: 200)")
    parser.add_argument("--first", type=int, default=0, help="first seed (default: 0)")
    parser.add_argument("--rule", help="only without the rule whose name contains this; '' for all rules on")
    options = parser.parse_args(arguments)
    chosen: list[Rule | None] = [None, *Rule]
    if options.rule is not None:
        chosen = [rule for rule in Rule if options.rule in rule] if options.rule else [None]
    worst = 0
    for off in chosen:
        met: Counter[str] = Counter()
        kinds: Counter[str] = Counter()
        wrong = []
        for seed in range(options.first, options.first + options.seeds):
            world = run(seed, *([off] if off else []))
            met.update(world.met.keys())
            kinds.update({each.partition(" ")[0].rstrip(":") for each in world.wrong})
            if world.wrong:
                wrong.append(seed)
        name = "all rules" if off is None else f"without: {off}"
        print(f"{len(wrong):5} of {options.seeds} wrong, {name} {dict(kinds) or ''} {wrong[:4] or ''}", flush=True)
        if off is None:
            print(dict(met))
            worst = len(wrong)
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
