"""The real handlers behind HTTP, and the command line that speaks to them."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from standings_cli.__main__ import main
from standings_cli.stack.api import Api
from standings_cli.stack.maintenance_function import Maintenance
from standings_cli.stack.transport import Transport
from tests.functions.cli.test_maintain import Lambda
from tests.support.aws.gateway import serving
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.querying import BOARDS, NOW

REGISTERED = '[boards."club"]\nmembers = "registered"\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'
Run = Callable[..., int]
"""Runs `standings` with these arguments; returns its exit status."""


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    assert clock() == int(NOW.timestamp() * 1000)
    with running(engine, clock, BOARDS + REGISTERED) as deployed:
        yield deployed


@pytest.fixture
def api(stack: Stack) -> Iterator[Api]:
    with serving(stack) as gateway:
        yield Api(gateway.address, Transport(local=True), sleep=lambda _: None)
        assert gateway.raised == []


@pytest.fixture
def run(stack: Stack, api: Api) -> Run:
    maintenance = Maintenance(Lambda(stack), "maintenance", stack.clock.sleep)  # type: ignore[arg-type]
    return lambda *arguments: main(list(arguments), lambda _: SimpleNamespace(api=api, maintenance=maintenance))
