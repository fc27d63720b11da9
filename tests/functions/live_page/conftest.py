"""The live page in Chromium over the functions in this process, on a clock that does not wait."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from unittest import mock

import pytest
from playwright.sync_api import Browser

from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import Stack
from tests.support.browser.chromium import chromium_or_skip
from tests.support.browser.live_page import Opener, opener
from tests.support.builders.page_boards import DEFINITIONS, fill
from tests.support.builders.querying import deployed, post

BOARDS: Final = f"""
{DEFINITIONS}
[boards."b"]
late = "1 day"
timezone = "Europe/Berlin"
metrics.points = {{ aggregate = "sum", windows = ["all", "day", "week", "last-7-days"] }}

[boards."b-*"]
metrics.points = {{ aggregate = "sum", windows = ["all", "day", "week"] }}
"""
ORIGINS: Final = {"PICTURE_ORIGINS": "pictures.example", "EMBED_ORIGINS": "https://elsewhere.invalid"}
OPEN: Final = {"OPEN_READS": "true", **ORIGINS}
MEMBERS: Final = 120

Score = Callable[..., None]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium_or_skip() as started:
        yield started


@contextmanager
def _stack(boards: str) -> Iterator[Stack]:
    with mock.patch.dict(ENVIRONMENT, OPEN), deployed(boards) as started:
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

    def posted(points: dict[str, int], days_ago: int = 0, board: str = "b") -> None:
        post(stack, points, board=board, days_ago=days_ago)

    return posted


@pytest.fixture
def board(score: Score) -> Sequence[str]:
    """A board whose members have 10 points less each than the one before; yesterday it was the other way round."""
    members = [f"m{place:03}" for place in range(MEMBERS)]
    score({member: 10_000 - 10 * place for place, member in enumerate(members)})
    score({member: 1_000 + place for place, member in enumerate(members)}, 1)
    return members


@pytest.fixture
def opened(board: Sequence[str], open_bare: Opener) -> Opener:
    """Opens pages of the stack with that board."""
    del board
    return open_bare


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
