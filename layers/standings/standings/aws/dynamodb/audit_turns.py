"""Reads and writes where the audit of all boards is. That is in Rankings: without them, the turn begins anew."""

from dataclasses import asdict

import orjson

from standings.aws.dynamodb.calls import DynamoDBClient, get_item, put_version
from standings.aws.dynamodb.keys import AUDIT
from standings.maintain.audit.turn import Tally, TurnRecord


class DynamoTurns:
    """The one record of the turn."""

    def __init__(self, client: DynamoDBClient, rankings: str) -> None:
        self._client = client
        self._rankings = rankings

    def read(self) -> TurnRecord | None:
        """The record, read strongly consistently; None before the first run."""
        item = get_item(self._client, self._rankings, {"pk": {"S": AUDIT}}, consistent=True)
        if item is None:
            return None
        content = orjson.loads(item["d"]["S"])
        tallies = {name: Tally(**content.pop(name)) for name in ("turn", "last") if content[name] is not None}
        return TurnRecord(int(item["v"]["N"]), **{**content, **tallies})

    def put(self, record: TurnRecord) -> bool:
        """Replace the record of the version before. False if there is another version."""
        content = asdict(record)
        version = content.pop("version")
        item = {"pk": {"S": AUDIT}, "v": {"N": str(version)}, "d": {"S": orjson.dumps(content).decode()}}
        return put_version(self._client, self._rankings, item, version - 1 if version > 1 else None)
