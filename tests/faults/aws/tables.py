"""The tables of a schedule, either on the engine in this process or on a DynamoDB behind a client."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from tests.support.builders.checks import rows
from tests.support.dynamodb.errors import client_error
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.table import item_of
from tests.support.dynamodb.items import decode_item
from tests.support.dynamodb.tables import create_tables

from .begun import Begun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .calls import Identity

Item = dict[str, Any]
Write = tuple[str, Item | None, Item | None]
"""The name of a table, and one of its items before and after a write."""


class EngineStore:
    """Tables on the engine, which reports every write."""

    def __init__(self, now: Callable[[], float], shards: int) -> None:
        self.engine = Engine(shards=shards, clock=now)
        create_tables(self.engine)
        self.engine.written.append(lambda *write: self._writes.append(write))
        self.stream: Sequence[Sequence[dict[str, Any]]] = self.engine.stream("Scores")
        self._writes: list[Write] = []

    def do(self, operation: str, request: Mapping[str, Any], busy: Mapping[Identity, str]) -> Any:
        """Execute a request; return its answer or its error. A write to a busy item meets a conflict."""
        self.engine.busy = busy
        try:
            return getattr(self.engine, operation)(**request)
        except ClientError as error:
            return error
        finally:
            self.engine.busy = {}

    def begin(self, request: Mapping[str, Any], identities: Sequence[Identity]) -> Begun:
        """Return a transaction whose items can be written one by one."""
        return Begun(self, request, identities)

    def writes(self) -> list[Write]:
        """Return the writes since the last call."""
        done, self._writes = self._writes, []
        return done

    def tell(self, writes: Iterable[Write]) -> None:
        """Return writes again at the next call of `writes`."""
        self._writes += writes

    def leave_undone(self, is_left: Callable[[], bool] | None) -> None:
        """Return the parts of a batch as unprocessed for which `is_left` says so; with None, process all parts."""
        self.engine.unprocessed = [] if is_left is None else [lambda *_: is_left()]

    def expire(self, table: str, goes: Callable[[], bool]) -> int:
        return self.engine.expire(table, goes=goes)

    def items(self, table: str) -> list[Item]:
        return [stored.item for stored in self.engine._tables[table].rows.values()]

    def item(self, table: str, **key: str) -> Item | None:
        """Return an item as it is, or as it will be when the transaction that holds it is done."""
        identity = table, tuple(key.values())
        if identity in self.engine.unfinished:
            return item_of(self.engine.unfinished[identity])
        return item_of(self.engine._tables[table].rows.get(identity[1]))


class ClientStore:
    """Tables behind a client. Each written item is read before and after the write."""

    def __init__(self, client: Any, stream: Sequence[Sequence[dict[str, Any]]], now: Callable[[], float]) -> None:
        self.client = client
        self.stream = stream
        self._now = now
        self._writes: list[Write] = []
        self._changes = 0
        self._is_left: Callable[[], bool] | None = None

    def do(self, operation: str, request: Mapping[str, Any], busy: Mapping[Identity, str]) -> Any:
        if operation == "transact_write_items":
            return self._transact(request, busy)
        if operation == "batch_get_item" and self._is_left is not None:
            return self._get_some(request)
        if operation == "batch_write_item":
            self.client.batch_write_item(**request)
            return {}
        written = operation in ("put_item", "update_item", "delete_item")
        if written and busy:
            return client_error("PutItem", "TransactionConflictException", "busy")
        keys = [_key_of(request)] if written else []
        return self._watched(keys, operation, request)

    def begin(self, *_: Any) -> None:
        """Do nothing: another DynamoDB writes a transaction as it likes."""

    def _transact(self, request: Mapping[str, Any], busy: Mapping[Identity, str]) -> Any:
        actions = [next(iter(entry.values())) for entry in request["TransactItems"]]
        keys = [_key_of(action) for action in actions]
        if busy:
            codes = [busy.get((table, tuple(value["S"] for value in key.values())), "None") for table, key in keys]
            reasons = [{"Code": code} for code in codes]
            return client_error(
                "TransactWriteItems", "TransactionCanceledException", "busy", CancellationReasons=reasons
            )
        return self._watched(keys, "transact_write_items", request)

    def _watched(self, keys: list[tuple[str, dict[str, Any]]], operation: str, request: Mapping[str, Any]) -> Any:
        before = self._all(keys)
        try:
            answer = getattr(self.client, operation)(**request)
        except ClientError as error:
            return error
        for (table, _), old, new in zip(keys, before, self._all(keys), strict=True):
            if old != new:
                self._writes.append((table, old, new))
                self._changes += table == "Scores"
        # The stream of DynamoDB Local lags behind, but a schedule reads it at the same virtual instant.
        while sum(map(len, self.stream)) < self._changes:
            time.sleep(0.001)
        return answer

    def _all(self, keys: list[tuple[str, dict[str, Any]]]) -> list[Item | None]:
        requests: dict[str, Any] = {}
        for table, key in keys:
            requests.setdefault(table, {"Keys": [], "ConsistentRead": True})["Keys"].append(key)
        responses = self.client.batch_get_item(RequestItems=requests)["Responses"] if requests else {}
        items = {(table, _key_values(row)): decode_item(row) for table, answers in responses.items() for row in answers}
        return [items.get((table, _key_values(key))) for table, key in keys]

    def _get_some(self, request: Mapping[str, Any]) -> Any:
        ((table, part),) = request["RequestItems"].items()
        is_left = self._is_left
        left = [key for key in part["Keys"] if is_left is not None and is_left()]
        processed = [key for key in part["Keys"] if key not in left]
        if not processed:
            return client_error("BatchGetItem", "ProvisionedThroughputExceededException", "none of them")
        answer = self.client.batch_get_item(RequestItems={table: {**part, "Keys": processed}})
        return {**answer, "UnprocessedKeys": {table: {**part, "Keys": left}} if left else {}}

    def writes(self) -> list[Write]:
        done, self._writes = self._writes, []
        return done

    def leave_undone(self, is_left: Callable[[], bool] | None) -> None:
        self._is_left = is_left

    def expire(self, table: str, goes: Callable[[], bool]) -> int:
        now = self._now()
        expired = [row for row in rows(self.client, table) if "e" in row and float(row["e"]["N"]) < now and goes()]
        for row in expired:
            key: Item = {name: row[name] for name in ("pk", "sk") if name in row}
            self._watched([(table, key)], "delete_item", {"TableName": table, "Key": key})
        return len(expired)

    def items(self, table: str) -> list[Item]:
        return [decode_item(row) for row in rows(self.client, table)]

    def item(self, table: str, **key: str) -> Item | None:
        encoded = {name: {"S": value} for name, value in key.items()}
        row = self.client.get_item(TableName=table, Key=encoded, ConsistentRead=True).get("Item")
        return None if row is None else decode_item(row)


Store = EngineStore | ClientStore


def _key_values(key: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(key[name]["S"] for name in ("pk", "sk") if name in key)


def _key_of(request: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the table and the key of a write."""
    table = request["TableName"]
    key = request.get("Key") or {name: request["Item"][name] for name in ("pk", "sk") if name in request["Item"]}
    return table, key
