"""Schemathesis sends valid and invalid requests, generated from the description, to the functions."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.aws.gateway import serving
from tests.support.aws.stack import apply
from tests.support.builders.querying import deployed
from tests.support.thoroughness import TIMES

ROOT = Path(__file__).parents[3]
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


def events() -> Iterator[dict[str, Any]]:
    """A season of 150 members with many ties over several days, some golf, and a cup whose scores have notes."""
    for number, member in enumerate([*NAMED, *(f"m{number}" for number in range(3, 146))]):
        for day in (21, 20 - number % 5):
            yield event("season", member, day, {"points": number * number % 31 - 3})
    for number, member in enumerate(NAMED):
        yield event("golf-1", member, 21, {"strokes": 70.25 + number, "rounds": 1})
        note = {"note": {"video": f"v{number}", "seed": [number]}} if number % 3 else {}
        # Ids as the members': what the description calls `id` has one of these values.
        yield event("cup", member, 21, {"best": 7.5 - number // 2}) | note | {"id": member}


def event(board: str, member: str, day: int, metrics: dict[str, float]) -> dict[str, Any]:
    at = f"2026-11-{day}T09:00:00Z"
    return {"id": f"{board}-{member}-{day}", "board": board, "member": member, "at": at, "metrics": metrics}


@pytest.mark.parametrize(
    "options",
    [
        ("--phases", "examples,coverage,fuzzing", "--max-examples", "3"),
        pytest.param(("--max-examples", str(20 * TIMES)), marks=pytest.mark.thorough),
    ],
    ids=["some", "all phases"],
)
def test_every_call_does_what_the_description_says(options: tuple[str, ...]) -> None:
    """It prints its seed."""
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", "tests/support/fuzz/schemathesis.toml", "run"]
    # Whether valid data are accepted, test_openapi.py shows: rules between arguments are not in the schema.
    command += ["--checks", "all", "--exclude-checks", "positive_data_acceptance", *options]
    command += ["--seed", "20261121", "--no-color", "--continue-on-failure"]
    with deployed(BOARDS) as stack, serving(stack) as gateway:
        apply(stack, list(events()))
        for member in NAMED:  # Half of what a search looks for is there.
            assert stack.put("/members", {"name": f"Ada {member}", "data": {"x": 1}}, id=member)[0] == 200
        command.append(f"{gateway.address}/openapi.json")
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        print(" ".join(command))
        print(done.stdout[-20_000:], done.stderr[-20_000:])

        assert gateway.raised == []
        assert done.returncode == 0
