"""The adapters of DynamoDB on each engine, with the tables of the template."""

from typing import Any

import pytest

from standings.aws.dynamodb.profiles import DynamoProfiles
from standings.aws.dynamodb.ranking_reads import DynamoRankingsReader
from standings.aws.dynamodb.rankings import DynamoRankings
from standings.aws.dynamodb.rolling import DynamoRollingWindows
from standings.aws.dynamodb.scores import DynamoBoards, DynamoScores
from tests.support.builders.points import NOW
from tests.support.dynamodb.tables import create_tables
from tests.support.faults.faulty_client import Faulty, Time


@pytest.fixture
def client(client: Any) -> Any:
    create_tables(client)
    return client


@pytest.fixture
def time() -> Time:
    return Time(NOW)


@pytest.fixture
def scores(client: Any, time: Time) -> DynamoScores:
    return DynamoScores(client, "Scores", "Receipts", time.clock())


@pytest.fixture
def boards(client: Any, time: Time) -> DynamoBoards:
    return DynamoBoards(client, "Scores", time.clock())


@pytest.fixture
def profiles(client: Any, time: Time) -> DynamoProfiles:
    return DynamoProfiles(client, "Profiles", time.clock())


@pytest.fixture
def rankings(client: Any, time: Time) -> DynamoRankings:
    return DynamoRankings(client, "Rankings", time.clock())


@pytest.fixture
def windows(client: Any, time: Time) -> DynamoRollingWindows:
    return DynamoRollingWindows(client, "Rankings", time.clock())


@pytest.fixture
def reader(client: Any, time: Time) -> DynamoRankingsReader:
    return DynamoRankingsReader(client, "Rankings", "Scores", time.clock())


@pytest.fixture
def faulty(client: Any) -> Faulty:
    return Faulty(client)


@pytest.fixture
def other(faulty: Faulty, time: Time) -> DynamoRollingWindows:
    """Another process, whose transactions fail as a test says."""
    return DynamoRollingWindows(faulty, "Rankings", time.clock())  # type: ignore[arg-type]
