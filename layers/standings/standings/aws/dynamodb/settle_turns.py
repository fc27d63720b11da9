"""Reads and writes the record of settlements. That is in Rankings: without it, the schedule begins anew."""

from dataclasses import asdict

from standings.aws.dynamodb.calls import DynamoDBClient
from standings.aws.dynamodb.keys import SETTLE
from standings.aws.dynamodb.versioned_json import VersionedJson
from standings.maintain.settle.lease import SettleRecord


class DynamoSettleRecords:
    """The one record."""

    def __init__(self, client: DynamoDBClient, rankings: str) -> None:
        self._items = VersionedJson(client, rankings)

    def read(self) -> SettleRecord | None:
        """The record, read strongly consistently; None before the first call."""
        content = self._items.read(SETTLE)
        return None if content is None else SettleRecord(**content)

    def put(self, record: SettleRecord) -> bool:
        """Replace the record of the version before. False if there is another version."""
        return self._items.put(SETTLE, asdict(record))
