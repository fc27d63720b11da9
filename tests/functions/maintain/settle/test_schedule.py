"""A schedule settles what is due, boards in turn, and never settles twice."""

from typing import Any

import pytest

from standings.maintain.turns.lease import LEASE_MARGIN
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.context import Killed
from tests.support.awslambda.pollers import Context
from tests.support.builders.audit.turns import logged
from tests.support.builders.settling.leagues import BOARDS, FINAL, lines_in, lose_a_row, play, sorted_lines

WEEK_IS_FINAL = FINAL + 2 * 86_400_000
"""When the week of 16 November is final."""


def run(stack: Stack, seconds: float = 900) -> dict[str, Any]:
    return stack.maintenance({"settlements": {"next": {}}}, Context(seconds=seconds))


def settled(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["board"], one["window"], one["period"]) for one in answer["rankings"] if one["settled"]]


def test_what_is_due_is_settled_once(stack: Stack) -> None:
    scores = {board: play(stack, seed, board=board) for seed, board in enumerate(("league-1", "league-2", "other"))}
    stack.clock.milliseconds = FINAL

    first = run(stack)
    files, events = dict(stack.bucket.results), list(stack.bus.events)

    assert {(board, period) for board, _, period in settled(first)} >= {
        ("league-1", "2026-11-20"),
        ("league-2", "2026-11-20"),
    }
    assert "other" not in {board for board, *_ in settled(first)}
    assert first["done"]
    for board in ("league-1", "league-2"):
        assert lines_in(files, f"results/{board}/points/day/2026-11-20/") == sorted_lines(scores[board])
    second = run(stack)
    assert (second["done"], second["rankings"]) == (True, [])
    assert (stack.bucket.results, stack.bus.events) == (files, events)


def test_a_week_is_due_once_it_is_final(stack: Stack) -> None:
    play(stack, 1)
    stack.clock.milliseconds = WEEK_IS_FINAL - 1
    assert ("league-1", "week", "2026-11-16") not in settled(run(stack))
    stack.clock.milliseconds = WEEK_IS_FINAL

    assert ("league-1", "week", "2026-11-16") in settled(run(stack))


def test_periods_before_the_board_began_are_settled_without_members(stack: Stack) -> None:
    play(stack, 1)
    stack.clock.milliseconds = FINAL

    empty = [one for one in run(stack)["rankings"] if one["summary"] and not one["summary"]["members"]]

    assert empty == [], "nobody waits for the results of a time when there was no board"


def test_a_ranking_that_differs_holds_up_no_other(stack: Stack) -> None:
    for board in ("league-1", "league-2"):
        play(stack, 2, board=board)
    stack.clock.milliseconds = FINAL
    lose_a_row(stack)

    answer = run(stack)

    assert [one["board"] for one in answer["rankings"] if not one["settled"]] == ["league-1"]
    assert ("league-2", "day", "2026-11-20") in settled(answer)
    assert answer["done"]


def test_a_run_goes_on_where_the_time_of_the_last_one_was_over(stack: Stack) -> None:
    for board in ("league-1", "league-2", "league-3"):
        play(stack, 3, board=board)
    stack.clock.milliseconds = FINAL
    found = []
    for _ in range(400):
        answer = run(stack, seconds=5)
        found += settled(answer)
        if answer["done"]:
            break

    assert answer["done"]
    assert sorted(board for board, _, period in found if period == "2026-11-20") == ["league-1", "league-2", "league-3"]
    assert len(found) == len(set(found))


def test_a_board_where_runs_die_is_left_out(stack: Stack, engine: Any, caplog: pytest.LogCaptureFixture) -> None:
    for board in ("league-1", "league-2"):
        play(stack, 4, board=board)
    stack.clock.milliseconds = FINAL

    def die(operation: str, request: dict[str, Any]) -> None:
        if operation == "Query" and "'league-1#" in str(request["ExpressionAttributeValues"]):
            raise Killed

    engine.before.append(die)
    for _ in range(2):
        with pytest.raises(Killed):
            run(stack)
        assert run(stack)["running"]
        stack.clock.milliseconds += 900_000 + LEASE_MARGIN
    answer = run(stack)

    assert {board for board, *_ in settled(answer)} == {"league-2"}
    lines = logged(caplog, "board not settled")
    assert [(line["board"], line["tries"]) for line in lines] == [("league-1", 1), ("league-1", 2)]


def test_a_command_beside_a_run_waits(stack: Stack, engine: Any) -> None:
    play(stack, 5)
    stack.clock.milliseconds = FINAL
    beside: list[dict[str, Any]] = []

    def begin(operation: str, _: dict[str, Any]) -> None:
        if operation == "Query" and not beside:
            beside.append({})
            beside[:] = [stack.maintenance({"settle": {"board": "league-1", "window": "day"}}, Context(seconds=900))]

    engine.before.append(begin)
    run(stack)

    assert beside[0]["running"]


def test_a_stack_without_settlements_says_which_parameter_to_set(
    engine: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(ENVIRONMENT, "RESULTS_BUCKET")
    with running(engine, clock, BOARDS) as stack:
        shown = stack.maintenance({"settlements": {"show": {}}}, Context())

        assert shown == {"done": True, "families": ["league-*", "cup-*", "later-*"], "settles": False}
        tasks: tuple[dict[str, Any], ...] = (
            {"settle": {"board": "league-1", "window": "day"}},
            {"settlements": {"next": {}}},
            {"settlements": {"list": {"board": "league-1"}}},
        )
        for task in tasks:
            with pytest.raises(ValueError, match="deploy it with Settlements=true"):
                stack.maintenance(task, Context())
        assert stack.maintenance({"erase": {"member": "m"}}, Context())["files"] == []
