"""Whoever is erased is named in the settled files that hold it, and gone from them once they are rewritten."""

from typing import Any

import pytest

from standings.maintain.settle import settlement
from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context
from tests.support.builders.settling.leagues import BOARD, FINAL, PREFIX, lines_in, play, settle_whole, sorted_lines
from tests.support.builders.stages.streaming import project


def erase(stack: Stack, member: str) -> list[dict[str, Any]]:
    """Call the function until it is done; returns its answers."""
    arguments: dict[str, Any] = {"member": member}
    answers: list[dict[str, Any]] = []
    while not answers or not answers[-1]["done"]:
        answers.append(stack.maintenance({"erase": arguments}, Context(seconds=900)))
        arguments["cursor"] = answers[-1]["cursor"]
        assert len(answers) < 100
    project(stack)
    return answers


@pytest.mark.parametrize("is_slow", [False, True])
def test_files_that_hold_a_person_are_named_and_rewritten(
    stack: Stack, is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlement, "PART", 10)
    scores = play(stack, 1)
    play(stack, 2, board="league-2", members=0)
    stack.clock.milliseconds = FINAL
    settle_whole(stack)
    settle_whole(stack, board="league-2")
    place = next(n for n, line in enumerate(sorted_lines(scores)) if line["member"] == "m007")
    part = f"{PREFIX}standings-{1 + place // 10:05}.jsonl.gz"

    read = stack.bucket.get_object

    def read_slowly(**request: Any) -> Any:
        stack.clock.milliseconds += 400_000 if is_slow else 0
        return read(**request)

    stack.bucket.get_object = read_slowly  # type: ignore[method-assign, assignment]
    answers = erase(stack, "m007")
    stack.bucket.get_object = read  # type: ignore[method-assign]

    assert [key for answer in answers for key in answer["files"]] == [part]
    assert (len(answers) > 1) is is_slow
    assert [key for answer in erase(stack, "m007") for key in answer["files"]] == [part], "it may be asked again"
    del scores["m007"]
    assert settle_whole(stack, again=True)["rankings"][0]["settled"]
    assert lines_in(stack.bucket.results) == sorted_lines(scores)
    assert [answer["files"] for answer in erase(stack, "m007")] == [[]]


def test_a_name_within_a_name_is_no_mention(stack: Stack) -> None:
    play(stack, 3)
    stack.clock.milliseconds = FINAL
    settle_whole(stack)
    stack.put(f"/boards/{BOARD}/member", None, id="m00")

    assert [answer["files"] for answer in erase(stack, "m00")] == [[]]
