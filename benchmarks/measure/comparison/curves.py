"""How reads grow with members, events with batches, windows and amounts, and the ceiling with shards and lanes.

`python -m benchmarks.measure.comparison.curves` writes `benchmarks/results/curves.json` and its tables in
`docs/performance.md`.
"""

import gc
import sys
from typing import Any, Final

from benchmarks.harness.results_file import output
from benchmarks.harness.shapes import SHAPES
from benchmarks.measure.comparison.curve_tables import TABLES, pictures
from benchmarks.measure.comparison.event_curves import ceilings, events
from benchmarks.measure.comparison.read_curves import reads

PAGE: Final = "docs/performance.md"
COMMAND: Final = "make bench"
SIZES: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
MEMBERS: Final = 200_000
EVENTS: Final = 1_000
FOR_KEYS: Final = 2_000
"""Events of a ceiling; they are spread over the shards of the index."""
Row = dict[str, Any]


def measure(*, small: bool) -> Row:
    """Return the whole result."""
    sizes = SIZES[:2] if small else SIZES
    result: Row = {"reads": []}
    for shape in SHAPES:
        for count in sizes:
            result["reads"] += reads(shape, count)
            gc.collect()
    members = 10_000 if small else MEMBERS
    result["members"] = members
    result["events"] = list(events(100 if small else EVENTS, members))
    result["ceilings"] = list(ceilings(100 if small else FOR_KEYS, members))
    return result


def main(arguments: list[str]) -> int:
    """Measure, write the result and update the page."""
    out = output(arguments, __doc__)
    gc.disable()  # it would search a million rows for cycles again and again
    result = measure(small=out.small)
    out.publish("curves", result, PAGE, COMMAND, TABLES, pictures(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
