"""Operations on tables: create, describe and delete them, expire items, load items and read streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.dynamodb.api.core import Answer, Core, operation
from tests.support.dynamodb.api.errors import Invalid, Refusal
from tests.support.dynamodb.storage.schema import read_schema
from tests.support.dynamodb.storage.sizes import ITEM_LIMIT
from tests.support.dynamodb.storage.streams import Shard
from tests.support.dynamodb.storage.table import Stored, Table
from tests.support.dynamodb.storage.values import Wire, decode_item

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class TableApi(Core):
    """The operations on tables that tests need."""

    @operation(
        "CreateTable",
        ("TableName", "KeySchema", "AttributeDefinitions"),
        (
            "BillingMode",
            "GlobalSecondaryIndexes",
            "StreamSpecification",
            "ProvisionedThroughput",
            "SSESpecification",
            "Tags",
            "DeletionProtectionEnabled",
            "OnDemandThroughput",
            "WarmThroughput",
            "TableClass",
        ),
    )
    def create_table(self, request: dict[str, Any]) -> Answer:
        name = request["TableName"]
        if name in self._tables:
            raise Refusal("ResourceInUseException", "Cannot create preexisting table")
        schema = read_schema(request)
        arn = f"arn:aws:dynamodb:{self._region}:{self._account}:table/{name}"
        description = {
            "TableName": name,
            "TableStatus": "ACTIVE",
            "TableArn": arn,
            "KeySchema": request["KeySchema"],
            "AttributeDefinitions": request["AttributeDefinitions"],
            "BillingModeSummary": {"BillingMode": request.get("BillingMode", "PROVISIONED")},
        }
        if schema.indexes:
            description["GlobalSecondaryIndexes"] = [
                {**index, "IndexStatus": "ACTIVE", "IndexArn": f"{arn}/index/{index['IndexName']}"}
                for index in request["GlobalSecondaryIndexes"]
            ]
        table = Table(schema, description, self.clock, self.written)
        if schema.stream_view:
            stream = f"{arn}/stream/2026-01-01T00:00:00.000"
            description["StreamSpecification"] = request["StreamSpecification"]
            description["LatestStreamArn"] = stream
            table.shards = [Shard(schema, stream, self._region, place) for place in range(self._shards)]
        self._tables[name] = table
        return {"TableDescription": {**description, "ItemCount": 0}}

    @operation("DescribeTable", ("TableName",))
    def describe_table(self, request: dict[str, Any]) -> Answer:
        table = self._table(request["TableName"])
        return {"Table": {**table.description, "ItemCount": len(table.rows)}}

    @operation("ListTables", (), ("Limit", "ExclusiveStartTableName"))
    def list_tables(self, _: dict[str, Any]) -> Answer:
        return {"TableNames": sorted(self._tables)}

    @operation("DeleteTable", ("TableName",))
    def delete_table(self, request: dict[str, Any]) -> Answer:
        table = self._table(request["TableName"])
        del self._tables[request["TableName"]]
        return {"TableDescription": {**table.description, "TableStatus": "DELETING"}}

    @operation("UpdateTimeToLive", ("TableName", "TimeToLiveSpecification"))
    def update_time_to_live(self, request: dict[str, Any]) -> Answer:
        table = self._table(request["TableName"])
        specification = request["TimeToLiveSpecification"]
        table.expiry = specification["AttributeName"] if specification["Enabled"] else None
        return {"TimeToLiveSpecification": specification}

    @operation("DescribeTimeToLive", ("TableName",))
    def describe_time_to_live(self, request: dict[str, Any]) -> Answer:
        expiry = self._table(request["TableName"]).expiry
        if expiry is None:
            return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": expiry}}

    def expire(self, table: str, now: float | None = None, goes: Callable[[], bool] = lambda: True) -> int:
        """Delete expired items, as the service does, and return how many. An item stays if ``goes`` returns false.

        An item has expired if its expiry is a number in the past, at most five years back. One that a transaction
        holds stays.
        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html
        """
        moment = self.clock() if now is None else now
        oldest = moment - 5 * 365 * 86_400
        with self._lock:
            stored = self._table(table)
            if stored.expiry is None:
                raise Invalid("TimeToLive is not enabled on this table")
            expired = []
            for key, row in stored.rows.items():
                expiry = row.item.get(stored.expiry)
                is_old = type(expiry) is int and oldest < expiry < moment
                if is_old and (table, key) not in self.unfinished and goes():
                    expired.append(key)
            for key in expired:
                stored.write(key, None, by_service=True)
            return len(expired)

    def load(self, table: str, items: Iterable[Mapping[str, Wire]]) -> None:
        """Store items quickly, as an import from S3 does: without conditions and without request hooks."""
        with self._lock:
            stored = self._table(table)
            for wire in items:
                item = decode_item(wire)
                stored.write(stored.schema.key.of(item), Stored(item, ITEM_LIMIT))

    def stream(self, table: str) -> Sequence[Shard]:
        """Return the shards of a table's stream. They grow as the table changes."""
        with self._lock:
            return self._table(table).shards
