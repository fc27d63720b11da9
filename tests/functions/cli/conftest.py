"""A stack's functions behind HTTP, and the command line that speaks to them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws.stack import ManualClock, Stack
from tests.support.cli.command_line import Run, connected, runner


@pytest.fixture
def clock(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """The clock of the stack, which is also that of the command line. Posting waits for no row's time."""
    monkeypatch.setattr("time.time_ns", lambda: clock() * 1_000_000)
    monkeypatch.setattr("standings_cli.post.times.sleep", lambda _: None)
    return clock


@pytest.fixture
def connection(stack: Stack) -> Iterator[Any]:
    with connected(stack) as there:
        yield there


@pytest.fixture
def run(connection: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    # The functions run in this process, and their logger may keep the closed standard output of an earlier test.
    monkeypatch.setattr("logging.raiseExceptions", False)
    return runner(connection, capsys)
