"""`standings history`, over the real handlers."""

import json

import pytest

from standings_cli.stack.api import Api
from standings_cli.terminal.exit_status import DIFFERS, OK
from tests.functions.cli.members.conftest import Run
from tests.support.aws.stack import Stack
from tests.support.builders.querying import post


@pytest.fixture(autouse=True)
def content(stack: Stack) -> None:
    post(stack, {"a": 1_205, "b": 7, "用户": 3})
    post(stack, {"b": 1}, days_ago=1)
    post(stack, {"a": 9}, days_ago=2)


def test_it_shows_each_period_newest_first(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("history", "b", "a", "--window", "day", "--periods", "4") == OK
    heading, names, *rows = capsys.readouterr().out.splitlines()

    assert heading == "b · points · day · a"
    assert names.split() == ["period", "rank", "of", "score"]
    assert [row.split("  ")[0] for row in rows] == ["2026-11-21", "2026-11-20", "2026-11-19", "2026-11-18"]
    assert [row.split()[1:] for row in rows] == [
        ["1", "3", "1,205"],
        ["not", "ranked", "1"],
        ["1", "1", "9"],
        ["not", "ranked", "0"],
    ]
    assert run("history", "b", "a") == OK
    assert [row.split() for row in capsys.readouterr().out.splitlines()[2:]] == [["all", "1", "3", "1,214"]]


def test_json_is_what_the_api_answers(run: Run, api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "history", "b", "用户", "--window", "last-7-days", "--method", "dense") == OK
    path = ("boards", "b", "points", "last-7-days", "history")
    assert json.loads(capsys.readouterr().out) == api.read(*path, member="用户", method="dense")


def test_a_member_that_is_ranked_in_no_period(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("history", "b", "a", "--window", "day", "--period", "2026-11-18") == DIFFERS
    assert "2026-11-18  not ranked   0" in capsys.readouterr().out
    assert run("history", "b", "nobody") == DIFFERS
    assert (
        capsys.readouterr().err
        == "standings: board 'b' has no member 'nobody': `standings top b` shows who is ranked\n"
    )
