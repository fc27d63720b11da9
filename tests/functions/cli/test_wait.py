"""`standings post --wait`: until the event is counted and ranked, or its refusal is known."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from standings_cli.__main__ import parser
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import StackError
from standings_cli.terminal import UNREACHABLE
from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project
from tests.support.cli.command_line import Run, connected, runner
from tests.support.cli.sessions import Step, replay, sessions

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
def later(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Later:
    later = Later(stack)
    monkeypatch.setattr("time.sleep", later)
    return later


@pytest.fixture
def connection(stack: Stack, later: Later) -> Iterator[Any]:
    with connected(stack, later) as there:
        receipts = {"TableName": "Receipts"}
        there.has_receipt = lambda event_id: "Item" in stack.dynamodb.get_item(**receipts, Key={"pk": {"S": event_id}})
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
