"""What cannot be settled, because it is not there, is said."""

from typing import Any

import pytest

from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context
from tests.support.builders.settling.leagues import BOARD, post, settle


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"window": "all"}, r"window: expected one that boards.toml settles for this board \(day, week\), got 'all'"),
        ({"window": None}, "window: expected one that boards.toml settles"),
        ({"metric": "runs"}, r"metric: expected one that is ranked in 'day' \(points\), got 'runs'"),
        ({"board": "other"}, r"settles for this board \(none\)"),
        ({"period": "yesterday"}, "expected a day such as 2026-11-20"),
    ],
)
def test_what_cannot_be_settled_is_said(stack: Stack, arguments: dict[str, Any], why: str) -> None:
    post(stack, str(arguments.get("board", BOARD)), {"m": 1})
    with pytest.raises(Exception, match=why):
        settle(stack, **arguments)


def test_a_board_that_has_had_no_event_is_said(stack: Stack) -> None:
    with pytest.raises(ValueError, match=f"board '{BOARD}' has had no event"):
        settle(stack, window="all")
    with pytest.raises(ValueError, match=f"board '{BOARD}' has had no event"):
        stack.maintenance({"settlements": {"list": {"board": BOARD}}}, Context())
