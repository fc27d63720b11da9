"""A stack with four members, behind HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws.gateway import Gateway, serving
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.stages.streaming import apply, event
from tests.support.cli.watching import HOSTILE, NOW


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(NOW)) as deployed:
        apply(deployed, [event("anna", 30), event("ben", 20), event("cleo", 10), event(HOSTILE, 5)])
        yield deployed


@pytest.fixture
def gateway(stack: Stack) -> Iterator[Gateway]:
    with serving(stack) as there:
        yield there
    assert there.raised == []
