"""Tie-breaks in questions: which pair a score and its tie-breaks name, and what is no such pair."""

from typing import Any

import pytest

from tests.support.aws.stack import Stack, apply

BOARDS = """
[boards."*"]
metrics.solved = { aggregate = "sum", windows = ["all"], tie_breaks = ["penalty", "level"] }
metrics.penalty = { aggregate = "sum", order = "ascending", precision = 1 }
metrics.level = { aggregate = "last" }
metrics.plain = { aggregate = "sum", windows = ["all"] }
"""
NUMBERS = {"ann": (8, 312.5, 2), "bob": (8, 312.5, 2), "cat": (8, 312.5, None), "dan": (8, 400, 9), "eve": (7, 1, 9)}


def count_all(stack: Stack) -> None:
    for member, numbers in NUMBERS.items():
        named = zip(("solved", "penalty", "level"), numbers, strict=True)
        metrics = {name: number for name, number in named if number is not None}
        apply(stack, [{"id": member, "board": "b", "member": member, "at": "2026-11-21T10:00:00Z", "metrics": metrics}])


@pytest.mark.parametrize(
    ("asked", "first", "rank", "at"),
    [
        ({"score": "8"}, "ann", 1, 4),
        ({"score": "8", "tie_breaks": "312.5,2"}, "ann", 1, 2),
        ({"score": "8", "tie_breaks": "312.5,1"}, "cat", 3, 0),
        ({"score": "8", "tie_breaks": "312.5,null"}, "cat", 3, 1),
        ({"score": "8", "tie_breaks": "400,9"}, "dan", 4, 1),
        ({"score": "8", "tie_breaks": "400,8"}, "eve", 5, 0),
        ({"score": "7.0"}, "eve", 5, 1),
    ],
)
def test_a_score_names_all_with_it_and_a_pair_those_who_share_a_rank(
    stack: Stack, asked: dict[str, str], first: str, rank: int, at: int
) -> None:
    count_all(stack)

    assert stack.get("/boards/b/solved/all", **asked)[1]["entries"][0]["member"] == first
    answer = stack.get("/boards/b/solved/all/rank", **asked)[1]
    assert (answer["rank"], answer["at"], "tie_breaks" in answer) == (rank, at, "tie_breaks" in asked)


def test_what_a_member_has_not_reads_null(stack: Stack) -> None:
    count_all(stack)
    listed = stack.get("/boards/b/solved/all")[1]["entries"]

    assert [(entry["rank"], entry["member"]) for entry in listed] == [
        *((1, "ann"), (1, "bob"), (3, "cat"), (4, "dan"), (5, "eve"))
    ]
    assert listed[2]["tie_breaks"] == {"penalty": 312.5, "level": None}
    assert stack.get("/boards/b/solved/all/percentile", p=20)[1]["tie_breaks"] == {"penalty": 1, "level": 9}
    defined = {metric["metric"]: metric.get("tie_breaks") for metric in stack.get("/boards/b")[1]["metrics"]}
    assert defined == {"solved": ["penalty", "level"], "penalty": None, "level": None, "plain": None}


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
