"""The writer that most tests of it share."""

from typing import Any

import pytest

from tests.support.builders.stages.writers import Subject


@pytest.fixture
def subject(engine: Any) -> Subject:
    return Subject(engine)
