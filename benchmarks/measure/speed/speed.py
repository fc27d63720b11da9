"""How fast the code itself is: events and records per second on one core, where the time goes, memory, and starts.

`make bench` (or `python -m benchmarks.measure.speed.speed`) writes `benchmarks/results/speed.json` and the tables of
`docs/speed.md`. The seconds are this machine's; the ratios compare with code that the same run measures.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

import orjson

from benchmarks.harness.results_file import output
from benchmarks.measure.speed import batches, startup

PAGE: Final = "docs/speed.md"
COMMAND: Final = "make bench"
FUNCTIONS: Final = ("writer", "projector")
MEMBERS: Final = 200_000
BATCHES: Final = 5
LEVELS: Final = ("store", "botocore")
BUDGETS: Final = {"store": 10_000, "botocore": 5_000}
"""Records per second."""
STARTS: Final = {"writer": 1.3, "projector": 1.3, "query": 1.5}
"""Multiples of the start of a program that only makes a boto3 client."""
RECORDS: Final = {"writer": "events", "projector": "records"}
STUBBED: Final = {"store": "the store", "botocore": "the network"}
_LOOPS: Final = {
    "store": "parsing and writing it with orjson",
    "botocore": "sending the same transactions with botocore",
}


def _ask_pace(*question: str) -> dict[str, Any]:
    """Ask `pace` in a process of its own, which no earlier measurement affects."""
    command = [sys.executable, "-m", "benchmarks.measure.speed.pace", *question]
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own module
    answer: dict[str, Any] = orjson.loads(process.stdout)
    print(answer, flush=True)
    return answer


def measure(*, small: bool) -> dict[str, Any]:
    """Return the whole result."""
    processes, repeats, rounds = (1, 2, 2) if small else (3, 6, 25)
    board = ("10000", "1") if small else (str(MEMBERS), str(BATCHES))
    with tempfile.TemporaryDirectory() as directory:
        starts = startup.measure(startup.build(Path(directory)), rounds)
    paces = []
    for function in FUNCTIONS:
        for level in LEVELS:
            answers = [_ask_pace("pace", function, level, *board, str(repeats)) for _ in range(processes)]
            best = max(answers, key=lambda answer: answer["records_per_second"])
            paces.append({**best, "loops_per_record": median(answer["loops_per_record"] for answer in answers)})
    return {
        "members": MEMBERS,
        "batch": batches.BATCH,
        "starts": starts,
        "paces": paces,
        "profiles": [_ask_pace("profile", function, level, *board) for function in FUNCTIONS for level in LEVELS],
        "memory": [
            {"boards": boards, **_ask_pace("memory", function, boards)}
            for function in FUNCTIONS
            for boards in ("all", "shipped")
        ],
    }


def of_paces(result: dict[str, Any]) -> Iterator[str]:
    """Return the table of records per second, and of the ratio to a loop of the same run."""
    yield "| function | stubbed | per second of one core | budget | compared with | takes times as long |"
    yield "|---" * 6 + "|"
    for row in result["paces"]:
        level = row["level"]
        yield (
            f"| {row['function']} | {STUBBED[level]} | {row['records_per_second']:,} {RECORDS[row['function']]} | "
            f"{BUDGETS[level]:,} | {_LOOPS[level]} | {row['loops_per_record']:g} |"
        )


def of_shares(result: dict[str, Any]) -> Iterator[str]:
    """Return the table of shares by package."""
    packages = list(dict.fromkeys(name for row in result["profiles"] for name in row["shares"] if name != "stub"))
    yield "| package | " + " | ".join(f"{row['function']}, no {row['level']}" for row in _profiles(result)) + " |"
    yield "|---" * (len(result["profiles"]) + 1) + "|"
    for name in packages:
        yield f"| {name} | " + " | ".join(_share(row["shares"].get(name, 0)) for row in _profiles(result)) + " |"


def _profiles(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**row, "level": STUBBED[row["level"]].removeprefix("the ")} for row in result["profiles"]]


def of_functions(result: dict[str, Any]) -> Iterator[str]:
    """Return the table of our functions that take most time, with the network stubbed."""
    yield "| | function | share of the time |"
    yield "|---|---|---|"
    for row in result["profiles"]:
        if row["level"] == "botocore":
            for name, share in row["most"].items():
                yield f"| {row['function']} | `{name}` | {_share(share)} |"


def of_memory(result: dict[str, Any]) -> Iterator[str]:
    """Return the table of the memory of the largest batch."""
    yield "| function | boards | batch | event, MB | peak, MB |"
    yield "|---" * 5 + "|"
    for row in result["memory"]:
        boards = "`all` alone" if row["boards"] == "all" else "as shipped"
        yield (
            f"| {row['function']} | {boards} | {row['records']:,} | {row['event_megabytes']:g} | "
            f"{row['peak_megabytes']:g} |"
        )


def of_starts(result: dict[str, Any]) -> Iterator[str]:
    """Return the table of starts."""
    yield "| program | ms | ms of CPU | ÷ boto3 client | the same for CPU | budget | peak MB |"
    yield "|---" * 7 + "|"
    for row in result["starts"]:
        name = "a boto3 client of DynamoDB" if row["program"] == startup.BASE else row["program"]
        budget = STARTS.get(row["program"])
        yield (
            f"| {name} | {row['milliseconds']:,} | {row['cpu_milliseconds']:,} | {row['times_base']:.2f} | "
            f"{row['times_base_cpu']:.2f} | {f'{budget:g}' if budget else ''} | {row['megabytes']} |"
        )


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


TABLES: Final = {
    "paces": of_paces,
    "shares": of_shares,
    "functions": of_functions,
    "memory": of_memory,
    "starts": of_starts,
}


def main(arguments: list[str]) -> int:
    """Measure, write the result and update the page."""
    out = output(arguments, __doc__)
    result = measure(small=out.small)
    out.publish("speed", result, PAGE, COMMAND, TABLES)
    print("\n".join((*of_paces(result), *of_starts(result))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
