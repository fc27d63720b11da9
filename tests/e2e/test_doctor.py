"""`standings doctor --exercise` beside `make serve`: nothing fails, every rank is right, and it cleans up."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from demo.embedded.stack import PROJECT

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("serve")]
TIMEOUT_S = 1_200
"""The deletion of a board waits three times for three minutes."""


def test_the_stack_of_make_serve_passes(served: None, tmp_path: Path) -> None:
    del served
    command = [
        sys.executable,
        "-m",
        "standings_cli",
        "--local",
        "--json",
        "doctor",
        "--exercise",
        "--record",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)

    found = {one["about"]: one for one in map(json.loads, done.stdout.splitlines())}
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["ranks"]["detail"].endswith(": 0 wrong")
    assert {"lag", "a dead letter", "ranks after a replay", "audit", "clean-up"} <= found.keys()
    assert {"stream-records.json", "dead-letters.json", "condition.json"} <= {path.name for path in tmp_path.iterdir()}
    assert json.loads((tmp_path / "stream-records.json").read_text(encoding="utf-8"))
    assert "failed" not in {one["verdict"] for one in found.values()}
