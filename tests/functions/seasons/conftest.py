"""The functions over boards with seasons, in October."""

import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.builders.seasons import milliseconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    clock = ManualClock(milliseconds("2026-10-20T10:00"))
    # Whatever is remembered of boards goes by the same clock.
    monkeypatch.setattr("time.monotonic", lambda: clock() / 1000)
    return clock
