"""What the command line shows of tie-breaks: a column each, `--tie-breaks`, and what a change of them begins anew.

Also of units: seconds as times, and other units beside a heading or a number.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from standings_cli.terminal import Form
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
[boards."run".metrics]
best_5k.aggregate = "min"
best_5k.order = "ascending"
best_5k.precision = 2
best_5k.unit = "time"
best_5k.least = 720
best_5k.windows = ["all"]
best_5k.tie_breaks = ["climb"]
climb = { with = "best_5k", unit = "m" }
km = { aggregate = "sum", precision = 1, unit = "km", windows = ["month"] }
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
        apply(
            stack, [event("run", "ada", best_5k=1325.4, climb=90, km=5), event("run", "bo", best_5k=3723, climb=1200)]
        )
        with connected(stack) as there:
            yield there


@pytest.mark.parametrize("session", sessions("tie_breaks.txt"))
def test_what_is_shown(run: Run, session: list[Step], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    replay(run, session)


@pytest.mark.parametrize(
    ("decimals", "seconds", "shown"),
    [
        (0, 0, "0:00"),
        (0, 59, "0:59"),
        (0, 3600, "1:00:00"),
        (0, 4_521_825, "1256:03:45"),
        (1, -5, "-0:05.0"),
        (9, 60.000000001, "1:00.000000001"),
        (2, None, ""),
    ],
)
def test_a_time(decimals: int, seconds: float | None, shown: str) -> None:
    assert Form(decimals, "time").in_words(seconds) == shown
