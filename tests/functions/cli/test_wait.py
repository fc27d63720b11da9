"""`standings post --wait`: until the event is counted and ranked, or its refusal is known."""

from collections.abc import Iterator
from typing import Any

import pytest

from standings_cli.terminal import DIFFERS, UNREACHABLE
from tests.support.aws.stack import Stack, project
from tests.support.awslambda.pollers import Context
from tests.support.cli.command_line import Run, Step, connected, replay, sessions

BOARDS = """
[boards."*"]
metrics.kept = { aggregate = "sum" }
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
metrics.best = { aggregate = "max", windows = ["all"] }
[boards."icpc"]
metrics.solved = { aggregate = "sum", windows = ["all"], tie_breaks = ["penalty"] }
metrics.penalty = { aggregate = "sum", order = "ascending" }
"""


class Later:
    """Passes time: the writer runs at its second nap, the projector at the fourth."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self.naps = 0
        self.writes = self.projects = True

    def __call__(self, seconds: float) -> None:
        self._stack.clock.milliseconds += round(seconds * 1000)
        self.naps += 1
        if self.writes and self.naps % 4 == 2 and (records := self._stack.activity.records()):
            assert self._stack.writer({"Records": records}, Context()) == {"batchItemFailures": []}
        if self.projects and self.naps % 4 == 0:
            project(self._stack)


@pytest.fixture
def later(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Later:
    later = Later(stack)
    monkeypatch.setattr("time.sleep", later)
    return later


@pytest.fixture
def connection(stack: Stack, later: Later) -> Iterator[Any]:
    with connected(stack, later) as there:
        yield there


@pytest.mark.parametrize("session", sessions("wait.txt"))
def test_it_waits_until_it_knows(run: Run, session: list[Step]) -> None:
    replay(run, session)


@pytest.mark.parametrize(
    ("stopped", "words"),
    [
        ("writes", "the event is not counted yet, after 60 s"),
        ("projects", "the event is counted, but its ranking does not show it yet, after 60 s"),
    ],
)
def test_patience_has_an_end(run: Run, stack: Stack, later: Later, stopped: str, words: str) -> None:
    setattr(later, stopped, False)
    began = stack.clock()
    ran = run("post b a points=5 --id x --wait")
    doctor = "`standings doctor` looks for the reason; with --id x it may be posted again"
    assert ran == (UNREACHABLE, "x\n", f"standings: {words}: {doctor}\n")
    assert 60_000 <= stack.clock() - began <= 150_000


def test_a_correction_of_an_id_that_nobody_knows_says_so_while_it_waits(
    run: Run, later: Later, connection: Any
) -> None:
    unknown = "no event with the id 'y' has counted yet: is it right? This waits for it, up to a minute\n"
    why = "the event is not counted yet, after 60 s: if 'y' does not count within 15 minutes, the writer refuses it"
    later.writes, connection.settle = False, lambda: None
    ran = run("retract y --id r --wait")
    assert ran == (UNREACHABLE, "r\n", f"{unknown}standings: {why}: `standings dlq list`\n")


@pytest.mark.parametrize("command", ["hide", "unhide", "remove --yes"])
def test_patience_for_ranks_has_an_end_too(run: Run, later: Later, command: str) -> None:
    run("post b a points=5 --id x --wait")
    if command == "unhide":
        run("member hide b a")
    later.projects = False
    ran = run(f"member {command} b a --wait")
    why = "its ranks have not followed yet, after 60 s: `standings doctor` looks for the reason"
    assert (ran.status, ran.err) == (UNREACHABLE, f"standings: it is done, but {why}\n")


def test_a_refusal_of_before_is_not_taken_for_the_answer(run: Run, later: Later) -> None:
    """An id that was refused is posted again once the board's rules fit."""
    wrong = "post b a pionts=5 --id x --wait"
    assert run(wrong)[0] == DIFFERS
    later.writes = False
    assert "not counted yet" in run(wrong)[2]
    later.writes = True
    assert "ann: rank 1 of 1, score 5" in run("post b ann points=5 --id x --wait").text


def test_a_token_that_may_only_post_does_not_get_the_reason(run: Run, stack: Stack) -> None:
    command, token = stack.command, {"jwt": {"claims": {"scope": "standings/write"}}}

    def by_token(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return command({**event, "requestContext": {**event["requestContext"], "authorizer": token}}, context)

    stack.command = by_token
    why = "`standings dlq list` says why (the token lacks the scope standings/admin)"
    advice = "Correct it, or deploy a boards.toml that takes it, and post it again"
    refused = f"standings: the event is refused: {why}. {advice}\n"
    assert run("post b a pionts=5 --id x --wait") == (DIFFERS, "x\n", refused)
