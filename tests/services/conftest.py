"""The services over the engine in this process."""

from typing import Any

import pytest

from tests.engine.dynamodb import Engine
from tests.engine.tables import create_tables


@pytest.fixture
def engine() -> Any:
    client = Engine()
    create_tables(client)
    return client
