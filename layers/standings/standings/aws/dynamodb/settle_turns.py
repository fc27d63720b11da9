"""Reads and writes the record of settlements. That is in Rankings: without it, the schedule begins anew."""

from dataclasses import asdict

import orjson

from standings.aws.dynamodb.calls import DynamoDBClient, get_item, put_version
from standings.aws.dynamodb.keys import SETTLE
from standings.maintain.settle.lease import SettleRecord


class DynamoSettleRecords:
    """The one record."""

    def __init__(self, client: DynamoDBClient, rankings: str) -> None:
        self._client = client
        self._rankings = rankings

    def read(self) -> SettleRecord | None:
        """The record, read strongly consistently; None before the first call."""
        item = get_item(self._client, self._rankings, {"pk": {"S": SETTLE}}, consistent=True)
        return None if item is None else SettleRecord(int(item["v"]["N"]), **orjson.loads(item["d"]["S"]))

    def put(self, record: SettleRecord) -> bool:
        """Replace the record of the version before. False if there is another version."""
        content = asdict(record)
        version = content.pop("version")
        item = {"pk": {"S": SETTLE}, "v": {"N": str(version)}, "d": {"S": orjson.dumps(content).decode()}}
        return put_version(self._client, self._rankings, item, version - 1 if version > 1 else None)
