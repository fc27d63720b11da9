"""The functions over a board, whose requests and read units are counted."""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.harness.meter import Meter
from tests.support.aws.stack import ManualClock, Stack, running
from tests.support.builders.querying import BOARDS
from tests.support.dynamodb.requests import Requests


@pytest.fixture
def meter(engine: Any) -> Meter:
    return Meter(engine)


@pytest.fixture
def requests(meter: Meter) -> Requests:
    return Requests(meter)


@pytest.fixture
def stack(requests: Requests, clock: ManualClock) -> Iterator[Stack]:
    with running(requests, clock, BOARDS) as deployed:
        yield deployed
