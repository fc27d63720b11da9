"""Settlements that take many calls, while boards are rebuilt, and with more winners than there are events."""

from typing import Any

import pytest

from standings.domain.windows.calendar import SECOND
from standings.maintain.settle import settlement
from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context
from tests.support.builders.settling.leagues import (
    BOARD,
    FINAL,
    PREFIX,
    lines_in,
    play,
    settle,
    settle_whole,
    sorted_lines,
    winners,
    won,
)
from tests.support.builders.stages.streaming import project

TRIFLING: float = 5
"""Seconds in which a call does one step."""


def rebuild(stack: Stack) -> None:
    begin = True
    for _ in range(100):
        answer = stack.maintenance({"rebuild": {"board": BOARD, "begin": begin}}, Context(seconds=900))
        if answer["done"]:
            return
        begin = False
        stack.clock.milliseconds += round(answer["wait"] * SECOND)
    raise AssertionError(answer)


def step(stack: Stack, cursor: Any) -> dict[str, Any]:
    return settle(stack, seconds=TRIFLING, cursor=cursor)


def test_many_short_calls_settle_as_one_long_call(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "PART", 10)
    scores = play(stack, 1)
    stack.clock.milliseconds = FINAL
    stages = []
    answer = step(stack, None)
    while not answer["done"]:
        stages.append(answer["rankings"][0]["stage"])
        answer = step(stack, answer["cursor"])

    assert answer["rankings"][0]["settled"]
    assert list(dict.fromkeys(stages)) == ["audit", "files", "seal", "events"]
    assert lines_in(stack.bucket.results) == sorted_lines(scores)
    assert won(stack) == winners(scores)


@pytest.mark.parametrize("stage", ["audit", "files", "seal", "events"])
def test_a_rebuild_meanwhile_starts_the_audit_anew(stack: Stack, stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "PART", 10)
    scores = play(stack, 2)
    stack.clock.milliseconds = FINAL
    answer = step(stack, None)
    while answer["rankings"][0]["stage"] != stage:
        answer = step(stack, answer["cursor"])
    rebuild(stack)
    project(stack)
    after = step(stack, answer["cursor"])

    assert (after["done"], after["rankings"][0]["stage"]) == ((False, "audit") if stage != "events" else (True, None))
    assert settle_whole(stack, cursor=after["cursor"])["rankings"][0]["settled"]
    assert lines_in(stack.bucket.results) == sorted_lines(scores)
    assert won(stack) == winners(scores)


def test_a_prize_with_too_many_winners_is_in_the_files_alone(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = play(stack, 3)
    top = sum(prize == "top-10" for prize, *_ in winners(scores))
    monkeypatch.setattr(settlement, "MAX_ANNOUNCED", top - 1)
    stack.clock.milliseconds = FINAL

    (told,) = settle_whole(stack)["rankings"]

    prizes = {prize["name"]: (prize["winners"], prize["events"]) for prize in told["summary"]["prizes"]}
    assert prizes["top-10"] == (top, False)
    assert {prize for prize, *_ in won(stack)} == {name for name, (number, told) in prizes.items() if told and number}


def test_files_of_an_earlier_try_that_are_too_many_go(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = play(stack, 4)
    stack.clock.milliseconds = FINAL
    monkeypatch.setattr(settlement, "PART", 5)
    settle_whole(stack)
    monkeypatch.setattr(settlement, "PART", 50)
    settle_whole(stack, again=True)

    assert [key for key in sorted(stack.bucket.results) if "standings-" in key] == [
        f"{PREFIX}standings-00001.csv.gz",
        f"{PREFIX}standings-00001.jsonl.gz",
    ]
    assert lines_in(stack.bucket.results) == sorted_lines(scores)
