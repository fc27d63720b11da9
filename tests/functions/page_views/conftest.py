"""Boards in an engine in this process, served over HTTP, and a browser that shows their live page."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from unittest import mock

import pytest
from playwright.sync_api import Browser

from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.gateway import serving
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.browser.chromium import chromium_or_skip
from tests.support.browser.live_page import AXE, Shown
from tests.support.builders.page_boards import DEFINITIONS, fill
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables


class Site(NamedTuple):
    """A stack whose clock stands at the time of the real one, and the address of its live page."""

    stack: Stack
    address: str


@contextmanager
def _site() -> Iterator[Site]:
    engine = Engine()
    create_tables(engine)
    with (
        mock.patch.dict(ENVIRONMENT, {"OPEN_READS": "true"}),
        running(engine, ManualClock(int(time.time() * 1000)), DEFINITIONS) as stack,
        serving(stack) as gateway,
    ):
        yield Site(stack, gateway.address)
        assert gateway.raised == []


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A stack with boards."""
    with _site() as made:
        fill(made.stack)
        yield made


@pytest.fixture
def empty_site() -> Iterator[Site]:
    """A stack without a board."""
    with _site() as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not AXE.exists():
        pytest.skip(f"{AXE} is missing, `make setup` installs it")
    with chromium_or_skip() as started:
        yield started


Opener = Callable[..., Shown]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Opener]:
    """Open an address at a size, by default that of a phone. The console may only say that an answer was 400 or 404."""
    opened: list[Shown] = []

    def open_(site: Site, query: str = "", width: int = 390, height: int = 844) -> Shown:
        size = {"width": width, "height": height}
        context = browser.new_context(viewport=size, reduced_motion="reduce")  # type: ignore[arg-type]
        opened.append(Shown(context.new_page(), site.address))
        opened[-1].page.goto(f"{site.address}/{query}")
        return opened[-1]

    yield open_
    for shown in opened:
        shown.page.context.close()
        assert [one for one in shown.complaints if "status of 40" not in one] == []
