"""`standings post --wait`: until the event is counted and ranked, or its refusal is known."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from standings_cli.__main__ import parser
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import StackError
from standings_cli.terminal.exit_status import DIFFERS, OK, UNREACHABLE
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project
from tests.support.cli.command_line import Run, connected, runner

BOARDS = """
[boards."*"]
metrics.kept = { aggregate = "sum" }
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
metrics.best = { aggregate = "max", windows = ["all"] }
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
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock, BOARDS) as deployed:
        yield deployed


@pytest.fixture
def later(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Later:
    later = Later(stack)
    monkeypatch.setattr("time.sleep", later)
    return later


@pytest.fixture
def connection(stack: Stack, later: Later) -> Iterator[Any]:
    with connected(stack, later) as there:
        there.queue_url = ENVIRONMENT["ACTIVITY_QUEUE_URL"]
        there.client = lambda _: stack.activity
        receipts = {"TableName": "Receipts"}
        there.has_receipt = lambda event_id: "Item" in stack.dynamodb.get_item(**receipts, Key={"pk": {"S": event_id}})
        yield there


def test_it_waits_for_the_rank(run: Run, later: Later) -> None:
    ran = run("post b a points=5 --id x --wait")
    assert (ran.status, later.naps, ran.err) == (OK, 4, "")
    event_id, heading, rank = ran.out.splitlines()
    assert event_id == "x"
    assert heading.startswith("b · points · all · 1 member · last change 2026-11-21 10:15:0")
    assert rank == "a: rank 1 of 1, score 5, percentile 100"

    # A member that is ranked already: its old rank would not do.
    assert run("post b c points=7 --wait").status == OK
    said = json.loads(run("post b a points=4 --wait --json").out)
    assert (said["posted"], said["counted"]) == (1, True)
    assert (said["rank"]["rank"], said["rank"]["score"], said["rank"]["total"]) == (1, 9, 2)


def test_an_event_that_is_refused_says_why(run: Run) -> None:
    why = "metrics: board 'b' has no metric 'steps'; there are: best, kept, points"
    refused = f"standings: the event is refused: {why}: correct it, and post it again\n"
    assert run("post b a steps=5 --id x --wait") == (DIFFERS, "x\n", refused)
    ran = run("post b a steps=5 --wait --json")
    assert ran.status == DIFFERS
    said = json.loads(ran.out)
    assert (said["counted"], said["rank"], said["refused"]) == (False, None, why)


def test_an_event_of_no_ranking_is_counted(run: Run, stack: Stack) -> None:
    unranked = "standings: the event is counted; its member is hidden, or has no score in a ranking of these metrics\n"
    ran = run("post b a kept=5 --wait")
    assert (ran.status, ran.err) == (OK, unranked)
    assert stack.put("/boards/b/member", {"hidden": True}, id="a")[0] == 200
    ran = run("post b a points=5 --wait")
    assert (ran.status, ran.err) == (OK, unranked)


def test_an_id_that_was_used_is_told(run: Run) -> None:
    assert run("post b a points=5 --id x --wait").status == OK
    again = run("post b a points=5 --id x --wait")
    used = "an event with the id x was counted before. It counts once; other content with this id is refused"
    assert (again.status, again.err) == (OK, f"standings: {used}\n")
    assert again.out.endswith("\na: rank 1 of 1, score 5, percentile 100\n")


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


def test_with_a_token_alone_it_says_that_it_cannot_before_it_posts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("boto3.Session.get_credentials", lambda _: None)
    monkeypatch.setattr(Connection, "client", lambda *_: pytest.fail("a client was made"))
    monkeypatch.setattr(Connection, "maintenance", None)
    command = "post b m points=1 --wait --token a.b.c --queue-url https://queue.invalid/a"
    nobody = "without AWS credentials nobody can look for an event's receipt: name a --profile"
    assert runner(None, capsys)(command) == (UNREACHABLE, "", f"standings: {nobody}\n")


def test_the_receipt_is_read_from_the_table_of_the_stack(monkeypatch: pytest.MonkeyPatch, stack: Stack) -> None:
    outputs = [{"OutputKey": "ReceiptsTableName", "OutputValue": "Receipts"}]
    formation = SimpleNamespace(describe_stacks=lambda **_: {"Stacks": [{"Outputs": outputs}]})
    monkeypatch.setattr(Connection, "client", lambda _, name: stack.dynamodb if name == "dynamodb" else formation)
    connection = Connection(parser().parse_args(["boards", "list"]))
    assert not connection.has_receipt("x")
    stack.dynamodb.put_item(TableName="Receipts", Item={"pk": {"S": "x"}, "d": {"B": b"1"}, "e": {"N": "1"}})
    assert connection.has_receipt("x")
    monkeypatch.setattr("boto3.Session.get_credentials", lambda _: None)
    with pytest.raises(StackError, match="name a --profile"):
        Connection(parser().parse_args(["boards", "list"])).has_receipt  # noqa: B018
