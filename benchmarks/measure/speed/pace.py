"""How fast the code of one function is, on one core: a process of its own for each question.

`python -m benchmarks.measure.speed.pace pace writer store 200000 10 5` prints JSON: events (records) per second of CPU
time, through the deployed handler, from records as Lambda passes them. Level `store` stubs the tables: every write
succeeds at no cost. Level `botocore` stubs the network: requests are built and signed, and an empty 200 answers them.
`memory writer all` prints how much memory a batch takes.
"""

import os
import sys
import time
import tracemalloc
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import orjson

from benchmarks.harness import population
from benchmarks.measure.speed.handlers import BATCH, ENVIRONMENT, LARGEST, Transport, batches, load, run
from standings.runtime.environment import BOARDS_FILE

_MEGABYTE: Final = 1_000_000


def pace(function: str, level: str, members: int, count: int, repeats: int) -> dict[str, Any]:
    """Measure records per second; every repeat has batches of its own.

    The pace is that of the fastest repeat, the one that other processes disturbed least.
    """
    app = load(function, population.BOARDS, Transport() if level == "botocore" else None)
    all_batches = batches(function, population.BOARDS, members, BATCH, count * (repeats + 1))
    run(app, all_batches[:count])
    best = min(_seconds(app, all_batches[turn * count : (turn + 1) * count]) for turn in range(1, repeats + 1))
    return {"function": function, "level": level, "records_per_second": round(BATCH * count / best)}


def _seconds(app: ModuleType, part: Iterable[dict[str, Any]]) -> float:
    began = time.process_time()
    run(app, part)
    return time.process_time() - began


def memory(function: str, boards: str) -> dict[str, Any]:
    """Measure the peak memory of the largest batch, from its event to the last request, in megabytes."""
    app = load(function, boards, Transport())
    made = batches(function, boards, 10 * LARGEST, LARGEST, 2)
    first, second = map(orjson.dumps, made)
    run(app, [orjson.loads(first)])
    tracemalloc.start()
    run(app, [orjson.loads(second)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {
        "function": function,
        "records": LARGEST,
        "event_megabytes": round(len(second) / _MEGABYTE, 2),
        "peak_megabytes": round(peak / _MEGABYTE, 1),
    }


def main(arguments: list[str]) -> int:
    question, function, *rest = arguments
    os.environ.update(ENVIRONMENT)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        if question == "pace":
            answer = pace(function, rest[0], *map(int, rest[1:]))
        else:
            boards = population.BOARDS if rest[0] == "all" else BOARDS_FILE.read_text(encoding="utf-8")
            answer = memory(function, boards)
    print(orjson.dumps(answer).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
