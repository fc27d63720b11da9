"""Schemathesis sends valid and invalid requests, generated from the description, to the functions."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.aws.gateway import Gateway, serving
from tests.support.aws.stack import Stack
from tests.support.thoroughness import TIMES

ROOT = Path(__file__).parents[3]
SEED = 20261121
BOARDS = """
[boards."*"]
shards = 3
metrics.points = { aggregate = "sum", ties = "first", windows = ["all", "day", "hour", "last-7-days"] }
[boards."golf-*"]
timezone = "Europe/Berlin"
metrics.strokes = { aggregate = "sum", order = "ascending", precision = 2, windows = ["all", "day"] }
metrics.rounds = { aggregate = "sum" }
[boards.cup]
metrics.best = { aggregate = "max", precision = 1, least = -5, most = 99.5, notes = true, windows = ["all", "day"] }
"""
NAMED = ["m1", "m2", "images/1.jpg", "用户", "clan#7", "a,b", "x y+z&w=1"]


@pytest.fixture
def content() -> tuple[str, list[dict[str, Any]]]:
    return BOARDS, list(events())


def events() -> Iterator[dict[str, Any]]:
    """A season of 150 members with many ties over several days, some golf, and a cup whose scores have notes."""
    members = NAMED + [f"m{number}" for number in range(3, 146)]
    for number, member in enumerate(members):
        for day in (21, 20 - number % 5):
            yield {
                "id": f"{member}-{day}",
                "board": "season",
                "member": member,
                "at": f"2026-11-{day}T09:00:00Z",
                "metrics": {"points": number * number % 31 - 3},
            }
    for number, member in enumerate(NAMED):
        yield {
            "id": f"golf-{member}",
            "board": "golf-1",
            "member": member,
            "at": "2026-11-21T09:00:00Z",
            "metrics": {"strokes": 70.25 + number, "rounds": 1},
        }
        yield {
            "id": f"cup-{member}",
            "board": "cup",
            "member": member,
            "at": "2026-11-21T09:00:00Z",
            "metrics": {"best": 7.5 - number // 2},
            **({"note": {"video": f"v{number}", "seed": [number]}} if number % 3 else {}),
        }


def run(gateway: Gateway, *options: str, seed: int = SEED) -> None:
    """Run all phases of schemathesis. It prints its seed."""
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", "tests/support/fuzz/schemathesis.toml", "run"]
    command += [f"{gateway.address}/openapi.json", "--checks", "all", "--seed", str(seed), "--no-color"]
    command += ["--continue-on-failure", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(" ".join(command))
    print(done.stdout[-20_000:], done.stderr[-20_000:])

    assert gateway.raised == []
    assert done.returncode == 0


@pytest.fixture
def named(stack: Stack) -> None:
    """Half of what a search looks for is there."""
    for member in NAMED:
        assert stack.put("/members", {"name": f"Ada {member}", "data": {"x": 1}}, id=member)[0] == 200


@pytest.mark.usefixtures("named")
def test_every_call_does_what_the_description_says(stack: Stack) -> None:
    with serving(stack) as gateway:
        run(gateway, "--max-examples", str(20 * TIMES))
