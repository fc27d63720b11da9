"""`standings post` of rows that the writer would refuse: the API says so before they are sent."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from standings.domain.windows import DAY
from standings_cli.post import post_file
from standings_cli.terminal import DIFFERS, OK
from tests.support.aws.stack import ManualClock, Stack
from tests.support.cli.command_line import Run, Step, replay, sessions

BOARDS = """
[boards."club-*"]
expires = "60 days"
metrics.km = { aggregate = "sum", precision = 1, windows = ["all"], least = 0, most = 100 }
"""
POST = "post --csv runs.csv --board club-berlin km=1"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("session", sessions("refused.txt"))
def test_session(run: Run, session: list[Step]) -> None:
    replay(run, session)


@pytest.mark.parametrize("gone", ["ended at", "is being deleted"])
def test_a_board_that_has_gone_takes_no_file(run: Run, stack: Stack, clock: ManualClock, gone: str) -> None:
    Path("runs.csv").write_text("member\nada\n")
    assert run(POST).status == OK
    if gone == "ended at":
        clock.milliseconds += 60 * DAY
        Path("runs.csv.posted").unlink()
    else:
        assert stack.delete("/boards/club-berlin")[0] == 202
    Path("runs.csv").write_text("member\nbo\ncy\n")
    for options in ("", "--dry-run"):
        ran = run(f"{POST} {options}")
        assert re.search(f"runs.csv:3: it is refused: board:? 'club-berlin' {gone}", ran.err), ran
        assert ran.status == DIFFERS
    assert stack.activity.messages == []


def test_a_dry_run_says_how_many_rows_it_has_checked(
    run: Run, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post_file, "CHECKED", 3)
    Path("runs.csv").write_text("member\n" + "ada\n" * 3 + "bo\n")
    ran = run(f"{POST}.55 --dry-run")
    assert (ran.status, len(ran.out.splitlines())) == (DIFFERS, 4)
    assert ran.err.endswith(
        "only the first 3 rows were checked by the rules of their boards\nevents: 4; rows skipped: 0; refused: 3\n"
    )
    monkeypatch.setattr(connection, "knows_api", False)
    assert run(f"{POST}.55 --dry-run").err.endswith("\nevents: 4; rows skipped: 0\n")
    assert json.loads(run(f"{POST}.55 --json").out)["refused"] is None
