"""The functions over a board with some members."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.over_http import BOARDS, NOW


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(NOW), BOARDS.format(1)) as deployed:
        yield deployed
