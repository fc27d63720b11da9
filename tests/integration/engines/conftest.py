"""Tables and pairs of clients that tests of engines share."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.things import THINGS, key


@pytest.fixture
def scores(tables: dict[str, str]) -> str:
    return tables["ScoresTable"]


@pytest.fixture
def rankings(tables: dict[str, str]) -> str:
    return tables["RankingsTable"]


@pytest.fixture
def pair(local_client: Any) -> tuple[Engine, Any]:
    """The engine and DynamoDB Local with the same items in Things."""
    engine = Engine(shards=3)
    for client in (engine, local_client):
        client.create_table(**THINGS)
        client.put_item(
            TableName="Things",
            Item={
                **key("a"),
                "n": {"N": "1"},
                "t": {"S": "text"},
                "f": {"BOOL": False},
                "d": {"N": "1.50"},
                "by": {"B": b"\x00\xff"},
                "tags": {"SS": ["x", "y"]},
                "li": {"L": [{"N": "1"}, {"S": "two"}]},
                "ma": {"M": {"inner": {"S": "side"}, "nil": {"NULL": True}}},
            },
        )
        client.put_item(TableName="Things", Item={**key("full"), "x": {"S": "x" * (409_600 - 11)}})
    return engine, local_client
