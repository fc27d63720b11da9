"""What the command line shows of tie-breaks: a column each, `--tie-breaks`, and what a change of them begins anew."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.aws.stack import apply
from tests.support.builders.querying import deployed
from tests.support.cli.command_line import Run, Step, connected, replay, sessions

BOARDS = """
[boards."icpc"]
metrics.solved = { aggregate = "sum", windows = ["all", "day"], tie_breaks = ["penalty", "level"] }
metrics.penalty = { aggregate = "sum", order = "ascending" }
metrics.level = { aggregate = "max", precision = 1 }
[boards."lift"]
metrics.best = { aggregate = "max", windows = ["all"], tie_breaks = ["bodyweight"] }
metrics.bodyweight = { with = "best", order = "ascending", precision = 1 }
[boards."odd"]
metrics.points = { aggregate = "sum", windows = ["all"], tie_breaks = ["member", "score"] }
metrics.member = { aggregate = "sum" }
metrics.score = { aggregate = "sum" }
"""


def event(board: str, member: str, /, **metrics: float) -> dict[str, Any]:
    about = {"id": f"{board}-{member}", "board": board, "member": member, "at": "2026-11-21T09:05:00Z"}
    return {**about, "metrics": metrics}


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    with deployed(BOARDS) as stack:
        apply(stack, [event("icpc", "ada", solved=8, penalty=1312, level=2.5), event("icpc", "bob", solved=8)])
        apply(
            stack,
            [event("icpc", "eve", solved=8, penalty=1312, level=2.5), event("icpc", "kim", solved=8, penalty=1312)],
        )
        apply(stack, [event("icpc", "zoe", solved=9, penalty=40, level=-1), event("icpc", "late", level=1)])
        apply(stack, [event("odd", "ada", points=3, member=1, score=2), event("odd", "bob", points=3, member=1)])
        apply(stack, [event("lift", "ada", best=200, bodyweight=80.5), event("lift", "bob", best=200, bodyweight=79)])
        with connected(stack) as there:
            yield there


@pytest.mark.parametrize("session", sessions("tie_breaks.txt"))
def test_what_is_shown(run: Run, session: list[Step], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    replay(run, session)
