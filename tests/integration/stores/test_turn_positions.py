"""Where the turns over all boards are keeps its contract on the engine, on DynamoDB Local and on moto."""

from dataclasses import replace
from typing import Any

import pytest

from standings.aws.dynamodb.turn_positions import DynamoAuditPositions, DynamoSettlePositions
from standings.maintain.audit.scheduled import AuditPosition, Tally
from standings.maintain.turns.lease import Position
from tests.support.builders.points import NOW

CURSOR = {"generation": 0, "stage": "members", "slot": 3, "after": "用户"}


AUDITS = (
    DynamoAuditPositions,
    AuditPosition(1, turn=Tally(NOW)),
    AuditPosition(
        2, "b", CURSOR, 1, NOW + 5, NOW, turn=Tally(NOW, None, 7, 1, 300, ["a"]), last=Tally(NOW - 9, NOW - 1)
    ),
)
SETTLEMENTS = (DynamoSettlePositions, Position(1), Position(2, "b", CURSOR, 1, NOW + 5, NOW, scheduled=False))


@pytest.mark.parametrize(("made", "first", "later"), [AUDITS, SETTLEMENTS], ids=["audits", "settlements"])
def test_a_position_replaces_only_the_version_before(
    client: Any, tables: dict[str, str], made: Any, first: Any, later: Any
) -> None:
    positions = made(client, tables["RankingsTable"])

    assert positions.read() == type(first)()
    assert not positions.put(later)
    assert positions.put(first)
    assert not positions.put(first)
    assert positions.read() == first
    assert positions.put(later)
    assert not positions.put(replace(later, board="c"))
    assert positions.read() == later
