"""The functions over boards with seasons, in October."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.seasons import FOUR, milliseconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    clock = ManualClock(milliseconds("2026-10-20T10:00"))
    # Whatever is remembered of boards goes by the same clock.
    monkeypatch.setattr("time.monotonic", lambda: clock() / 1000)
    return clock


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock, FOUR) as deployed:
        yield deployed
