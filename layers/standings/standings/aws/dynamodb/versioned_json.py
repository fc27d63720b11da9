"""Items that hold one JSON object each, with a version."""

from collections.abc import Mapping
from typing import Any

import orjson

from standings.aws.dynamodb.calls import DynamoDBClient, get_item, put_version


class VersionedJson:
    """The items of a table."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def read(self, key: str) -> dict[str, Any] | None:
        """An item's object with its `version`, read strongly consistently; None if there is no item."""
        item = get_item(self._client, self._table, {"pk": {"S": key}}, consistent=True)
        return None if item is None else {**orjson.loads(item["d"]["S"]), "version": int(item["v"]["N"])}

    def put(self, key: str, content: Mapping[str, Any], expires_at: int | None = None) -> bool:
        """Replace the item of the version before. False if there is another version.

        `expires_at` is in milliseconds.
        """
        content = dict(content)
        version = content.pop("version")
        item = {"pk": {"S": key}, "v": {"N": str(version)}, "d": {"S": orjson.dumps(content).decode()}}
        if expires_at is not None:
            item["e"] = {"N": str(-(-expires_at // 1000))}
        return put_version(self._client, self._table, item, version - 1 if version > 1 else None)
