"""A sample of the fault schedules runs on DynamoDB Local: their results do not depend on the engine."""

from collections.abc import Callable
from typing import Any

import pytest

from standings.aws.dynamodb.as_built import send_as_built
from tests.faults.aws.tables import ClientStore
from tests.faults.world import Options, run
from tests.support.dynamodb import local
from tests.support.dynamodb.local_stream import LocalStream
from tests.support.dynamodb.tables import create_tables

pytestmark = pytest.mark.thorough


@pytest.fixture
def store(local_client: Any, local_endpoint: str) -> Callable[[Callable[[], float]], ClientStore]:
    create_tables(local_client, expire=False)
    # The functions use it too.
    client = local.client_for(local_endpoint)
    send_as_built(client)
    return lambda now: ClientStore(client, LocalStream(local_client, "Scores"), now)


@pytest.mark.parametrize("seed", range(6))
def test_every_ranking_is_right_on_dynamodb_local(
    seed: int, store: Callable[[Callable[[], float]], ClientStore]
) -> None:
    outcome = run(seed, Options(events=60, store=store))
    assert outcome.differences == []
    assert outcome.compared
