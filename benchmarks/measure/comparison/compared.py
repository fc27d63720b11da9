"""Standings and other ways to rank, measured in the same run: costs of ranks, changes and jobs, and errors of ranks.

`python -m benchmarks.measure.comparison.compared` writes `benchmarks/results/compared.json` and its tables in
`docs/performance.md`. The other ways (`benchmarks/rivals`) run on the same engine and meter as ours, a sorted set on a
Redis of its own.
"""

import gc
import sys
from typing import Any, Final

from benchmarks.harness.results_file import output
from benchmarks.harness.shapes import SHAPES
from benchmarks.measure import staleness
from benchmarks.measure.comparison.change_costs import changes, day_changes
from benchmarks.measure.comparison.compared_tables import TABLES, pictures
from benchmarks.measure.comparison.list_costs import SAMPLE, SHAPE, redis_rows, tops
from benchmarks.measure.comparison.rank_costs import accuracy, ranks
from tests.support.aws import redis_server

PAGE: Final = "docs/performance.md"
COMMAND: Final = "make bench"
SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
OTHERS: Final = 100_000
"""Members of the boards of other shapes."""
ACCURACY: Final = 10_000
CHANGES: Final = 400
Row = dict[str, Any]


def measure(*, small: bool) -> Row:
    """Return the whole result."""
    reason = redis_server.unavailable()
    if reason:
        raise SystemExit(f"compared: {reason}")
    sizes = SIZES[:2] if small else SIZES
    boards = [(SHAPE, count) for count in sizes] + [
        (shape, sizes[-1] if small else OTHERS) for shape in SHAPES if shape != SHAPE
    ]
    result: Row = {"redis": list(redis_rows(sizes if small else (*SIZES, 10_000_000)))}
    result["ranks"] = []
    for shape, count in boards:
        result["ranks"] += ranks(shape, count)
        gc.collect()
    return {
        **result,
        "accuracy": [
            row for shape in SHAPES for row in accuracy(shape, *((1_000, 20) if small else (ACCURACY, SAMPLE)))
        ],
        "changes": list(changes(ACCURACY, 100 if small else CHANGES)),
        "days": list(day_changes(ACCURACY, 100 if small else CHANGES)),
        "tops": list(tops(sizes[-1])),
        "staleness": staleness.measure(small=small),
    }


def main(arguments: list[str]) -> int:
    """Measure, write the result and update the page."""
    out = output(arguments, __doc__)
    gc.disable()  # it would search a million rows for cycles again and again
    result = measure(small=out.small)
    out.publish("compared", result, PAGE, COMMAND, TABLES, pictures(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
