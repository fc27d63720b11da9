"""`standings post --wait`: until the event is counted and ranked, or its refusal is known."""

import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from standings_cli.__main__ import main, parser
from standings_cli.post.counted import PATIENCE_S
from standings_cli.stack.api import Api
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import StackError
from standings_cli.stack.maintenance_function import Maintenance
from standings_cli.stack.transport import Transport
from standings_cli.terminal.exit_status import DIFFERS, OK, UNREACHABLE, WRONG
from tests.support.cli.command_line import Lambda
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.gateway import serving
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project

BOARDS = """
[boards."*"]
metrics.kept = { aggregate = "sum" }
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
metrics.best = { aggregate = "max", windows = ["all"] }
"""
Run = Callable[..., int]


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
    monkeypatch.setattr("time.monotonic", lambda: stack.clock() / 1000)
    return later


@pytest.fixture
def run(stack: Stack, later: Later) -> Iterator[Run]:
    def has_receipt(event_id: str) -> bool:
        return "Item" in stack.dynamodb.get_item(TableName="Receipts", Key={"pk": {"S": event_id}})

    with serving(stack) as gateway:
        connection = SimpleNamespace(
            api=Api(gateway.address, Transport(local=True), sleep=later),
            maintenance=Maintenance(Lambda(stack), "maintenance", later),  # type: ignore[arg-type]
            queue_url=ENVIRONMENT["ACTIVITY_QUEUE_URL"],
            client=lambda _: stack.activity,
            has_receipt=has_receipt,
        )
        yield lambda *arguments: main(["post", *arguments], lambda _: connection)
        assert gateway.raised == []


def test_it_waits_for_the_rank(run: Run, later: Later, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("b", "a", "points=5", "--id", "x", "--wait") == OK
    assert later.naps == 4
    event_id, heading, rank = capsys.readouterr().out.splitlines()
    assert event_id == "x"
    assert heading.startswith("b · points · all · 1 member · last change 2026-11-21 10:15:0")
    assert rank == "a: rank 1 of 1, score 5, percentile 100"

    # A member that is ranked already: its old rank would not do.
    assert run("b", "c", "points=7", "--wait") == OK
    assert run("b", "a", "points=4", "--wait", "--json") == OK
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (said["posted"], said["counted"]) == (1, True)
    assert (said["rank"]["rank"], said["rank"]["score"], said["rank"]["total"]) == (1, 9, 2)


def test_an_event_that_is_refused_says_why(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("b", "a", "steps=5", "--id", "x", "--wait") == DIFFERS
    seen = capsys.readouterr()
    assert seen.out.startswith("x\n")
    assert seen.err.startswith("standings: the event is refused: metrics: board 'b' has no metric 'steps'")
    assert seen.err.endswith(": correct it, and post it again\n")
    assert run("b", "a", "steps=5", "--wait", "--json") == DIFFERS
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (said["counted"], said["rank"]) == (False, None)
    assert said["refused"] == "metrics: board 'b' has no metric 'steps'; there are: best, kept, points"


def test_an_event_of_no_ranking_is_counted(run: Run, stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("b", "a", "kept=5", "--wait") == OK
    assert "the event is counted; its member is hidden, or has no score" in capsys.readouterr().err
    assert stack.put("/boards/b/member", {"hidden": True}, id="a")[0] == 200
    assert run("b", "a", "points=5", "--wait") == OK
    assert "its member is hidden" in capsys.readouterr().err


def test_an_id_that_was_used_is_told(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("b", "a", "points=5", "--id", "x", "--wait") == OK
    assert run("b", "a", "points=5", "--id", "x", "--wait") == OK
    seen = capsys.readouterr()
    assert "an event with the id x was counted before" in seen.err
    assert seen.out.splitlines()[-1] == "a: rank 1 of 1, score 5, percentile 100"


@pytest.mark.parametrize(
    ("stopped", "words"),
    [
        ("writes", "the event is not counted yet, after 60 s"),
        ("projects", "its ranking does not show it yet, after 60 s"),
    ],
)
def test_patience_has_an_end(
    run: Run, stack: Stack, later: Later, capsys: pytest.CaptureFixture[str], stopped: str, words: str
) -> None:
    setattr(later, stopped, False)
    began = stack.clock()
    assert run("b", "a", "points=5", "--id", "x", "--wait") == UNREACHABLE
    assert PATIENCE_S * 1000 <= stack.clock() - began <= 2.5 * PATIENCE_S * 1000
    seen = capsys.readouterr()
    assert seen.out == "x\n"
    assert words in seen.err
    assert "with --id x it may be posted again" in seen.err


def test_with_a_token_alone_it_says_that_it_cannot_before_it_posts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("boto3.Session.get_credentials", lambda _: None)
    monkeypatch.setattr(Connection, "client", lambda *_: pytest.fail("a client was made"))
    monkeypatch.setattr(Connection, "maintenance", None)
    command = ["post", "b", "m", "points=1", "--wait", "--token", "a.b.c", "--queue-url", "https://queue.invalid/a"]
    assert main(command) == UNREACHABLE
    assert "without AWS credentials nobody can look for an event's receipt" in capsys.readouterr().err


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


def test_it_does_not_apply_to_a_file(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--csv", "x.csv", "--wait") == WRONG
    assert "--wait does not apply to a file" in capsys.readouterr().err
