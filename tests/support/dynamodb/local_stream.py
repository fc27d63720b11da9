"""Reads the streams of DynamoDB Local, with records in the form that Lambda passes to a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, overload

from tests.support.dynamodb.items import json_value
from tests.support.dynamodb.local import client_for

_PAGE = 1000


def _lambda_record(record: Mapping[str, Any], arn: str) -> dict[str, Any]:
    """Return a record of GetRecords as a record of a Lambda event."""
    detail = dict(record["dynamodb"])
    for name in ("Keys", "NewImage", "OldImage"):
        if name in detail:
            detail[name] = {attribute: json_value(value) for attribute, value in detail[name].items()}
    created = detail.get("ApproximateCreationDateTime")
    if isinstance(created, datetime):
        detail["ApproximateCreationDateTime"] = int(created.timestamp())
    return {**record, "dynamodb": detail, "eventSourceARN": arn}


class LocalShard(Sequence[dict[str, Any]]):
    """One shard of a real stream. `len` reads the new records."""

    def __init__(self, streams: Any, arn: str, shard_id: str) -> None:
        self.shard_id = shard_id
        self._streams = streams
        self._arn = arn
        self._records: list[dict[str, Any]] = []
        self._next: str | None = streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard_id, ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]

    def __len__(self) -> int:
        while self._next is not None:
            page = self._streams.get_records(ShardIterator=self._next, Limit=_PAGE)
            self._next = page.get("NextShardIterator")
            self._records += [_lambda_record(record, self._arn) for record in page["Records"]]
            if not page["Records"]:
                break
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return self._records[index]


class LocalStream(Sequence[LocalShard]):
    """The shards of a table's stream on DynamoDB Local, used in place of ``Engine.stream``."""

    def __init__(self, client: Any, table: str) -> None:
        streams = client_for(client.meta.endpoint_url, "dynamodbstreams")
        arn = client.describe_table(TableName=table)["Table"]["LatestStreamArn"]
        described = streams.describe_stream(StreamArn=arn)["StreamDescription"]
        self._shards = [LocalShard(streams, arn, shard["ShardId"]) for shard in described["Shards"]]

    def __len__(self) -> int:
        return len(self._shards)

    @overload
    def __getitem__(self, index: int) -> LocalShard: ...
    @overload
    def __getitem__(self, index: slice) -> list[LocalShard]: ...
    def __getitem__(self, index: int | slice) -> LocalShard | list[LocalShard]:
        return self._shards[index]
