"""`standings export --output`, killed as a process and started again."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.functions.cli.export.conftest import Session
from tests.functions.cli.export.test_export import Scores, read_csv
from tests.support.aws.stack import Stack

PROJECT = Path(__file__).parents[4]
PROGRAM = """
import sys
import standings_cli.export.pages as pages
from standings_cli.__main__ import main
pages.PAGE_SIZE = 7
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("requests", [1, 3, 5])
def test_no_line_is_lost_or_twice(stack: Stack, session: Session, tmp_path: Path, requests: int) -> None:
    scores = Scores(stack, Random(requests))
    scores.move([f"m{n}" for n in range(60)])
    file = tmp_path / "list.csv"
    begun: list[subprocess.Popen[str]] = []
    query, left = stack.query, [requests]

    def killing(event: dict[str, Any], context: Any) -> dict[str, Any]:
        left[0] -= 1
        if left[0] == 0:
            begun[-1].send_signal(signal.SIGKILL)
        return query(event, context)

    stack.query = killing
    command = ["export", "b", "--window", "all", "--output", str(file), "--api-url", session.address, "--token", "t"]
    path = os.pathsep.join([str(PROJECT), str(PROJECT / "layers" / "standings")])

    def run() -> int:
        environment = {**os.environ, "PYTHONPATH": path, "NO_PROXY": "127.0.0.1"}
        begun.append(subprocess.Popen([sys.executable, "-c", PROGRAM, *command], env=environment, text=True))
        return begun[-1].wait(120)

    assert run() == -9
    if file.exists():
        with file.open("ab") as opened:
            opened.write(b"61,half a li")
    assert run() == 0
    assert read_csv(file.read_bytes().decode()) == scores.lines()
