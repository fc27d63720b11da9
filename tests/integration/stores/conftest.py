"""The adapters of DynamoDB on each engine, with the tables of the template."""

from typing import Any

import pytest

from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.ranking_reads import RankingsReader
from standings.aws.dynamodb.rankings import Rankings
from standings.aws.dynamodb.rolling import RollingWindows
from standings.aws.dynamodb.scores import BoardRecords, Scores
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
def scores(client: Any, time: Time) -> Scores:
    return Scores(client, "Scores", "Receipts", time.clock())


@pytest.fixture
def boards(client: Any, time: Time) -> BoardRecords:
    return BoardRecords(client, "Scores", time.clock())


@pytest.fixture
def profiles(client: Any, time: Time) -> Profiles:
    return Profiles(client, "Profiles", time.clock())


@pytest.fixture
def rankings(client: Any, time: Time) -> Rankings:
    return Rankings(client, "Rankings", time.clock())


@pytest.fixture
def windows(client: Any, time: Time) -> RollingWindows:
    return RollingWindows(client, "Rankings", time.clock())


@pytest.fixture
def reader(client: Any, time: Time) -> RankingsReader:
    return RankingsReader(client, "Rankings", "Scores", time.clock())


@pytest.fixture
def faulty(client: Any) -> Faulty:
    return Faulty(client)


@pytest.fixture
def other(faulty: Faulty, time: Time) -> RollingWindows:
    """Another process, whose transactions fail as a test says."""
    return RollingWindows(faulty, "Rankings", time.clock())  # type: ignore[arg-type]
