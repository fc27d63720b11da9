"""The adapters of DynamoDB on each engine."""

from typing import Any

import pytest

from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.dynamodb.scores.scores import DynamoScores
from tests.support.builders.points import NOW
from tests.support.faults import faulty_client


@pytest.fixture
def scores(client: Any, tables: dict[str, str]) -> DynamoScores:
    return DynamoScores(client, tables["ScoresTable"], tables["ReceiptsTable"], faulty_client.Time(NOW).clock())


@pytest.fixture
def boards(client: Any, tables: dict[str, str]) -> DynamoBoards:
    return DynamoBoards(client, tables["ScoresTable"], faulty_client.Time(NOW).clock())


@pytest.fixture
def rankings(client: Any, tables: dict[str, str]) -> DynamoRankings:
    return DynamoRankings(client, tables["RankingsTable"], faulty_client.Time(NOW).clock())


@pytest.fixture
def reader(client: Any, tables: dict[str, str]) -> DynamoRankingsReader:
    return DynamoRankingsReader(client, tables["RankingsTable"], tables["ScoresTable"], faulty_client.Time(NOW).clock())
