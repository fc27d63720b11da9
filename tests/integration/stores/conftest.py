"""The adapters of DynamoDB on each engine."""

from typing import Any

import pytest

from standings.aws.dynamodb.profiles.profiles import DynamoProfiles
from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.aws.dynamodb.rankings.rolling_windows import DynamoRollingWindows
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.dynamodb.scores.scores import DynamoScores
from tests.support.builders.points import NOW
from tests.support.faults import faulty_client
from tests.support.faults.faulty_client import Faulty, Time


@pytest.fixture
def scores(client: Any, tables: dict[str, str]) -> DynamoScores:
    return DynamoScores(client, tables["ScoresTable"], tables["ReceiptsTable"], faulty_client.Time(NOW).clock())


@pytest.fixture
def boards(client: Any, tables: dict[str, str]) -> DynamoBoards:
    return DynamoBoards(client, tables["ScoresTable"], faulty_client.Time(NOW).clock())


@pytest.fixture
def profiles(client: Any, tables: dict[str, str]) -> DynamoProfiles:
    return DynamoProfiles(client, tables["ProfilesTable"], faulty_client.Time(NOW).clock())


@pytest.fixture
def rankings(client: Any, tables: dict[str, str]) -> DynamoRankings:
    return DynamoRankings(client, tables["RankingsTable"], faulty_client.Time(NOW).clock())


@pytest.fixture
def windows(client: Any, tables: dict[str, str]) -> DynamoRollingWindows:
    return DynamoRollingWindows(client, tables["RankingsTable"], faulty_client.Time(NOW).clock())


@pytest.fixture
def reader(client: Any, tables: dict[str, str]) -> DynamoRankingsReader:
    return DynamoRankingsReader(client, tables["RankingsTable"], tables["ScoresTable"], faulty_client.Time(NOW).clock())


@pytest.fixture
def table(tables: dict[str, str]) -> str:
    return tables["RankingsTable"]


@pytest.fixture
def faulty(client: Any) -> Faulty:
    return Faulty(client)


@pytest.fixture
def time() -> Time:
    return Time(NOW)


@pytest.fixture
def other(faulty: Faulty, table: str, time: Time) -> DynamoRollingWindows:
    """Another process, whose transactions fail as a test says."""
    return DynamoRollingWindows(faulty, table, time.clock())  # type: ignore[arg-type]
