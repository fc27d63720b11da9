"""The live page in Chromium over the functions in this process, on a clock that does not wait."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

import pytest
from playwright.sync_api import Browser

from benchmarks.harness.results_file import REPOSITORY
from benchmarks.measure.live_page.tab import Tab
from standings.http.live_page import document
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.browser.chromium import chromium_or_skip
from tests.support.builders.stages.streaming import apply
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

BOARDS: Final = """
[boards."*"]
late = "1 day"
timezone = "Europe/Berlin"
metrics.points = { aggregate = "sum", windows = ["all", "day", "week", "last-7-days"] }
"""
NOW: Final = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
MEMBERS: Final = 120

Score = Callable[..., None]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium_or_skip() as started:
        yield started


@pytest.fixture
def stack() -> Iterator[Stack]:
    engine = Engine()
    create_tables(engine)
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as started:
        yield started


@pytest.fixture
def score(stack: Stack) -> Score:
    """Post one event for each member with its points, so many days ago."""
    numbers = count()

    def post(points: dict[str, int], days_ago: int = 0) -> None:
        at = datetime.fromtimestamp(stack.clock() / 1000, UTC) - timedelta(days=days_ago)
        apply(
            stack,
            [
                {
                    "id": f"{member}-{next(numbers)}",
                    "board": "b",
                    "member": member,
                    "at": at.isoformat(),
                    "metrics": {"points": amount},
                }
                for member, amount in points.items()
            ],
        )

    return post


@pytest.fixture
def board(score: Score) -> Sequence[str]:
    """A board whose members have 10 points less each than the one before; yesterday it was the other way round."""
    members = [f"m{place:03}" for place in range(MEMBERS)]
    score({member: 10_000 - 10 * place for place, member in enumerate(members)})
    score({member: 1_000 + place for place, member in enumerate(members)}, 1)
    return members


@pytest.fixture
def opened(browser: Browser, stack: Stack, board: Sequence[str]) -> Iterator[Callable[..., Tab]]:
    """Open the page with a query; the console must stay silent but for what `missing` is part of.

    The page loads pictures from `hosts`.
    """
    del board
    tabs: list[Tab] = []
    complaints: list[str] = []

    def open_(arguments: str, script: str = "", missing: str = "\0", hosts: Sequence[str] = (), **context: Any) -> Tab:
        tab = Tab(browser, stack, document(REPOSITORY / "functions" / "query" / "page", hosts), script, **context)
        tabs.append(tab)

        def heard(kind: str, text: str) -> None:
            if kind in {"error", "warning"} and missing not in text:
                complaints.append(text)

        tab.page.on("console", lambda message: heard(message.type, message.text))
        tab.page.on("pageerror", lambda error: heard("error", str(error)))
        tab.open(arguments)
        return tab

    yield open_
    for tab in tabs:
        tab.close()
    assert complaints == []
