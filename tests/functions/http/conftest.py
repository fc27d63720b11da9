"""The functions over boards, after some events. A test module may have `content` of its own."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.over_http import BOARDS, NOW
from tests.support.builders.stages.streaming import apply


@pytest.fixture
def content() -> tuple[str, list[dict[str, Any]]]:
    """The boards, and the events that are applied first."""
    return BOARDS.format(1), []


@pytest.fixture
def stack(engine: Any, content: tuple[str, list[dict[str, Any]]]) -> Iterator[Stack]:
    boards, events = content
    with running(engine, ManualClock(NOW), boards) as deployed:
        apply(deployed, events)
        yield deployed
