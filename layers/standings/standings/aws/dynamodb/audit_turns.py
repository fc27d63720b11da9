"""Reads and writes where the audit of all boards is. That is in Rankings: without them, the turn begins anew."""

from dataclasses import asdict

from standings.aws.dynamodb.calls import DynamoDBClient
from standings.aws.dynamodb.keys import AUDIT
from standings.aws.dynamodb.versioned_json import VersionedJson
from standings.maintain.audit.turn import Tally, TurnRecord


class DynamoTurns:
    """The one record of the turn."""

    def __init__(self, client: DynamoDBClient, rankings: str) -> None:
        self._items = VersionedJson(client, rankings)

    def read(self) -> TurnRecord | None:
        """The record, read strongly consistently; None before the first run."""
        content = self._items.read(AUDIT)
        if content is None:
            return None
        tallies = {name: Tally(**content[name]) for name in ("turn", "last") if content[name] is not None}
        return TurnRecord(**{**content, **tallies})

    def put(self, record: TurnRecord) -> bool:
        """Replace the record of the version before. False if there is another version."""
        return self._items.put(AUDIT, asdict(record))
