"""`watch` over the real handlers behind HTTP: it reads, things happen, it reads again."""

import json
from types import SimpleNamespace

import pytest

from standings_cli.__main__ import main
from standings_cli.stack.api import Api
from standings_cli.terminal.exit_status import OK
from tests.support.aws.gateway import Gateway
from tests.support.aws.stack import Stack
from tests.support.builders.stages.streaming import apply, event, project
from tests.support.cli.watching import Counting, Sleeper, run_watch, tables, terminal


def test_rows_move_and_arrows_say_how_far(stack: Stack, gateway: Gateway) -> None:
    text, session, _ = run_watch(
        gateway.address,
        stack.clock,
        lambda: apply(stack, [event("cleo", 25)]),
        lambda: None,
        lambda: apply(stack, [event("dora", 100)]),
    )

    first, second, third = tables(text)
    assert [row[:2] for row in first][:3] == [["1", "anna"], ["2", "ben"], ["3", "cleo"]]
    assert [row[:-1] for row in second][:3] == [
        ["1", "▲", "2", "cleo"],
        ["2", "▼", "1", "anna"],
        ["3", "▼", "1", "ben"],
    ]
    assert third[0] == ["1", "new", "dora", "100"]
    assert third[1] == ["2", "▲", "1", "cleo", "35"]
    assert session.statuses == [200, 200, 304, 200]


def test_a_terminal_shows_what_the_api_answers_as_it_is_wide(stack: Stack, gateway: Gateway) -> None:
    apply(stack, [event("a" * 100, 20_000)])
    text, *_ = run_watch(gateway.address, stack.clock, console=terminal(30, 6))
    drawn = [line.strip() for line in text[text.index("rank") :].splitlines()]

    # Of six lines three are entries, each on one line.
    assert [" ".join(line.split()) for line in drawn[1:4]] == ["1 aaaaaaaaaaaaa… 20,000", "2 anna 30", "3 ben 20"]
    assert "cleo" not in text
    assert max(map(len, drawn[:4])) <= 30


def test_a_mistyped_board_is_told(stack: Stack, gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    api = Api(gateway.address, Counting(), sleep=Sleeper(stack.clock, [], lambda: 1))
    assert main(["watch", "bb", "--window", "all"], lambda _: SimpleNamespace(api=api)) == OK
    assert "0 members · no change yet · board 'bb' has had no event" in capsys.readouterr().out


def test_freshness_counts_on_between_looks(stack: Stack, gateway: Gateway) -> None:
    text, *_ = run_watch(gateway.address, stack.clock, lambda: None, lambda: None, console=terminal(80))

    for seconds in (0, 1, 2, 3):
        assert f"4 members · last change {seconds} s ago" in text


def test_no_name_is_more_than_text(stack: Stack, gateway: Gateway) -> None:
    for console in (terminal(200), None):
        text, *_ = run_watch(gateway.address, stack.clock, console=console)
        assert "\\u001b]0;owned\\u0007[red]用户" in text
        assert "\x07" not in text
        assert "\x1b]" not in text


def test_a_member_with_its_neighbours_that_is_not_ranked_yet(
    stack: Stack, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    def hide() -> None:
        stack.put("/boards/b/member", {"hidden": True}, id="dora")
        project(stack)

    text, *_ = run_watch(gateway.address, stack.clock, lambda: apply(stack, [event("dora", 15)]), hide, member="dora")

    assert [row[:-1] for row in tables(text)[0]] == [["2", "ben"], [">", "3", "dora"], ["4", "cleo"]]
    assert "new" not in text
    assert capsys.readouterr().err.splitlines() == [
        "standings: board 'b' has no member 'dora'; still watching",
        "standings: 'dora' is hidden; still watching",
    ]


def test_json_is_one_line_for_each_change(stack: Stack, gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    session = Counting()
    sleeper = Sleeper(
        stack.clock,
        [lambda: None, lambda: apply(stack, [event("cleo", 25)]), lambda: None],
        lambda: len(session.statuses),
    )
    api = Api(gateway.address, session, sleep=sleeper)
    arguments = ["--json", "watch", "b", "--window", "all", "--limit", "2"]

    assert main(arguments, lambda _: SimpleNamespace(api=api)) == OK
    seen = capsys.readouterr()
    lines = [json.loads(line)["entries"] for line in seen.out.splitlines()]
    assert [[(entry["rank"], entry["member"], entry["score"]) for entry in entries] for entries in lines] == [
        [(1, "anna", 30), (2, "ben", 20)],
        [(1, "cleo", 35), (2, "anna", 30)],
    ]
    assert lines[1] == api.read("boards", "b", "points", "all", limit=2)["entries"]
    assert seen.err == ""
