"""The stream of a table, with its changes as records of a Lambda event.

https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_StreamRecord.html
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, overload

from tests.support.dynamodb.storage.sizes import stored_size
from tests.support.dynamodb.storage.values import Item, encode, json_value

if TYPE_CHECKING:
    from tests.support.dynamodb.storage.schema import TableSchema

_FIRST: Final = 10**24
_NEAR_THE_EDGE: Final = 3
SERVICE: Final = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one item. The images are never modified."""

    number: int
    at: int
    old: Item | None
    new: Item | None
    by_service: bool


def _json_item(item: Item) -> dict[str, Any]:
    return {name: json_value(encode(value)) for name, value in item.items()}


class Shard(Sequence[dict[str, Any]]):
    """The records of one shard. Each read builds the records anew.

    Sequence numbers are texts that must be compared as numbers, and only within a shard. In each shard they begin just
    below a power of ten, so code that compares them as texts fails soon.
    """

    def __init__(self, schema: TableSchema, arn: str, region: str, place: int) -> None:
        self.shard_id = f"shardId-{place:020d}-{zlib.crc32(arn.encode()):08x}"
        self._schema = schema
        self._arn = arn
        self._region = region
        self._place = place
        self._next = _FIRST * 10 ** (place % 4) - _NEAR_THE_EDGE
        self._changes: list[Change] = []

    def append(self, at: float, old: Item | None, new: Item | None, *, by_service: bool) -> None:
        self._changes.append(Change(self._next, int(at), old, new, by_service))
        self._next += 1

    def __len__(self) -> int:
        return len(self._changes)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self._record(change) for change in self._changes[index]]
        return self._record(self._changes[index])

    def _record(self, change: Change) -> dict[str, Any]:
        either = change.old if change.new is None else change.new
        if either is None:
            raise ValueError("expected a change with an old or a new image, got one with neither")
        keys = {name: either[name] for name in self._schema.key.names}
        view = self._schema.stream_view or ""
        detail: dict[str, Any] = {
            "ApproximateCreationDateTime": change.at,
            "Keys": _json_item(keys),
            "SequenceNumber": str(change.number),
            "SizeBytes": stored_size(keys),
            "StreamViewType": view,
        }
        for name, image, views in (
            ("NewImage", change.new, {"NEW_IMAGE", "NEW_AND_OLD_IMAGES"}),
            ("OldImage", change.old, {"OLD_IMAGE", "NEW_AND_OLD_IMAGES"}),
        ):
            if image is not None and view in views:
                detail[name] = _json_item(image)
                detail["SizeBytes"] += stored_size(image)
        name = "INSERT" if change.old is None else "REMOVE" if change.new is None else "MODIFY"
        record: dict[str, Any] = {
            "eventID": f"{self._place:08x}{change.number:024x}"[-32:],
            "eventName": name,
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": self._region,
            "dynamodb": detail,
            "eventSourceARN": self._arn,
        }
        if change.by_service:
            record["userIdentity"] = dict(SERVICE)
        return record
