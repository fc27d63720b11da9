"""Runs of scheduled audits that meet, fail or die: each is found out, and none stops the turn."""

from collections.abc import Callable
from typing import Any

import pytest

from standings.aws.dynamodb.keys import AUDIT
from standings.maintain.turns.lease import LEASE_MARGIN
from tests.support.aws.stack import Stack
from tests.support.awslambda.context import Killed
from tests.support.builders.audit.turns import damage, fill, logged, lose_a_row, names, run, shown


def test_a_run_beside_another_does_nothing(stack: Stack, engine: Any) -> None:
    fill(stack, "a", "b")
    lose_a_row(stack, "b")
    beside: list[dict[str, Any]] = []

    def begin(operation: str, request: dict[str, Any]) -> None:
        if operation == "Query" and not beside and "'b#" in str(request["ExpressionAttributeValues"]):
            beside.append({})
            beside[:] = [run(stack)]

    engine.before.append(begin)
    answer = run(stack)

    assert beside == [{"done": False, "running": True, "board": None, "read_units": 0, "drift": 0, "boards": []}]
    assert shown(stack)["last"]["drift"] == answer["drift"] > 0


def test_of_two_runs_that_begin_at_once_one_does_the_work(stack: Stack, engine: Any) -> None:
    fill(stack, "a")
    first: list[dict[str, Any]] = []

    def overtake(operation: str, request: dict[str, Any]) -> None:
        if operation == "PutItem" and request["Item"]["pk"]["S"] == AUDIT and not first:
            first.append({})
            first[:] = [run(stack)]

    engine.before.append(overtake)
    late = run(stack)

    assert (first[0]["done"], names(first[0])) == (True, ["a"])
    assert (late["running"], late["boards"]) == (True, [])


def test_a_board_that_fails_twice_is_left_out_and_the_turn_goes_on(
    stack: Stack, caplog: pytest.LogCaptureFixture
) -> None:
    fill(stack, "a", "b", "c")
    damage(stack, "b#")

    for _ in range(2):
        with pytest.raises(KeyError):
            run(stack)
    answer = run(stack)

    assert (names(answer), answer["done"]) == (["c"], True)
    assert shown(stack)["last"]["failed"] == ["b"]
    lines = logged(caplog, "board not audited")
    assert [(line["board"], line["tries"]) for line in lines] == [("b", 1), ("b", 2)]


def test_what_was_found_before_an_error_counts(stack: Stack, drift: Callable[[], float]) -> None:
    fill(stack, "a", "b")
    lose_a_row(stack, "a")
    damage(stack, "b#")
    drift()

    with pytest.raises(KeyError):
        run(stack)

    assert drift() > 0
    assert shown(stack)["turn"]["drift"] > 0


@pytest.mark.parametrize("board", ["a", "b"])
def test_a_run_that_dies_twice_at_a_board_holds_up_no_other(stack: Stack, engine: Any, board: str) -> None:
    """As a leaf does that takes longer than the function may run."""
    fill(stack, "a", "b", "c")

    def die(operation: str, request: dict[str, Any]) -> None:
        if operation == "Query" and f"'{board}#" in str(request["ExpressionAttributeValues"]):
            raise Killed

    engine.before.append(die)
    for _ in range(2):
        with pytest.raises(Killed):
            run(stack)
        assert run(stack)["running"]
        stack.clock.milliseconds += 900_000 + LEASE_MARGIN
    answer = run(stack)

    assert names(answer) == [name for name in "abc" if name > board]
    assert answer["done"]
    assert shown(stack)["last"]["failed"] == [board]
