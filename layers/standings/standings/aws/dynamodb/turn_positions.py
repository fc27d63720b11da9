"""Reads and writes where turns over all boards are. That is in Rankings: without it, a turn begins again."""

from dataclasses import asdict

from standings.aws.dynamodb.calls import DynamoDBClient
from standings.aws.dynamodb.keys import AUDIT, SETTLE
from standings.aws.dynamodb.versioned_json import VersionedJson
from standings.maintain.audit.scheduled import AuditPosition, Tally
from standings.maintain.turns.lease import Position


class DynamoSettlePositions:
    """The record of settlements."""

    def __init__(self, client: DynamoDBClient, rankings: str) -> None:
        self._items = VersionedJson(client, rankings)

    def read(self) -> Position:
        """The record, read strongly consistently; before the first run, one of version 0."""
        return Position(**(self._items.read(SETTLE) or {}))

    def put(self, position: Position) -> bool:
        """Replace the record of the version before. False if there is another version."""
        return self._items.put(SETTLE, asdict(position))


class DynamoAuditPositions:
    """The record of audits."""

    def __init__(self, client: DynamoDBClient, rankings: str) -> None:
        self._items = VersionedJson(client, rankings)

    def read(self) -> AuditPosition:
        """The record, read strongly consistently; before the first run, one of version 0."""
        content = self._items.read(AUDIT) or {}
        tallies = {name: Tally(**content[name]) for name in ("turn", "last") if content.get(name) is not None}
        return AuditPosition(**{**content, **tallies})

    def put(self, position: AuditPosition) -> bool:
        """Replace the record of the version before. False if there is another version."""
        return self._items.put(AUDIT, asdict(position))
