"""A stack's functions behind HTTP, and the command line that speaks to them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.querying import BOARDS
from tests.support.cli.command_line import Run, connected, runner

REGISTERED = '[boards."club"]\nmembers = "registered"\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock, BOARDS + REGISTERED) as deployed:
        yield deployed


@pytest.fixture
def connection(stack: Stack) -> Iterator[Any]:
    with connected(stack) as there:
        yield there


@pytest.fixture
def run(connection: Any, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(connection, capsys)
