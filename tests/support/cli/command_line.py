"""`standings` in this process: what a command prints and its exit status, over a stack's functions or over anything.

Sessions in a terminal are text: what is typed, what it prints, and `[status]` where it is not 0. A line that begins
with `#` names a session; what follows runs one after the other, over the same stack. `cat > FILE` and `cat >> FILE`
write the lines below them. Lines of standard error begin with `! `. `…` is any text of a line, and alone on a line any
lines.
"""

import io
import json
import re
import shlex
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import orjson
import pytest

from standings.client.api import Transport
from standings_cli.__main__ import main
from standings_cli.stack.maintenance import Maintenance
from standings_cli.stack.watched_api import WatchedApi
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.gateway import serving
from tests.support.aws.stack import Stack, count
from tests.support.awslambda.pollers import Context

_LOGGED = re.compile(r'^\{"(_aws|level)":.*\n', re.MULTILINE)
"""What functions that run in this process log to standard output."""


class Ran(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """What a person sees, without spaces at the ends of lines, those of standard error after `! `; `[status]`."""
        lines = [line.rstrip(" ") for line in self.out.splitlines()]
        lines += [f"! {line}" for line in self.err.splitlines()]
        return "".join(f"{line}\n" for line in (lines if self.status == 0 else [*lines, f"[{self.status}]"]))


Run = Callable[..., Ran]
"""Runs a command, given as one text as in a shell; further arguments are added as they are."""


def runner(connection: Any, capsys: pytest.CaptureFixture[str]) -> Run:
    """Make what runs commands. `connection` stands for the stack that they speak to; None: as the options say."""

    def run(command: str, *arguments: str) -> Ran:
        capsys.readouterr()
        given = [*shlex.split(command), *arguments]
        try:
            status = main(given) if connection is None else main(given, lambda _: connection)
        except SystemExit as ended:
            status = int(ended.code or 0)
        if connection is not None and hasattr(connection, "settle"):
            connection.settle()
        out, err = capsys.readouterr()
        return Ran(status, _LOGGED.sub("", out), err)

    return run


class Lambda:
    """Invokes the maintenance function as the service does: JSON in and out, errors as content.

    The calls whose numbers, from 0, are in `unavailable` end with `failure` after the function has worked. Errors have
    the names of their classes, unless `names_errors` is False, as in the embedded AWS.
    """

    def __init__(self, stack: Stack, unavailable: Container[int] = ()) -> None:
        self._stack = stack
        self.unavailable = unavailable
        self.failure = {"errorType": "StoreUnavailableError", "errorMessage": "Rankings is throttled"}
        self.names_errors = True
        self.payloads: list[dict[str, Any]] = []

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        assert FunctionName == "maintenance"
        self.payloads.append(json.loads(Payload))
        try:
            answer = self._stack.maintenance(self.payloads[-1], Context(seconds=900))
        except Exception as error:  # noqa: BLE001 - as Lambda does
            kind = type(error).__name__ if self.names_errors else "Runtime.HandlerError"
            return _failed({"errorType": kind, "errorMessage": str(error)})
        if len(self.payloads) - 1 in self.unavailable:
            return _failed(self.failure)
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}


def _failed(content: dict[str, str]) -> dict[str, Any]:
    return {"FunctionError": "Unhandled", "Payload": io.BytesIO(orjson.dumps(content))}


@contextmanager
def connected(stack: Stack, sleep: Callable[[float], None] | None = None) -> Iterator[Any]:
    """Serve a stack over HTTP, and yield the connection to it. Time passes by `sleep`, or on the stack's clock.

    Its `naps` are the waits of commands between attempts, whose random part is as long as it can be. After each command
    its `settle` brings what is in the queue and in the stream to the rankings.
    """
    there = SimpleNamespace(knows_api=True, client=lambda _: stack.activity)
    there.queue_url = ENVIRONMENT["ACTIVITY_QUEUE_URL"]
    there.naps, there.function, there.settle = list[float](), Lambda(stack), partial(count, stack)

    def nap(seconds: float) -> None:
        there.naps.append(seconds)
        (sleep or stack.clock.sleep)(seconds)

    there.maintenance = Maintenance(there.function, "maintenance", nap, chance=lambda: 1.0)
    with serving(stack) as gateway:
        there.api_url = gateway.address
        there.api = WatchedApi(gateway.address, Transport(local=True), sleep=nap, chance=lambda: 1.0)
        yield there
        assert gateway.raised == []


SESSIONS = Path(__file__).parents[2] / "functions" / "cli" / "sessions"


class Step(NamedTuple):
    """What is typed, where it stands, and the lines below it."""

    place: str
    typed: str
    lines: list[str]


def sessions(name: str) -> list[Any]:
    """Read the sessions of a file, for `pytest.mark.parametrize`."""
    found: dict[str, list[Step]] = {}
    for number, line in enumerate((SESSIONS / name).read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("# "):
            steps = found[line.removeprefix("# ")] = []
        elif line.startswith("$ "):
            steps.append(Step(f"{name}:{number}", line.removeprefix("$ "), []))
        elif line:
            steps[-1].lines.append(line)
    assert all(found.values()), "a session without a step"
    return [pytest.param(steps, id=title) for title, steps in found.items()]


def replay(run: Run, steps: list[Step]) -> None:
    """Type what a session types, and compare what it prints with what it must."""
    for step in steps:
        text = "".join(f"{line}\n" for line in step.lines)
        program, _, rest = step.typed.partition(" ")
        if program == "cat":
            redirection, name = rest.split(" ")
            with Path(name).open({">": "w", ">>": "a"}[redirection], encoding="utf-8") as file:
                file.write(text)
            continue
        assert program == "standings", step
        shown = run(rest).text
        if not re.fullmatch("".join(map(_pattern, step.lines)), shown):
            raise AssertionError(f"{step.place}: {step.typed} printed\n{shown}instead of\n{text}")


def _pattern(line: str) -> str:
    return r"(?:.*\n)*" if line == "…" else re.escape(line).replace("…", ".*") + r"\n"
