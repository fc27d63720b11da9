"""The writer on boards whose items it reads first."""

from typing import Any

import pytest

from tests.support.builders.stages.read_first import BOARDS
from tests.support.builders.stages.writers import Subject


@pytest.fixture
def subject(engine: Any) -> Subject:
    return Subject(engine, BOARDS)
