"""How long the command line takes to start: whole commands, each compared with `python -c pass`.

`make bench` (or `python -m benchmarks.measure.speed.command_line`) writes `benchmarks/results/command_line.json` and
its table in `docs/speed.md`. The milliseconds are this machine's; the ratios are of programs that run in turns.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from threading import Thread
from typing import Any, Final

from benchmarks.harness.results_file import REPOSITORY, output

PAGE: Final = "docs/speed.md"
COMMAND: Final = "make bench"
BASE: Final = "python -c pass"
READ: Final = "standings boards list --token …"
WITHOUT_STACK: Final = ("standings --help", "standings --version", "standings boards check")
COMMANDS: Final = (*WITHOUT_STACK, READ)
BUDGET: Final = 5.0
"""A multiple of the CPU time of the base."""
_PROGRAMS: Final = {BASE: ["-c", "pass"]} | {
    command: ["-m", "standings_cli", *command.split()[1:]] for command in WITHOUT_STACK
}


class _Boards(BaseHTTPRequestHandler):
    """An API that has one board."""

    def do_GET(self) -> None:
        body = b'{"boards": [{"board": "otters"}], "next": null}'
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@contextmanager
def _programs() -> Iterator[dict[str, list[str]]]:
    """Return the arguments of each program, while an API answers the read."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Boards) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        read = ["-m", "standings_cli", "boards", "list", "--api-url", address, "--token", "a.b.c"]
        try:
            yield {**_PROGRAMS, READ: read}
        finally:
            server.shutdown()
            thread.join()


def start(arguments: list[str]) -> tuple[float, float]:
    """Run Python with these arguments in a process of its own; return its seconds, wall and CPU time."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "layers" / "standings"), "NO_PROXY": "127.0.0.1"}
    began = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - our own modules
        [sys.executable, *arguments], cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"expected {arguments} to end with 0, got {process.returncode}")
    return seconds, used.ru_utime + used.ru_stime


def measure(rounds: int) -> dict[str, Any]:
    """Return medians over the rounds; each round starts every program once, and one more round goes before them."""
    runs: dict[str, list[tuple[float, float]]] = {program: [] for program in (BASE, *COMMANDS)}
    with _programs() as programs:
        for number in range(rounds + 1):
            for program, arguments in programs.items():
                started = start(arguments)
                if number:
                    runs[program].append(started)
    rows = []
    for program, starts in runs.items():
        pairs = list(zip(starts, runs[BASE], strict=True))
        rows.append(
            {
                "program": program,
                "milliseconds": round(1000 * median(wall for wall, _ in starts)),
                "times_base": round(median(own[0] / base[0] for own, base in pairs), 1),
                "times_base_cpu": round(median(own[1] / base[1] for own, base in pairs), 1),
            }
        )
    return {"rounds": rounds, "starts": rows}


def of_starts(result: dict[str, Any]) -> Iterator[str]:
    """Return the table of starts."""
    yield f"| program | ms | ÷ `{BASE}` | the same for CPU | budget |"
    yield "|---" * 5 + "|"
    for row in result["starts"]:
        budget = f"{BUDGET:g}" if row["program"] in COMMANDS else ""
        yield (
            f"| `{row['program']}` | {row['milliseconds']} | {row['times_base']:.1f} | {row['times_base_cpu']:.1f} "
            f"| {budget} |"
        )


TABLES: Final = {"commands": of_starts}


def main(arguments: list[str]) -> int:
    """Measure, write the result and update the page."""
    out = output(arguments, __doc__)
    result = measure(3 if out.small else 40)
    out.publish("command_line", result, PAGE, COMMAND, TABLES)
    print("\n".join(of_starts(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
