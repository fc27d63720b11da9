"""A DynamoDB in the test process, used in place of a boto3 client.

``Engine`` has the methods of ``boto3.client("dynamodb")`` that the project uses, with the same
arguments, answers and errors. It guarantees only what DynamoDB guarantees: for example, it answers a
batch in another order than the request.

Where DynamoDB Local and the documentation of AWS disagree, the engine follows the documentation. For
example, an update whose operand does not fit its item cancels a transaction with the reason ValidationError.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html

DynamoDB decides a transaction at one moment, but shows its items one by one to everyone who does not read them with
TransactGetItems. Until all are written, no other request may write any of them. ``transact_write_items`` writes all
items at once. ``begin`` decides a transaction and lets a test write its items one by one.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
"""

import functools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

from botocore.exceptions import ParamValidationError

from tests.support.dynamodb.errors import CONDITION_FAILED, ConditionFailed, Invalid, InvalidForItem, Refusal, cancelled
from tests.support.dynamodb.expressions import read_expressions
from tests.support.dynamodb.items import Wire, decode_item, encode_item, read_units
from tests.support.dynamodb.request_checks import check
from tests.support.dynamodb.table import Key, Shard, Stored, Table, Write, Written, read_page, read_schema, read_write

Answer = dict[str, Any]
REGION: Final = "us-east-1"
CONFLICT: Final = "TransactionConflict"
HELD: Final = "Another request holds the item"
TOKEN_SECONDS: Final = 600
_META: Final = ("ReturnConsumedCapacity", "ReturnItemCollectionMetrics")
_COUNTED: Final = ("TransactGetItems", "BatchGetItem", "Query")
_PAGED: Final = (
    "ScanIndexForward",
    "IndexName",
    "Select",
    "Limit",
    "ConsistentRead",
    "ExclusiveStartKey",
    "ExpressionAttributeValues",
)
_CONDITION: Final = (
    "ConditionExpression",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
    "ReturnValues",
    "ReturnValuesOnConditionCheckFailure",
)
_ACTIONS: Final = frozenset({"Put", "Update", "Delete", "ConditionCheck"})
_TRANSACTION: Final = ("TransactWriteItems", ("TransactItems",), ("ClientRequestToken",))
_MOST_ACTIONS: Final = 100
_MOST_KEYS: Final = 100
_MOST_BATCHED: Final = 25
_BATCH_BYTES: Final = 16 * 1024 * 1024
_TRANSACTION_BYTES: Final = 4 * 1024 * 1024
_LONGEST_TOKEN: Final = 36


def _operation(
    name: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Callable[[Callable[[Any, dict[str, Any]], Answer]], Callable[..., Answer]]:
    """Turn a function of the request's arguments into a method of the client.

    The method rejects arguments that the engine does not know.
    """
    needed, known = frozenset(required), frozenset((*required, *optional, *_META))

    def wrap(function: Callable[[Any, dict[str, Any]], Answer]) -> Callable[..., Answer]:
        @functools.wraps(function)
        def call(self: "Engine", **request: Any) -> Answer:
            if not needed <= request.keys() <= known:
                report = f"Missing or unknown parameters in input (or engine): {sorted(needed ^ request.keys())}"
                raise ParamValidationError(report=report)
            check(name, request)
            if _asks_for_units(request) and name not in _COUNTED:
                raise NotImplementedError(f"the engine counts no units of {name}: use benchmarks.harness.meter")
            for hook in self.before:
                hook(name, request)
            with self._lock:
                try:
                    answer = function(self, request)
                except Refusal as refusal:
                    raise refusal.as_client_error(name) from None
            for hook in self.after:
                hook(name, request)
            answer["ResponseMetadata"] = {"RequestId": "engine", "HTTPStatusCode": 200}
            return answer

        return call

    return wrap


def _asks_for_units(request: Mapping[str, Any]) -> bool:
    return bool(request.get("ReturnConsumedCapacity", "NONE") != "NONE")


def _units(request: Mapping[str, Any], by_table: Mapping[str, float]) -> Answer:
    """Return the part of an answer that names the units of each table, if the request asks for it."""
    if not _asks_for_units(request):
        return {}
    return {"ConsumedCapacity": [{"TableName": name, "CapacityUnits": units} for name, units in by_table.items()]}


class Transaction:
    """A transaction that is decided. It holds its items until `finish`."""

    def __init__(self, engine: "Engine", decided: list[tuple[Write, Stored | None]], token: str | None) -> None:
        self._engine = engine
        self._decided = decided
        self._token = token
        self._left = [place for place, (write, _) in enumerate(decided) if write.kind != "ConditionCheck"]

    @property
    def left(self) -> list[int]:
        """The places of the actions whose items are not written yet."""
        return list(self._left)

    def write(self, place: int) -> None:
        with self._engine._lock:
            self._left.remove(place)
            write, new = self._decided[place]
            write.table.write(write.key, new)

    def finish(self) -> None:
        """Write the items that are left, and free all of them."""
        with self._engine._lock:
            for place in self.left:
                self.write(place)
            self._engine._finished([write for write, _ in self._decided], self._token)


class Engine:
    """The tables of one account, and hooks. It starts without tables. Threads may share it.

    ``before`` and ``after`` hooks get the name of an operation (``TransactWriteItems``) and its arguments. The caller
    gets any exception they raise. If a ``before`` hook raises, the operation is not executed. If an ``after`` hook
    raises, the operation was executed and only its answer is lost. A failed operation has no ``after`` call.

    ``unprocessed`` hooks get the name of the operation, the table, and one key or write of a batch. If one returns
    true, that part is not executed and the answer lists it as unprocessed.

    ``written`` hooks get the table, the old item and the new item of every write.

    ``busy`` maps items, by table and key, to an error: ``TransactionConflict`` or a throttle. A write to such an item
    fails with that error, as if another request held the item.

    ``unfinished`` has the items of all transactions that are decided but not written to the end, as they will be.
    """

    def __init__(self, *, shards: int = 1, clock: Callable[[], float] = time.time) -> None:
        self.before: list[Callable[[str, dict[str, Any]], None]] = []
        self.after: list[Callable[[str, dict[str, Any]], None]] = []
        self.unprocessed: list[Callable[[str, str, Mapping[str, Any]], bool]] = []
        self.written: list[Written] = []
        self.busy: Mapping[tuple[str, Key], str] = {}
        self.unfinished: dict[tuple[str, Key], Stored | None] = {}
        self.clock = clock
        self._tables: dict[str, Table] = {}
        self._shards = shards
        self._lock = threading.RLock()
        self._tokens: dict[str, tuple[str, float]] = {}
        self._in_progress: set[str] = set()

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            raise Refusal("ResourceNotFoundException", "Cannot do operations on a non-existent table")
        return self._tables[name]

    def table(self, name: str) -> Table:
        """Return a table, to look at without a request. Only the engine changes it."""
        return self._table(name)

    def _held(self, identity: tuple[str, Key]) -> str | None:
        """Return why an item cannot be written now, or None if it can be."""
        return CONFLICT if identity in self.unfinished else self.busy.get(identity)

    def _is_unprocessed(self, operation_name: str, table: str, part: Mapping[str, Any]) -> bool:
        return any(hook(operation_name, table, part) for hook in self.unprocessed)

    # Tables

    @_operation(
        "CreateTable",
        ("TableName", "KeySchema", "AttributeDefinitions"),
        ("BillingMode", "GlobalSecondaryIndexes", "StreamSpecification"),
    )
    def create_table(self, request: dict[str, Any]) -> Answer:
        name = request["TableName"]
        if name in self._tables:
            raise Refusal("ResourceInUseException", "Cannot create preexisting table")
        schema = read_schema(request)
        arn = f"arn:aws:dynamodb:{REGION}:000000000000:table/{name}"
        table = Table(schema, {**request, "TableArn": arn}, self.clock, self.written)
        if schema.streams:
            stream = f"{arn}/stream/2026-01-01T00:00:00.000"
            table.shards = [Shard(schema, stream, REGION, place) for place in range(self._shards)]
        self._tables[name] = table
        return {"TableDescription": table.description}

    @_operation("DescribeTable", ("TableName",))
    def describe_table(self, request: dict[str, Any]) -> Answer:
        return {"Table": self._table(request["TableName"]).description}

    @_operation("UpdateTimeToLive", ("TableName", "TimeToLiveSpecification"))
    def update_time_to_live(self, request: dict[str, Any]) -> Answer:
        table = self._table(request["TableName"])
        specification = request["TimeToLiveSpecification"]
        table.expiry = specification["AttributeName"] if specification["Enabled"] else None
        return {"TimeToLiveSpecification": specification}

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
                stored.write(stored.schema.key.of(item), Stored(item))

    def stream(self, table: str) -> Sequence[Shard]:
        """Return the shards of a table's stream. They grow as the table changes."""
        with self._lock:
            return self._table(table).shards

    # Reads

    def _get(self, table: Table, request: Mapping[str, Any]) -> tuple[Answer, Stored | None]:
        read_expressions(request)
        key = table.schema.key.of(table.schema.key.read_key(request["Key"]))
        stored = table.rows.get(key)
        return ({} if stored is None else {"Item": encode_item(stored.item)}), stored

    @_operation("GetItem", ("TableName", "Key"), ("ConsistentRead",))
    def get_item(self, request: dict[str, Any]) -> Answer:
        return self._get(self._table(request["TableName"]), request)[0]

    @_operation("TransactGetItems", ("TransactItems",))
    def transact_get_items(self, request: dict[str, Any]) -> Answer:
        gets = [entry["Get"] for entry in request["TransactItems"]]
        if not 1 <= len(gets) <= _MOST_KEYS:
            raise Invalid("Member must have length less than or equal to 100")
        seen: dict[tuple[str, Key], None] = {}
        answers = []
        units: Counter[str] = Counter()
        for get in gets:
            table = self._table(get["TableName"])
            key = table.schema.key.of(table.schema.key.read_key(get["Key"]))
            if (get["TableName"], key) in seen:
                raise Invalid("Transaction request cannot include multiple operations on one item")
            seen[get["TableName"], key] = None
            answer, stored = self._get(table, get)
            answers.append(answer)
            units[get["TableName"]] += 2 * int(read_units(stored.size if stored else 0, consistent=True))
        if not self.unfinished.keys().isdisjoint(seen):
            conflict = {"Code": CONFLICT, "Message": HELD}
            raise cancelled([conflict if identity in self.unfinished else {"Code": "None"} for identity in seen])
        return {"Responses": answers, **_units(request, units)}

    @_operation("BatchGetItem", ("RequestItems",))
    def batch_get_item(self, request: dict[str, Any]) -> Answer:
        requested = request["RequestItems"]
        if not requested:
            raise Invalid("BatchGetItem must have some requests set")
        if sum(len(part["Keys"]) for part in requested.values()) > _MOST_KEYS:
            raise Invalid("Too many items requested for the BatchGetItem call")
        responses: dict[str, list[dict[str, Any]]] = {}
        left: dict[str, dict[str, Any]] = {}
        room = _BATCH_BYTES
        units: dict[str, float] = {}
        for name, part in requested.items():
            table = self._table(name)
            keys = table.schema.key
            if not part["Keys"]:
                raise Invalid(f"The list of keys of {name} in RequestItems must not be empty")
            read_expressions(part)
            responses[name] = items = []
            wire_keys = {keys.of(keys.read_key(key)): key for key in part["Keys"]}
            if len(wire_keys) != len(part["Keys"]):
                raise Invalid("Provided list of item keys contains duplicates")
            for key, wire in reversed(wire_keys.items()):  # DynamoDB promises no order
                stored = table.rows.get(key)
                if room <= 0 or self._is_unprocessed("BatchGetItem", name, wire):
                    left.setdefault(name, {**part, "Keys": []})["Keys"].append(dict(wire))
                    continue
                size = 0 if stored is None else stored.size
                units[name] = units.get(name, 0.0) + read_units(size, consistent=part.get("ConsistentRead", False))
                if stored is not None:
                    items.append(encode_item(stored.item))
                    room -= stored.size
        if sum(len(part["Keys"]) for part in left.values()) == sum(len(part["Keys"]) for part in requested.values()):
            raise Refusal("ProvisionedThroughputExceededException", "The throughput of the table was exceeded")
        return {"Responses": responses, "UnprocessedKeys": left, **_units(request, units)}

    @_operation("Query", ("TableName",), ("KeyConditionExpression", *_PAGED))
    def query(self, request: dict[str, Any]) -> Answer:
        expressions = read_expressions(request, "KeyConditionExpression")
        return read_page(request, self._table(request["TableName"]), expressions)

    @_operation("Scan", ("TableName",))
    def scan(self, request: dict[str, Any]) -> Answer:
        """Return all items of a table, for tests: the product scans no table. There is one page, however large."""
        return {"Items": [encode_item(stored.item) for stored in self._table(request["TableName"]).rows.values()]}

    # Single writes and batches

    def _single(self, kind: str, request: dict[str, Any], allowed: frozenset[str]) -> Answer:
        return_values = request.get("ReturnValues", "NONE")
        if return_values not in allowed:
            raise Invalid("Return values set to invalid value")
        write = read_write(kind, self._table(request["TableName"]), request)
        held = self._held(write.identity)
        if held is not None:
            raise Refusal(f"{held}Exception", HELD)
        old, new = write.table.rows.get(write.key), write.outcome()
        write.table.write(write.key, new)
        shown = {"NONE": None, "ALL_OLD": old, "ALL_NEW": new}[return_values]
        return {"Attributes": encode_item(shown.item)} if shown else {}

    @_operation("PutItem", ("TableName", "Item"), _CONDITION)
    def put_item(self, request: dict[str, Any]) -> Answer:
        return self._single("Put", request, frozenset({"NONE", "ALL_OLD"}))

    @_operation("DeleteItem", ("TableName", "Key"), _CONDITION)
    def delete_item(self, request: dict[str, Any]) -> Answer:
        return self._single("Delete", request, frozenset({"NONE", "ALL_OLD"}))

    @_operation("UpdateItem", ("TableName", "Key"), ("UpdateExpression", *_CONDITION))
    def update_item(self, request: dict[str, Any]) -> Answer:
        return self._single("Update", request, frozenset({"NONE", "ALL_OLD", "ALL_NEW"}))

    @_operation("BatchWriteItem", ("RequestItems",))
    def batch_write_item(self, request: dict[str, Any]) -> Answer:
        writes: list[tuple[Write, str, dict[str, Any]]] = []
        for name, entries in request["RequestItems"].items():
            table = self._table(name)
            for entry in entries:
                ((kind, action),) = entry.items()
                kinds = {"PutRequest": "Put", "DeleteRequest": "Delete"}
                writes.append((read_write(kinds[kind], table, action), name, entry))
        if not 1 <= len(writes) <= _MOST_BATCHED:
            raise Invalid("Too many items requested for the BatchWriteItem call")
        if len({write.identity for write, _, _ in writes}) != len(writes):
            raise Invalid("Provided list of item keys contains duplicates")
        left: dict[str, list[dict[str, Any]]] = {}
        for write, name, entry in writes:
            if self._held(write.identity) is not None or self._is_unprocessed("BatchWriteItem", name, entry):
                left.setdefault(name, []).append(entry)
            else:
                write.table.write(write.key, write.outcome())
        return {"UnprocessedItems": left}

    # Transactions

    @_operation(*_TRANSACTION)
    def transact_write_items(self, request: dict[str, Any]) -> Answer:
        self._decide(request).finish()
        return {}

    def begin(self, **request: Any) -> Transaction:
        """Decide a transaction as TransactWriteItems does, but write none of its items yet."""
        return cast("Transaction", self._begin(**request)["Transaction"])

    @_operation(*_TRANSACTION)
    def _begin(self, request: dict[str, Any]) -> Answer:
        return {"Transaction": self._decide(request)}

    def _decide(self, request: dict[str, Any]) -> Transaction:
        token = request.get("ClientRequestToken")
        if len(token or "") > _LONGEST_TOKEN:
            raise Invalid("clientRequestToken: Member must have length less than or equal to 36")
        digest = "" if token is None else json.dumps(request["TransactItems"], sort_keys=True, default=repr)
        if token is not None and self._is_done(token, digest):
            return Transaction(self, [], None)
        writes = self._read_actions(request["TransactItems"])
        outcomes = self._outcomes(writes)
        self.unfinished.update({write.identity: new for write, new in zip(writes, outcomes, strict=True)})
        if token is not None:
            self._tokens[token] = digest, self.clock() + TOKEN_SECONDS
            self._in_progress.add(token)
        return Transaction(self, list(zip(writes, outcomes, strict=True)), token)

    def _is_done(self, token: str, digest: str) -> bool:
        """Whether a transaction with this token was done before. Raise if it is in progress or was another one."""
        known, until = self._tokens.get(token, ("", 0.0))
        if token not in self._in_progress and self.clock() >= until:
            return False
        if known != digest:
            raise Refusal("IdempotentParameterMismatchException", "")
        if token in self._in_progress:
            raise Refusal("TransactionInProgressException", "The transaction with this token is in progress")
        return True

    def _finished(self, writes: list[Write], token: str | None) -> None:
        for write in writes:
            self.unfinished.pop(write.identity, None)
        if token is not None:
            self._in_progress.discard(token)

    def _read_actions(self, actions: list[Mapping[str, Any]]) -> list[Write]:
        if not 1 <= len(actions) <= _MOST_ACTIONS:
            raise Invalid("Member must have length less than or equal to 100")
        writes = []
        for entry in actions:
            if len(entry) != 1 or not entry.keys() <= _ACTIONS:
                raise Invalid("TransactItems can only contain one of Check, Put, Update or Delete")
            ((kind, action),) = entry.items()
            if kind == "ConditionCheck" and "ConditionExpression" not in action:
                raise Invalid("conditionExpression: Member must not be null")
            writes.append(read_write(kind, self._table(action["TableName"]), action))
        if len({write.identity for write in writes}) != len(writes):
            raise Invalid("Transaction request cannot include multiple operations on one item")
        if sum(write.payload() for write in writes) > _TRANSACTION_BYTES:
            raise Invalid("Transaction payload size cannot exceed 4MB")
        return writes

    def _outcomes(self, writes: list[Write]) -> list[Stored | None]:
        outcomes: list[Stored | None] = []
        reasons: list[dict[str, Any]] = []
        for write in writes:
            reason: dict[str, Any] = {"Code": "None"}
            held = self._held(write.identity)
            try:
                if held is not None:
                    reason = {"Code": held, "Message": HELD}
                else:
                    outcomes.append(write.outcome())
            except ConditionFailed as refusal:
                reason = {**refusal.extra, "Code": "ConditionalCheckFailed", "Message": CONDITION_FAILED}
            except InvalidForItem as refusal:
                reason = {"Code": "ValidationError", "Message": refusal.message}
            reasons.append(reason)
        if len(outcomes) < len(writes):
            raise cancelled(reasons)
        return outcomes
