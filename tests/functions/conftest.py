"""Fixtures: the in-process engine, a clock that tests set, and the functions over the boards of a module."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.aws.stack import ManualClock, Stack, running
from tests.support.builders.querying import BOARDS
from tests.support.dynamodb.tables import engine_with_tables


@pytest.fixture
def engine() -> Any:
    return engine_with_tables()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """A clock for a stack, which also replaces the real clock and the real sleep."""
    own = ManualClock(int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000))
    monkeypatch.setattr("time.monotonic", own.monotonic)
    monkeypatch.setattr("time.sleep", own.sleep)
    return own


@pytest.fixture
def stack(engine: Any, clock: ManualClock, request: pytest.FixtureRequest) -> Iterator[Stack]:
    """The functions over the `BOARDS` of the test's module and, if it has one, its `CLIENT` of the engine."""
    client = getattr(request.module, "CLIENT", lambda engine: engine)(engine)
    with running(client, clock, getattr(request.module, "BOARDS", BOARDS)) as deployed:
        yield deployed
