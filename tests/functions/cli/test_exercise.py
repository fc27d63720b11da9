"""The exercise of a stack, over the real functions: it proves what is right, and finds what is wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from standings.project.outcome import one_by_one
from standings.wiring import projector
from standings_cli.doctor.exercise import activity, exercise
from standings_cli.doctor.exercise.exercise import Tools
from standings_cli.doctor.finding import Finding, Verdict
from standings_cli.stack.api import Api
from standings_cli.stack.maintenance_function import Maintenance
from standings_cli.stack.transport import Transport
from tests.support.cli.command_line import Lambda
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.fakes.queues import Sqs
from tests.support.aws.gateway import Gateway, serving
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.builders.stages.streaming import BATCH, apply, event, project

NOW = 1_795_256_100_000
BOARD = "doctor-1"
BOARDS = """
[boards."*"]
timezone = "Australia/Adelaide"
week_start = "sunday"
late = "2 days"
seasons = [{ name = "november", starts = "2026-11-01", ends = "2026-12-01" }]
metrics.points = { aggregate = "sum", windows = ["all", "day", "week", "last-3-days", "hour", "last-24-hours"] }
metrics.best = { aggregate = "max", precision = 2, order = "ascending", ties = "first", windows = ["month", "year"] }
metrics.least = { aggregate = "min", precision = 1, least = 1.5, most = 20.5, windows = ["last-7-days", "season"] }
metrics.latest = { aggregate = "last", windows = ["all"] }
[boards."narrow"]
metrics.points = { aggregate = "sum", windows = ["all"], least = 0.2, most = 0.9, precision = 1 }
[boards."registered"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
"""


@dataclass
class Trial:
    """A stack whose queue and stream move on while the exercise waits."""

    stack: Stack
    gateway: Gateway
    said: list[str]
    meddle: Callable[[Stack], None] = lambda _: None
    """Called after each time that the pipeline has moved on."""

    def pass_time(self, seconds: float) -> None:
        self.stack.clock.milliseconds += round(seconds * 1000)
        records = self.stack.activity.records()
        for start in range(0, len(records), BATCH):
            batch = {"Records": records[start : start + BATCH]}
            assert self.stack.writer(batch, Context()) == {"batchItemFailures": []}
        project(self.stack)
        self.meddle(self.stack)

    def findings(self, board: str = BOARD) -> dict[str, Finding]:
        stack = self.stack
        tools = Tools(
            sqs=Sqs(stack.activity, stack.dead_letters),
            queue_url=ENVIRONMENT["ACTIVITY_QUEUE_URL"],
            api=Api(self.gateway.address, Transport(local=True)),
            maintenance=Maintenance(Lambda(stack), "maintenance", self.pass_time),  # type: ignore[arg-type]
            now=lambda: datetime.fromtimestamp(stack.clock() / 1000, UTC),
            monotonic=lambda: stack.clock() / 1000,
            sleep=self.pass_time,
            rng=Random(board),
            say=self.said.append,
        )
        return {finding.about: finding for finding in exercise.exercise(tools, board)}

    def is_clean(self) -> bool:
        """Whether nothing is left but what expires: the versions of removed members, and receipts."""
        left = [row for table in ("Scores", "Rankings") for row in rows(self.stack.dynamodb, table)]
        lasting = [row for row in left if row["pk"]["S"].startswith(f"{BOARD}#") and "e" not in row]
        print(lasting[:3], self.stack.dead_letters.messages[:1], self.stack.get("/boards", prefix=BOARD))
        return not lasting and not self.stack.dead_letters.messages and not self._is_listed()

    def _is_listed(self) -> bool:
        status, answer = self.stack.get("/boards", prefix=BOARD)
        return status != 200 or answer["boards"] != []


@pytest.fixture
def trial(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    clock = ManualClock(NOW)
    monkeypatch.setattr(projector, "run_parallel", lambda: one_by_one)
    monkeypatch.setattr(activity, "EVENTS", 300)
    monkeypatch.setattr(exercise, "PROBES", 3)
    monkeypatch.setattr(exercise, "PATIENCE_S", 10.0)
    with running(engine, clock, BOARDS) as stack, serving(stack) as gateway:
        yield Trial(stack, gateway, [])


def test_a_stack_that_counts_right_passes_and_is_left_clean(trial: Trial) -> None:
    found = trial.findings()

    assert {finding.verdict for finding in found.values()} == {Verdict.OK}, found
    assert found.keys() == {"ranks", "lag", "a dead letter", "ranks after a replay", "audit", "clean-up"}
    assert "in 11 rankings: 0 wrong" in found["ranks"].detail
    assert "of 3 single events" in found["lag"].detail
    assert "5 minutes ahead" in found["a dead letter"].detail
    assert trial.is_clean()


def test_a_wrong_counter_is_found(trial: Trial) -> None:
    def miscount(stack: Stack) -> None:
        for row in rows(stack.dynamodb, "Rankings"):
            if row["pk"]["S"].startswith(f"{BOARD}#") and row["pk"]["S"].endswith("/") and "e" not in row:
                digit = next(name for name in row if name not in ("pk", "v", "t", "n", "c"))
                stack.dynamodb.put_item(TableName="Rankings", Item={**row, digit: {"N": "1000"}})

    trial.meddle = miscount
    found = trial.findings()

    assert found["ranks"].verdict == Verdict.FAILED
    assert "differences in" in found["ranks"].detail
    assert found["audit"].verdict == Verdict.FAILED


def test_a_lost_event_is_found(trial: Trial) -> None:
    lost: list[str] = []

    def lose(stack: Stack) -> None:
        for row in rows(stack.dynamodb, "Scores"):
            if not lost and row["pk"]["S"].startswith(f"{BOARD}#"):
                lost.append(row["sk"]["S"])
                stack.dynamodb.delete_item(TableName="Scores", Key={"pk": row["pk"], "sk": row["sk"]})
                project(stack)

    trial.meddle = lose
    found = trial.findings()

    assert found["ranks"].verdict == Verdict.FAILED
    assert lost


def test_a_pipeline_that_stands_still_is_found(trial: Trial) -> None:
    trial.stack.writer = lambda *_: {"batchItemFailures": []}

    found = trial.findings()

    assert found["ranks"].verdict == found["lag"].verdict == Verdict.FAILED
    assert found["a dead letter"].verdict == Verdict.FAILED


def test_a_board_in_use_is_left_alone(trial: Trial) -> None:
    apply(trial.stack, [event("m", 5)])
    before = [row for table in ("Scores", "Rankings") for row in rows(trial.stack.dynamodb, table)]

    (found,) = trial.findings("b").values()

    assert found.verdict == Verdict.FAILED
    assert "expected a board without members, got 1 on b" in found.detail
    assert [row for table in ("Scores", "Rankings") for row in rows(trial.stack.dynamodb, table)] == before


@pytest.mark.parametrize("board", ["registered", "narrow"])
def test_a_board_that_does_not_take_the_events_is_refused(trial: Trial, board: str) -> None:
    (found,) = trial.findings(board).values()

    assert (found.verdict, found.about) == (Verdict.FAILED, "exercise")
