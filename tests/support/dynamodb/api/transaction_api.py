"""TransactWriteItems, at once or item by item.

DynamoDB decides a transaction at one moment, but shows its items one by one to everyone who does not read them with
TransactGetItems. Until all are written, no other request may write any of them.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from tests.support.dynamodb.api.core import HELD, Answer, Core, operation
from tests.support.dynamodb.api.errors import (
    CONDITION_FAILED,
    ConditionFailed,
    Invalid,
    InvalidForItem,
    Refusal,
    cancelled,
)
from tests.support.dynamodb.storage.writing import Write, read_write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.dynamodb.storage.table import Stored

_ACTIONS: Final = frozenset({"Put", "Update", "Delete", "ConditionCheck"})
_MAX_ACTIONS: Final = 100
_TRANSACTION_BYTES: Final = 4 * 1024 * 1024
_REQUEST: Final = ("TransactWriteItems", ("TransactItems",), ("ClientRequestToken",))
TOKEN_SECONDS: Final = 600
_LONGEST_TOKEN: Final = 36


def _digest(request: Mapping[str, Any]) -> str:
    return json.dumps(request["TransactItems"], sort_keys=True, default=repr)


class Transaction:
    """A transaction that is decided. It holds its items until `finish`."""

    def __init__(self, engine: TransactionApi, decided: list[tuple[Write, Stored | None]], token: str | None) -> None:
        self._engine = engine
        self._decided = decided
        self._token = token
        self._left = [place for place, (write, _) in enumerate(decided) if write.kind != "ConditionCheck"]

    @property
    def left(self) -> list[int]:
        """The places of the actions whose items are not written yet."""
        return list(self._left)

    def write(self, place: int) -> None:
        """Write the item of the action at a place."""
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


class TransactionApi(Core):
    """The operation that writes many items at once."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._tokens: dict[str, tuple[str, float]] = {}
        self._in_progress: set[str] = set()

    @operation(*_REQUEST)
    def transact_write_items(self, request: dict[str, Any]) -> Answer:
        self._decide(request).finish()
        return {}

    def begin(self, **request: Any) -> Transaction:
        """Decide a transaction as TransactWriteItems does, but write none of its items yet."""
        return cast("Transaction", self._begin(**request)["Transaction"])

    @operation(*_REQUEST)
    def _begin(self, request: dict[str, Any]) -> Answer:
        return {"Transaction": self._decide(request)}

    def _decide(self, request: dict[str, Any]) -> Transaction:
        token = request.get("ClientRequestToken")
        if len(token or "") > _LONGEST_TOKEN:
            raise Invalid("clientRequestToken: Member must have length less than or equal to 36")
        if token is not None and self._is_done(token, _digest(request)):
            return Transaction(self, [], None)
        writes = self._read_actions(request["TransactItems"])
        outcomes = self._outcomes(writes)
        self.unfinished.update({write.identity: new for write, new in zip(writes, outcomes, strict=True)})
        if token is not None:
            self._tokens[token] = _digest(request), self.clock() + TOKEN_SECONDS
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
            raise Refusal(
                "TransactionInProgressException", "The transaction with the given request token is in progress"
            )
        return True

    def _finished(self, writes: list[Write], token: str | None) -> None:
        for write in writes:
            self.unfinished.pop(write.identity, None)
        if token is not None:
            self._in_progress.discard(token)

    def _read_actions(self, actions: list[Mapping[str, Any]]) -> list[Write]:
        if not 1 <= len(actions) <= _MAX_ACTIONS:
            raise Invalid("Member must have length less than or equal to 100")
        writes = []
        for entry in actions:
            if len(entry) != 1 or not _ACTIONS.issuperset(entry):
                raise Invalid("TransactItems can only contain one of Check, Put, Update or Delete")
            ((kind, action),) = entry.items()
            if kind == "ConditionCheck" and "ConditionExpression" not in action:
                raise Invalid("conditionExpression: Member must not be null")
            writes.append(read_write(kind, self._table(action["TableName"]), action))
        if len({write.identity for write in writes}) != len(writes):
            raise Invalid("Transaction request cannot include multiple operations on one item")
        if sum(write.payload for write in writes) > _TRANSACTION_BYTES:
            payload = sum(write.exact_payload() for write in writes)
            if payload > _TRANSACTION_BYTES:
                raise Invalid(f"Transaction payload size cannot exceed 4MB. Payload Size: {payload}")
        return writes

    def _outcomes(self, writes: list[Write]) -> list[Stored | None]:
        outcomes: list[Stored | None] = []
        reasons: list[dict[str, Any]] = []
        failed = False
        for write in writes:
            reason: dict[str, Any] = {"Code": "None"}
            held = self._held(write.identity)
            try:
                if held is not None:
                    failed = True
                    reason = {"Code": held, "Message": HELD}
                else:
                    outcomes.append(write.outcome())
            except ConditionFailed as refusal:
                failed = True
                reason = {
                    **refusal.extra,
                    "Code": "ConditionalCheckFailed",
                    "Message": CONDITION_FAILED,
                }
            except InvalidForItem as refusal:
                failed = True
                reason = {"Code": "ValidationError", "Message": refusal.message}
            reasons.append(reason)
        if failed:
            raise cancelled(reasons)
        return outcomes
