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
from base64 import b64decode
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import orjson
from botocore.session import get_session

from benchmarks.harness import population
from benchmarks.measure.speed import batches
from benchmarks.measure.speed.handlers import ENVIRONMENT, Transport, load, run
from standings.runtime.environment import BOARDS_FILE

_MEGABYTE: Final = 1_000_000


def pace(function: str, level: str, members: int, count: int, repeats: int) -> dict[str, Any]:
    """Measure records per second, and those of a comparable loop that takes turns with it.

    At level `store` the loop parses and writes the records with orjson. At level `botocore` it is a plain client that
    sends the same transactions. Every repeat has batches of its own. The pace is that of the fastest repeat, the one
    that other processes disturbed least; `loops_per_record` is the median over the repeats.
    """
    transport = Transport()
    app = load(function, population.BOARDS, transport if level == "botocore" else None)
    plain: Any = get_session().create_client("dynamodb")
    plain._endpoint.http_session = Transport()  # noqa: SLF001 - botocore takes no session of ours
    all_batches = batches.batches(function, population.BOARDS, members, batches.BATCH, count * (repeats + 1))
    run(app, all_batches[:count])
    turns = []
    for number in range(1, repeats + 1):
        part = all_batches[number * count : (number + 1) * count]
        transport.transactions.clear()
        seconds = _seconds(partial(run, app, part))
        loop = _parsing(part) if level == "store" else _sending(plain, transport.transactions)
        turns.append((seconds, _seconds(loop)))
    best, loop_best = (min(column) for column in zip(*turns, strict=True))
    return {
        "function": function,
        "level": level,
        "records_per_second": round(batches.BATCH * count / best),
        "loop_records_per_second": round(batches.BATCH * count / loop_best),
        "loops_per_record": round(median(ours / loop for ours, loop in turns), 2),
    }


def _seconds(job: Callable[[], None]) -> float:
    began = time.process_time()
    job()
    return time.process_time() - began


def _parsing(part: Iterable[dict[str, Any]]) -> Callable[[], None]:
    records = [record for batch in part for record in batch["Records"]]
    texts = [orjson.dumps(record["dynamodb"]) if "dynamodb" in record else record["body"] for record in records]

    def loop() -> None:
        for text in texts:
            orjson.dumps(orjson.loads(text))

    return loop


def _sending(client: Any, transactions: Iterable[bytes]) -> Callable[[], None]:
    requests = [_actions(body) for body in transactions]

    def loop() -> None:
        for actions in requests:
            client.transact_write_items(TransactItems=actions)

    return loop


def _actions(body: bytes) -> list[Any]:
    """Return the actions of a transaction in the form that botocore takes."""
    actions: list[Any] = orjson.loads(body)["TransactItems"]
    for action in actions:
        digest = action.get("Put", {}).get("Item", {}).get("d")
        if digest is not None:
            digest["B"] = b64decode(digest["B"])
    return actions


def memory(function: str, boards: str) -> dict[str, Any]:
    """Measure the peak memory of the largest batch, from its event to the last request, in megabytes."""
    app = load(function, boards, Transport())
    made = batches.batches(function, boards, 10 * batches.LARGEST, batches.LARGEST, 2)
    first, second = map(orjson.dumps, made)
    run(app, [orjson.loads(first)])
    tracemalloc.start()
    run(app, [orjson.loads(second)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {
        "function": function,
        "records": batches.LARGEST,
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
