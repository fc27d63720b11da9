"""A stack with boards that settle, on a day that is not final yet."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.settling.leagues import BOARDS


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock, BOARDS) as deployed:
        yield deployed
