"""`standings member` on one board, over the real handlers."""

import json

import pytest

from standings_cli.stack.api import Api
from standings_cli.terminal.exit_status import DIFFERS, OK, WRONG
from tests.functions.cli.members.conftest import Run
from tests.support.aws.stack import Stack
from tests.support.builders.querying import ALL, post
from tests.support.builders.stages.streaming import project


def ranked(stack: Stack, path: str = ALL) -> list[str]:
    project(stack)
    return [entry["member"] for entry in stack.entries(path)]


def test_show(stack: Stack, run: Run, api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    post(stack, {"a": 70.5, "\x1b[2J": 80}, board="golf-1", metric="strokes")
    assert run("member", "show", "golf-1", "a") == OK
    heading, names, *rows = capsys.readouterr().out.splitlines()

    assert heading == "golf-1 · a · not hidden"
    assert names.split() == ["metric", "window", "period", "score", "rank", "of"]
    assert [row.split() for row in rows] == [
        ["strokes", "all", "70.5", "1", "2"],
        ["strokes", "day", "2026-11-21", "70.5", "1", "2"],
        ["rounds", "not", "ranked"],
    ]
    assert run("--json", "member", "show", "golf-1", "a") == OK
    assert json.loads(capsys.readouterr().out) == api.read("boards", "golf-1", "member", id="a", ranks="true")
    assert run("member", "show", "golf-1", "\x1b[2J") == OK
    assert capsys.readouterr().out.startswith("golf-1 · \\u001b[2J · not hidden\n")


def test_register(stack: Stack, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("member", "register", "club", "用户 1/a?b") == OK
    assert capsys.readouterr().out == "club · 用户 1/a?b: registered\n"
    assert ranked(stack, "/boards/club/points/all") == ["用户 1/a?b"]
    assert run("--json", "member", "register", "club", "用户 1/a?b") == OK
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"board": "club", "member": "用户 1/a?b", "hidden": False}


def test_hide_and_unhide(stack: Stack, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    post(stack, {"a": 5, "b": 7})

    assert run("member", "hide", "b", "a") == OK
    hidden = "b · a: hidden, in no ranking; scores are kept and events go on to count\n"
    assert capsys.readouterr().out == hidden
    assert ranked(stack) == ["b"]
    assert run("member", "show", "b", "a") == OK
    assert capsys.readouterr().out.splitlines()[0] == "b · a · hidden"
    # Registering says what it finds: a hidden member stays hidden.
    assert run("member", "register", "b", "a") == OK
    assert capsys.readouterr().out == hidden
    assert run("member", "unhide", "b", "a") == OK
    assert capsys.readouterr().out == "b · a: not hidden, ranked with its scores\n"
    assert ranked(stack) == ["b", "a"]


def test_remove(stack: Stack, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    post(stack, {"a": 5, "b": 7})

    assert run("member", "remove", "b", "a") == OK
    assert capsys.readouterr().out == "b · a: removed, with its scores\n"
    assert ranked(stack) == ["b"]
    assert run("--json", "member", "remove", "b", "b") == OK
    assert json.loads(capsys.readouterr().out) == {"board": "b", "member": "b", "removed": True}


@pytest.mark.parametrize("action", ["show", "remove"])
def test_a_member_that_is_not_there(stack: Stack, run: Run, capsys: pytest.CaptureFixture[str], action: str) -> None:
    assert run("member", action, "b", "nobody") == DIFFERS
    nothing_yet = "board 'b' has had no event: no board has: post one with `standings post BOARD MEMBER METRIC=AMOUNT`"
    assert capsys.readouterr() == ("", f"standings: {nothing_yet}\n")
    post(stack, {"a": 5})
    assert run("member", action, "b", "nobody") == DIFFERS
    there = "standings: board 'b' has no member 'nobody': `standings top b` shows who is ranked\n"
    assert capsys.readouterr() == ("", there)


@pytest.mark.parametrize("action", ["show", "register", "hide", "unhide", "remove"])
def test_a_mistake_is_one_line_on_standard_error(run: Run, capsys: pytest.CaptureFixture[str], action: str) -> None:
    for arguments, words in ((("a b", "u1"), "expected a board name"), (("b", ""), "id: expected 1 to 256 bytes")):
        assert run("member", action, *arguments) == WRONG
        seen = capsys.readouterr()
        assert (seen.out, seen.err.count("\n")) == ("", 1)
        assert words in seen.err
