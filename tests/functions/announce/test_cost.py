"""Announcements cost boards that do not announce nothing, and add nothing to what an event costs on those that do."""

import os
import random
from collections.abc import Mapping
from unittest import mock

import pytest

from benchmarks.harness.capacity_units import Units
from benchmarks.harness.meter import Meter
from standings.aws.dynamodb.rolling import one_after_another
from standings.project.commits import one_by_one
from standings.wiring import projector
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import ManualClock, apply, event, running
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import engine_with_tables

QUIET = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day", "last-7-days"] }\n'
ANNOUNCING = f"{QUIET}announce.all = {{ top = 3 }}\nannounce.day = {{ top = 3 }}\n"
WITHOUT = {name: value for name, value in ENVIRONMENT.items() if name != "LOOKS_QUEUE_URL"}


def cost(boards: str, environment: Mapping[str, str]) -> tuple[dict[str, Units], int, list[str]]:
    """What events and reads cost, by request; how many looks were asked for; and what was written down."""
    engine = engine_with_tables()
    meter = Meter(engine)
    with (
        mock.patch.dict("tests.support.aws.stack.ENVIRONMENT", environment, clear=True),
        mock.patch.dict(os.environ),
        # By chance the projector looks for empty tiers.
        mock.patch.object(random, "random", return_value=0.99),
        # The meter counts one call at a time.
        mock.patch.object(projector, "run_parallel", return_value=one_by_one),
        mock.patch.object(projector, "run_all", return_value=one_after_another),
        running(meter, ManualClock(1_795_256_100_000), boards) as stack,
    ):
        apply(stack, [event(f"m{number}", number) for number in range(50)])
        for member in ("m1", "m49"):
            apply(stack, [event(member, 500)])
        stack.get("/boards/b/points/all", limit=10)
        return dict(meter.snapshot().operations), len(stack.looks.messages), [one["pk"]["S"] for one in _tops(engine)]


def _tops(engine: Engine) -> list[dict[str, dict[str, str]]]:
    items: list[dict[str, dict[str, str]]] = engine.scan(TableName="Rankings")["Items"]
    return [item for item in items if item["pk"]["S"].endswith("/top")]


def test_announcements_cost_no_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards that do not announce ask for nothing, and so does a stack without the parameter, whatever boards say."""
    monkeypatch.delenv("LOOKS_QUEUE_URL", raising=False)
    before = cost(QUIET, WITHOUT)
    assert before[1:] == (0, [])
    assert cost(QUIET, ENVIRONMENT) == before
    assert cost(ANNOUNCING, WITHOUT) == before
    assert cost(ANNOUNCING, ENVIRONMENT) == (before[0], 2 * 3, []), "one look for each announced ranking and batch"
