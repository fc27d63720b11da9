"""The exercise of a stack, over the real functions: it proves what is right, and finds what is wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from standings_cli.doctor import exercise
from standings_cli.doctor.checks import Finding, Verdict
from standings_cli.doctor.exercise import Tools
from tests.support.aws.stack import Stack, apply, event, project
from tests.support.builders.checks import rows
from tests.support.cli.command_line import connected

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
[boards."howe-*"]
timezone = "Australia/Lord_Howe"
metrics.points = { aggregate = "sum", windows = ["hour", "last-3-hours", "day"] }
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
    connection: Any = None
    meddle: Callable[[Stack], bool] = lambda _: True
    """Called after each time that the pipeline has moved on, until it has done something."""
    is_meddled: bool = False

    def pass_time(self, seconds: float) -> None:
        self.stack.clock.milliseconds += round(seconds * 1000)
        self.connection.settle()
        self.is_meddled = self.is_meddled or self.meddle(self.stack)

    def findings(self, board: str = BOARD) -> dict[str, Finding]:
        stack = self.stack
        tools = Tools(
            connection=self.connection,
            now=lambda: datetime.fromtimestamp(stack.clock() / 1000, UTC),
            monotonic=stack.clock.monotonic,
            sleep=self.pass_time,
            rng=Random(board),
            say=lambda _: None,
        )
        return {finding.about: finding for finding in exercise.exercise(tools, board)}


@pytest.fixture
def trial(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    monkeypatch.setattr(exercise, "EVENTS", 50)
    monkeypatch.setattr(exercise, "PROBES", 3)
    monkeypatch.setattr(exercise, "TIMEOUT_S", 4.0)
    trial = Trial(stack)
    with connected(stack, trial.pass_time) as trial.connection:
        yield trial


def content(stack: Stack) -> list[Any]:
    return [row for table in ("Scores", "Rankings") for row in rows(stack.dynamodb, table)]


def test_a_stack_that_counts_right_passes_and_is_left_clean(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exercise, "EVENTS", 120)
    found = trial.findings()

    assert {finding.verdict for finding in found.values()} == {Verdict.OK}, found
    assert found.keys() == {"ranks", "lag", "a dead letter", "ranks after a replay", "audit", "clean-up"}
    assert "in 11 rankings: 0 wrong" in found["ranks"].detail
    assert "of 3 single events" in found["lag"].detail
    assert "5 minutes ahead" in found["a dead letter"].detail
    # Nothing is left but what expires: the versions of removed members, and receipts.
    assert [row for row in content(trial.stack) if row["pk"]["S"].startswith(f"{BOARD}#") and "e" not in row] == []
    assert trial.stack.dead_letters.messages == []
    assert trial.stack.get("/boards", prefix=BOARD)[1]["boards"] == []


@pytest.mark.parametrize("now", ["2026-07-01T04:10Z", "2026-04-04T15:10Z", "2026-10-03T15:40Z"])
def test_hours_are_right_where_the_clocks_change_by_half_an_hour(trial: Trial, now: str) -> None:
    trial.stack.clock.milliseconds = round(datetime.fromisoformat(now).timestamp() * 1000)

    assert "in 3 rankings: 0 wrong" in trial.findings("howe-1")["ranks"].detail


def miscount(stack: Stack) -> bool:
    """Change what the roots of the board's tier trees count."""
    of_board = [row for row in rows(stack.dynamodb, "Rankings") if row["pk"]["S"].startswith(f"{BOARD}#")]
    roots = [row for row in of_board if row["pk"]["S"].endswith("/") and "e" not in row]
    for row in roots:
        digit = next(name for name in row if name not in ("pk", "v", "t", "n", "c"))
        stack.dynamodb.put_item(TableName="Rankings", Item={**row, digit: {"N": "1000"}})
    return bool(roots)


def lose(stack: Stack) -> bool:
    """Delete a member with its scores."""
    members = [row for row in rows(stack.dynamodb, "Scores") if row["pk"]["S"].startswith(f"{BOARD}#")]
    for row in members[:1]:
        stack.dynamodb.delete_item(TableName="Scores", Key={"pk": row["pk"], "sk": row["sk"]})
        project(stack)
    return bool(members)


@pytest.mark.parametrize(("meddle", "also"), [(miscount, {"audit"}), (lose, set())])
def test_what_is_wrong_is_found(trial: Trial, meddle: Callable[[Stack], bool], also: set[str]) -> None:
    trial.meddle = meddle
    found = trial.findings()
    assert trial.is_meddled
    failed = {about for about, finding in found.items() if finding.verdict == Verdict.FAILED}
    assert failed >= {"ranks", "ranks after a replay"} | also
    assert "differences in" in found["ranks"].detail


def test_a_pipeline_that_stands_still_is_found(trial: Trial) -> None:
    trial.stack.writer = lambda *_: {"batchItemFailures": []}
    found = trial.findings()
    assert {found[about].verdict for about in ("ranks", "lag", "a dead letter")} == {Verdict.FAILED}


def test_a_board_in_use_is_left_alone(trial: Trial) -> None:
    apply(trial.stack, [event("m", 5)])
    before = content(trial.stack)
    (found,) = trial.findings("b").values()
    assert found.verdict == Verdict.FAILED
    assert "expected a board without members, got 1 on b" in found.detail
    assert content(trial.stack) == before


@pytest.mark.parametrize(
    ("board", "takes"), [("registered", "only registered members"), ("narrow", "no whole number for points")]
)
def test_a_board_that_does_not_take_the_events_is_refused(trial: Trial, board: str, takes: str) -> None:
    (found,) = trial.findings(board).values()
    assert found == (Verdict.FAILED, "exercise", f"{board} takes {takes}: name another with --board")
