"""The functions over boards of one metric, to which events are posted."""

from collections.abc import Iterator

import pytest

from tests.support.aws.stack import Stack
from tests.support.builders.querying import deployed
from tests.support.builders.stages.posting import BOARDS


@pytest.fixture
def stack() -> Iterator[Stack]:
    with deployed(BOARDS) as stack:
        yield stack
