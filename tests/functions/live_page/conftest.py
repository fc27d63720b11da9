"""The live page in Chromium over the functions in this process, on a clock that does not wait."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final
from unittest import mock

import pytest
from playwright.sync_api import Browser

from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import ManualClock, Stack, apply, running
from tests.support.browser.chromium import chromium_or_skip
from tests.support.browser.live_page import Opener, opener
from tests.support.builders.page_boards import DEFINITIONS, fill
from tests.support.dynamodb.tables import engine_with_tables

BOARDS: Final = f"""
{DEFINITIONS}
[boards."b"]
late = "1 day"
timezone = "Europe/Berlin"
metrics.points = {{ aggregate = "sum", windows = ["all", "day", "week", "last-7-days"] }}

[boards."b-*"]
metrics.points = {{ aggregate = "sum", windows = ["all", "day", "week"] }}
"""
OPEN: Final = {
    "OPEN_READS": "true",
    "PICTURE_ORIGINS": "pictures.example",
    "EMBED_ORIGINS": "https://elsewhere.invalid",
}
NOW: Final = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
MEMBERS: Final = 120

Score = Callable[..., None]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium_or_skip() as started:
        yield started


@contextmanager
def _stack(boards: str) -> Iterator[Stack]:
    engine = engine_with_tables()
    clock = ManualClock(int(NOW.timestamp() * 1000))
    with mock.patch.dict(ENVIRONMENT, OPEN), running(engine, clock, boards) as started:
        yield started


@pytest.fixture
def stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """A stack without events. A parameter replaces its boards.toml."""
    with _stack(getattr(request, "param", BOARDS)) as started:
        yield started


@pytest.fixture(scope="module")
def site() -> Iterator[Stack]:
    """A stack with the boards of `page_boards`, on which few things change."""
    with _stack(BOARDS) as started:
        fill(started)
        yield started


@pytest.fixture
def score(stack: Stack) -> Score:
    """Post one event for each member with its points, so many days ago."""
    numbers = count()

    def post(points: dict[str, int], days_ago: int = 0, board: str = "b") -> None:
        at = (datetime.fromtimestamp(stack.clock() / 1000, UTC) - timedelta(days=days_ago)).isoformat()
        said = [
            {"id": f"e{next(numbers)}", "board": board, "member": member, "at": at, "metrics": {"points": more}}
            for member, more in points.items()
        ]
        apply(stack, said)

    return post


@pytest.fixture
def board(score: Score) -> Sequence[str]:
    """A board whose members have 10 points less each than the one before; yesterday it was the other way round."""
    members = [f"m{place:03}" for place in range(MEMBERS)]
    score({member: 10_000 - 10 * place for place, member in enumerate(members)})
    score({member: 1_000 + place for place, member in enumerate(members)}, 1)
    return members


@pytest.fixture
def opened(browser: Browser, stack: Stack, board: Sequence[str]) -> Iterator[Opener]:
    """Opens pages of the stack with that board."""
    del board
    with opener(browser, stack) as open_:
        yield open_


@pytest.fixture
def open_page(browser: Browser, site: Stack) -> Iterator[Opener]:
    """Opens pages of the site."""
    with opener(browser, site) as open_:
        yield open_


@pytest.fixture
def open_bare(browser: Browser, stack: Stack) -> Iterator[Opener]:
    """Opens pages of the stack with nothing but what the test posts."""
    with opener(browser, stack) as open_:
        yield open_
