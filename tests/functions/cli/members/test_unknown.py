"""What is not there is told from what is there and empty."""

import pytest

from standings_cli.terminal.exit_status import DIFFERS, OK, WRONG
from tests.functions.cli.members.conftest import Run
from tests.support.aws.stack import Stack
from tests.support.builders.querying import post

# Not here: what makes a board (`post`, `load`, `member register`, `hide`, `unhide`), and `open`, which reads none.
COMMANDS = {
    "top nobody": DIFFERS,
    "rank nobody m": DIFFERS,
    "rank nobody --score 5": DIFFERS,
    "around nobody m": DIFFERS,
    "history nobody m": DIFFERS,
    "export nobody": DIFFERS,
    "boards show nobody": DIFFERS,
    "boards show nobody --json": DIFFERS,
    "member show nobody m": DIFFERS,
    "member remove nobody m": DIFFERS,
    "audit nobody": DIFFERS,
    "rebuild nobody": WRONG,
    "delete nobody --yes": WRONG,
    "settle nobody --window day": WRONG,
    "results nobody": WRONG,
    "results nobody --json": WRONG,
}


@pytest.mark.parametrize(("command", "status"), COMMANDS.items())
def test_a_board_that_has_had_no_event(
    stack: Stack, run: Run, capsys: pytest.CaptureFixture[str], command: str, status: int
) -> None:
    post(stack, {"m": 5})
    assert run(*command.split()) == status
    expected = "standings: board 'nobody' has had no event: `standings boards list` shows the boards\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "settle b --window day",
            "window: expected one that boards.toml settles for this board (none), got 'day'; `se",
        ),
        ("settle a/b --window day", "expected a board name of 1 to 128 of A-Z a-z 0-9 . _ : -, not . or .., got 'a/b'"),
        ("member erase  --yes", "member: expected "),
    ],
)
def test_a_mistake_in_a_task_is_told_without_the_name_of_its_class(
    stack: Stack, run: Run, capsys: pytest.CaptureFixture[str], command: str, words: str
) -> None:
    post(stack, {"m": 5})
    assert run(*command.split(" ")) == WRONG
    assert capsys.readouterr().err.startswith(f"standings: {words}")


@pytest.mark.parametrize("action", ["list", "replay"])
@pytest.mark.parametrize(
    ("command", "failures"), [("dlq", "refused messages"), ("parked", "stream records that could not be applied")]
)
@pytest.mark.parametrize(
    ("chosen", "status"), [(["x"], DIFFERS), (["--reason", "x"], OK), (["x", "--json"], DIFFERS), ([], OK)]
)
def test_a_failure_that_is_not_there(
    run: Run,
    capsys: pytest.CaptureFixture[str],
    command: str,
    action: str,
    failures: str,
    chosen: list[str],
    status: int,
) -> None:
    assert run(command, action, *chosen) == status
    hint = f" that match: `standings {command} list` shows all" if chosen else ": nothing is to be done"
    expected = f"there are no {failures}{hint}\n"
    assert capsys.readouterr().out.endswith(expected) is ("--json" not in chosen)


def test_a_person_that_nothing_knows(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("member", "erase", "nobody", "--yes") == OK
    expected = "none has this member, and it has no profile; check the id, unless it was erased before"
    assert capsys.readouterr().out == f"nobody: removed from 0 boards: {expected}\n"
