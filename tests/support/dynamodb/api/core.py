"""The parts that all operations of the engine share: argument checks, hooks, the lock and errors."""

from __future__ import annotations

import functools
import threading
import time
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import ParamValidationError

from tests.support.dynamodb.api.errors import Exceptions, Refusal
from tests.support.dynamodb.api.request_checks import check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.support.dynamodb.storage.schema import Key
    from tests.support.dynamodb.storage.table import Stored, Table, Written

Answer = dict[str, Any]
CONFLICT: Final = "TransactionConflict"
HELD: Final = "Another request holds the item"
_META: Final = ("ReturnConsumedCapacity", "ReturnItemCollectionMetrics")
_COUNTED: Final = ("TransactGetItems", "BatchGetItem", "Query")


class Core:
    """The tables and the hooks of an engine.

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

    def __init__(
        self,
        *,
        shards: int = 1,
        clock: Callable[[], float] = time.time,
        region: str = "us-east-1",
        account: str = "000000000000",
    ) -> None:
        self.before: list[Callable[[str, dict[str, Any]], None]] = []
        self.after: list[Callable[[str, dict[str, Any]], None]] = []
        self.unprocessed: list[Callable[[str, str, Mapping[str, Any]], bool]] = []
        self.written: list[Written] = []
        self.busy: Mapping[tuple[str, Key], str] = {}
        self.unfinished: dict[tuple[str, Key], Stored | None] = {}
        self.exceptions = Exceptions()
        self.clock = clock
        self._tables: dict[str, Table] = {}
        self._shards = shards
        self._region = region
        self._account = account
        self._lock = threading.RLock()

    def close(self) -> None:
        """Do nothing: the engine has no connection."""

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            raise Refusal("ResourceNotFoundException", "Cannot do operations on a non-existent table")
        return self._tables[name]

    def _held(self, identity: tuple[str, Key]) -> str | None:
        """Return why an item cannot be written now, or None if it can be."""
        return CONFLICT if identity in self.unfinished else self.busy.get(identity)

    def _is_unprocessed(self, operation_name: str, table: str, part: Mapping[str, Any]) -> bool:
        return any(hook(operation_name, table, part) for hook in self.unprocessed)


class Operation(Protocol):
    def __call__(self, **request: Any) -> Answer: ...


def operation(
    name: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Callable[[Callable[[Any, dict[str, Any]], Answer]], Callable[..., Answer]]:
    """Turn a function of the request's arguments into a method of the client.

    The method rejects arguments that the engine does not know.
    """
    known = frozenset((*required, *optional, *_META))

    def wrap(function: Callable[[Any, dict[str, Any]], Answer]) -> Callable[..., Answer]:
        @functools.wraps(function)
        def call(self: Core, **request: Any) -> Answer:
            _check_parameters(request, required, known)
            check(name, request)
            if asks_for_units(request) and name not in _COUNTED:
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
            answer["ResponseMetadata"] = {
                "RequestId": "engine",
                "HTTPStatusCode": 200,
                "HTTPHeaders": {},
                "RetryAttempts": 0,
            }
            return answer

        return call

    return wrap


def asks_for_units(request: Mapping[str, Any]) -> bool:
    """Whether a request asks for the units that it consumes."""
    return bool(request.get("ReturnConsumedCapacity", "NONE") != "NONE")


def _check_parameters(request: Mapping[str, Any], required: tuple[str, ...], known: frozenset[str]) -> None:
    for parameter in required:
        if parameter not in request:
            raise ParamValidationError(report=f'Missing required parameter in input: "{parameter}"')
    if not known.issuperset(request):
        unknown = sorted(request.keys() - known)
        raise ParamValidationError(report=f"Unknown parameter in input (or engine): {unknown}")
