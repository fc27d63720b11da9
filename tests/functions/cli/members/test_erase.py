"""`standings member erase`, over the real maintenance function."""

import json
import sys
from io import StringIO
from types import SimpleNamespace

import pytest

from standings.maintain import erase as erasing
from standings.maintain.rebuild.rewrite_members import RewriteMembers
from standings_cli.terminal.exit_status import DIFFERS, OK
from tests.functions.cli.members.conftest import Run
from tests.support.aws.stack import Stack
from tests.support.builders.querying import post
from tests.support.builders.stages.streaming import project


@pytest.fixture(autouse=True)
def content(stack: Stack) -> None:
    for board in ("b", "b-2", "b-3"):
        post(stack, {"a\x1b[2J": 5, "bob": 7}, board=board)


def is_there(stack: Stack, member: str = "a\x1b[2J") -> bool:
    project(stack)
    return stack.get("/boards/b/member", id=member)[0] == 200


def test_it_names_the_boards(stack: Stack, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("member", "erase", "a\x1b[2J", "--yes") == OK
    assert capsys.readouterr() == (
        "removed from b\nremoved from b-2\nremoved from b-3\na\\u001b[2J: removed from 3 boards\n",
        "",
    )
    assert not is_there(stack)
    assert is_there(stack, "bob")
    assert run("member", "erase", "a\x1b[2J", "--yes") == OK
    nothing = "none has this member, and it has no profile; check the id, unless it was erased before"
    assert capsys.readouterr().out == f"a\\u001b[2J: removed from 0 boards: {nothing}\n"


def test_it_goes_on_until_it_is_done(
    stack: Stack, run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "MAX_ACTIONS", 1)
    monkeypatch.setattr(erasing, "MAX_NAMED", 1)
    assert run("--json", "member", "erase", "a\x1b[2J", "--yes") == OK
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert [answer["boards"] for answer in answers] == [["b"], ["b-2"], ["b-3"], []]
    assert [answer["done"] for answer in answers] == [False, False, False, True]
    assert not is_there(stack)


def test_on_a_terminal_the_id_is_typed(
    stack: Stack, run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("builtins.input", lambda _: "bo")
    assert run("member", "erase", "bob") == DIFFERS
    assert capsys.readouterr().err == "nothing was removed\n"
    assert is_there(stack, "bob")
    assert run("member", "erase", "bob", "--yes") == OK
    assert not is_there(stack, "bob")


def test_where_nobody_answers_nothing_is_removed(
    stack: Stack, run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO())
    assert run("member", "erase", "bob") == DIFFERS
    assert capsys.readouterr().err == "\nnothing was removed: nobody answers here; use --yes\n"
    assert is_there(stack, "bob")


def test_a_board_to_look_at_is_told(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RewriteMembers, "run", lambda self, chunks: setattr(self, "busy", chunks[0]))
    assert run("member", "erase", "bob", "--yes") == DIFFERS
    out, err = capsys.readouterr()

    assert out == "bob: removed from 0 boards\n"
    assert err.splitlines()[0].startswith("b: others kept writing the member: stop what posts for it")
    assert len(err.splitlines()) == 3
