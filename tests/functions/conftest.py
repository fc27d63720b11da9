"""The services over the engine in this process."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.aws.stack import ManualClock
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables


@pytest.fixture
def engine() -> Any:
    client = Engine()
    create_tables(client)
    return client


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """The clock of a stack, by which it also waits: a test that asks for it waits by no other."""
    own = ManualClock(int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000))
    monkeypatch.setattr("time.monotonic", own.monotonic)
    monkeypatch.setattr("time.sleep", own.sleep)
    return own
