"""A queue, a clock, and a folder of their own for tests of `standings post`."""

from pathlib import Path

import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.cli.posting import NOW, Queue


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    clock = ManualClock(NOW)
    monkeypatch.setattr("time.time_ns", lambda: clock() * 1_000_000)
    return clock


@pytest.fixture(autouse=True)
def in_a_folder(clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clock() == NOW
    monkeypatch.chdir(tmp_path)
