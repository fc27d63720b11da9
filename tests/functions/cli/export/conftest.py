"""A list behind HTTP that moves while it is exported, a few entries at a time."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from standings_cli.__main__ import main
from standings_cli.stack.api import Api
from standings_cli.stack.transport import Transport
from tests.support.aws.gateway import serving
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running

BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", precision = 2, windows = ["all", "day"] }
"""
PAGE_SIZE = 7


class Session:
    """Sends requests to an address, and does `before` each."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._session = Transport(local=True)
        self.before: Callable[[], Any] = lambda: None

    def send(self, request: Any) -> Any:
        self.before()
        return self._session.send(request)


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standings_cli.export.pages.PAGE_SIZE", PAGE_SIZE)


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock, BOARDS) as deployed:
        yield deployed


@pytest.fixture
def session(stack: Stack) -> Iterator[Session]:
    with serving(stack) as gateway:
        yield Session(gateway.address)
        assert gateway.raised == []


@pytest.fixture
def run(session: Session) -> Callable[..., int]:
    api = Api(session.address, session, sleep=lambda _: None)
    return lambda *arguments: main(list(arguments), lambda _: SimpleNamespace(api=api))
