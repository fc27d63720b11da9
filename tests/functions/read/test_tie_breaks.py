"""Tie-breaks in questions: what is no pair of a score and its tie-breaks. `test_every_read.py` has those that are."""

from typing import Any

import pytest

from tests.support.aws.stack import Stack

BOARDS = """
[boards."*"]
metrics.solved = { aggregate = "sum", windows = ["all"], tie_breaks = ["penalty", "level"] }
metrics.penalty = { aggregate = "sum", order = "ascending", precision = 1 }
metrics.level = { aggregate = "last" }
metrics.plain = { aggregate = "sum", windows = ["all"] }
"""


@pytest.mark.parametrize(
    ("ranking", "asked", "said"),
    [
        ("solved/all", {"tie_breaks": "1,2"}, "is only valid with score"),
        ("solved/all", {"score": "8", "tie_breaks": "1"}, "expected a number for each of penalty, level, with a comma"),
        ("solved/all", {"score": "8", "tie_breaks": "1,2,3"}, "expected a number for each of penalty, level"),
        ("solved/all", {"score": "8", "tie_breaks": "1.25,2"}, "expected at most 1 decimals, got '1.25'"),
        ("solved/all", {"score": "8", "tie_breaks": "1,x"}, "expected a number such as 12 or -0.5, got 'x'"),
        (
            "solved/all",
            {"score": "8", "tie_breaks": "null,2"},
            "expected a number of penalty, got null: a member without one counts as 0",
        ),
        ("plain/all", {"score": "8", "tie_breaks": "1"}, "expected none, got '1'"),
    ],
)
@pytest.mark.parametrize("rest", ["", "/rank"])
def test_what_is_no_such_pair_is_refused(stack: Stack, ranking: str, rest: str, asked: Any, said: str) -> None:
    status, answer = stack.get(f"/boards/b/{ranking}{rest}", **asked)

    assert (status, answer["type"]) == (400, "urn:standings:bad-argument")
    assert answer["detail"].startswith(f"tie_breaks: {said}")
