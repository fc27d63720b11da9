"""What people type and see, in `sessions/*.txt`: members, posted files, tasks and mistakes, over the real functions."""

from pathlib import Path

import pytest

from tests.support.cli.command_line import Run
from tests.support.cli.sessions import Step, replay, sessions

NAMES = ("members.txt", "post.txt", "rows.txt", "tasks.txt", "mistakes.txt")


@pytest.mark.parametrize("session", [one for name in NAMES for one in sessions(name)])
def test_session(run: Run, session: list[Step], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    replay(run, session)


def test_a_session_that_prints_something_else_fails(run: Run) -> None:
    for line in ("b", "! …", "[0]"):
        with pytest.raises(AssertionError, match=r"any\.txt:1: standings boards list"):
            replay(run, [Step("any.txt:1", "standings boards list", [line])])
