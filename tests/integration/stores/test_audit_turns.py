"""Where the audits of all boards are keeps its contract on the engine, on DynamoDB Local and on moto."""

from dataclasses import replace
from typing import Any

import pytest

from standings.aws.dynamodb.audit_turns import DynamoTurns
from standings.maintain.audit.turn import Tally, TurnRecord
from tests.support.builders.points import NOW

CURSOR = {"generation": 0, "stage": "members", "slot": 3, "after": "用户"}


@pytest.fixture
def turns(client: Any, tables: dict[str, str]) -> DynamoTurns:
    return DynamoTurns(client, tables["RankingsTable"])


def test_a_record_replaces_only_the_version_before(turns: DynamoTurns) -> None:
    first = TurnRecord(1, turn=Tally(NOW))
    later = TurnRecord(2, "b", CURSOR, 1, NOW + 5, NOW, Tally(NOW, None, 7, 1, 300, ["a"]), Tally(NOW - 9, NOW - 1))

    assert turns.read() is None
    assert not turns.put(later)
    assert turns.put(first)
    assert not turns.put(first)
    assert turns.read() == first
    assert turns.put(later)
    assert not turns.put(replace(later, board="c"))
    assert turns.read() == later
