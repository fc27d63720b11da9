"""The server side of all calls, where transactions take time and conflict with each other.

A transaction holds its items from its arrival until its commit. Another write to one of these items meets a conflict.
Many transactions write their items one by one before the commit, so that plain reads see some of them changed and
others not. They go on if their sender dies.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from standings.wiring import building_blocks
from tests.faults.clockwork import SECOND

from .calls import (
    CONFLICT,
    FAILED,
    FAILED_AFTER,
    LOST,
    SLOW,
    THROTTLED,
    TRANSACT,
    Call,
    Identity,
    error_of,
    lost,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.faults.world.world import World

    from .begun import Begun

_WRITES: Final = frozenset({"put_item", "update_item", "delete_item"})
_READS: Final = frozenset({"get_item", "batch_get_item", "query"})
_KEYS: Final = {"Scores": ("pk", "sk")}
ONE_BY_ONE: Final = 0.5
"""The share of the transactions that write their items one by one."""


class Server:
    """Executes the calls of all processes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._clock = world.clock
        self._rng = world.rng
        self._instants = Random(f"{world.seed} one by one")  # its own, so that the other draws stay as they are
        self._locks: dict[Identity, Call] = {}
        self._begun: dict[Call, Begun] = {}
        self._tokens: dict[str, Call] = {}
        self._hot = ""
        self._hot_until = 0

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is left."""
        return not self._locks

    def throttle(self, span: int) -> None:
        """Throttle the ranking that is written next, for a span in microseconds, like one with a hot partition."""
        self._hot, self._hot_until = "", self._clock.now + span

    def arrive(self, call: Call) -> None:
        """Execute a call that has arrived. If its sender has died, the call may never have been sent."""
        if call.process.dead and self._rng.random() < 0.5:
            return
        if call.fault == THROTTLED:
            code = self._rng.choice(["ThrottlingException", "ProvisionedThroughputExceededException"])
            self._answer(call, error_of(call, code))
        elif call.fault == FAILED:
            self._answer(call, error_of(call, "InternalServerError"))
        elif call.operation == TRANSACT:
            self._begin(call)
        else:
            if call.operation in _READS:
                self._write_some(call)
            self._answer(call, self._do(call, self._busy(call)))

    def _busy(self, call: Call) -> dict[Identity, str]:
        if call.operation not in _WRITES or not self._locks:
            return {}
        identity = _identity(call.request)
        return {identity: "TransactionConflict"} if identity in self._locks else {}

    def _begin(self, call: Call) -> None:
        token = call.request.get("ClientRequestToken")
        if token in self._tokens:
            self._world.trap("transaction in progress")
            self._answer(call, error_of(call, "TransactionInProgressException"))
            return
        actions = [next(iter(entry.values())) for entry in call.request["TransactItems"]]
        identities = [_identity(action) for action in actions]
        busy = self._busy_items(call, identities)
        if busy:
            self._answer(call, self._do(call, busy))
            return
        if token is not None:
            self._tokens[token] = call
        for identity in identities:
            self._locks[identity] = call
        span = (500_000, 3_000_000) if call.fault == SLOW else (2_000, 25_000)
        now, end = self._clock.now, self._clock.now + self._rng.randint(*span)
        if self._instants.random() < ONE_BY_ONE:
            self._write_one_by_one(call, identities, now, end)
        self._clock.at(end, self._commit, call, identities)
        if call.fault == SLOW:
            self._clock.after(150_000, self._hear, call, lost())

    def _busy_items(self, call: Call, identities: list[Identity]) -> dict[Identity, str]:
        """Return the items of a transaction that cannot be written now, each with its cancellation code."""
        busy = {identity: "TransactionConflict" for identity in identities if identity in self._locks}
        if busy:
            self._world.fault("transaction conflict")
            self._world.watch.met(call, [self._locks[identity] for identity in busy])
        table, (key, *_) = identities[0]
        if self._clock.now < self._hot_until and table == "Rankings":
            ranking = "#".join(key.split("#")[:2]).partition("/")[0]
            self._hot = self._hot or ranking
            if ranking == self._hot:
                self._world.fault("a ranking is throttled")
                busy.update(dict.fromkeys(identities, "ThrottlingError"))
        if call.fault == CONFLICT:
            codes = ["TransactionConflict", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"]
            for identity in self._rng.sample(identities, self._rng.randint(1, min(3, len(identities)))):
                busy[identity] = self._rng.choice(codes)
        return busy

    def _write_one_by_one(self, call: Call, identities: list[Identity], now: int, end: int) -> None:
        """Let a transaction be decided some time before its end, and its items be written from then on."""
        begun = self._world.store.begin(call.request, identities)
        if begun is not None:
            self._begun[call] = begun
            instant = self._instants.randint(now, end - 1)
            self._clock.at(instant, begun.spread, self._instants, self._clock, end)

    def _write_some(self, call: Call) -> None:
        """Write some items of the transactions that hold what a plain read asks for, just before it reads."""
        for begun in self._begun.values():
            if may_read(call.request, begun.identities):
                begun.write_some(self._instants)
                if begun.is_halfway:
                    self._world.trap("half a transaction")

    def _commit(self, call: Call, identities: list[Identity]) -> None:
        answer = self._do(call, {}, self._begun.pop(call, None))
        for identity in identities:
            del self._locks[identity]
        self._tokens.pop(call.request.get("ClientRequestToken", ""), None)
        self._answer(call, answer)

    def _do(self, call: Call, busy: Mapping[Identity, str], begun: Begun | None = None) -> Any:
        """Execute a call; return its answer or its error."""
        answer = self._world.services.perform(call, busy, begun)
        code = answer.response["Error"]["Code"] if isinstance(answer, ClientError) else "done"
        self._world.note(call.process.name, call.operation, code, busy)
        if code == "TransactionCanceledException":
            self._record_traps(call, answer.response["CancellationReasons"])
        if call.fault == FAILED_AFTER and code == "done":
            return error_of(call, "InternalServerError")
        return answer

    def _record_traps(self, call: Call, reasons: list[dict[str, Any]]) -> None:
        """Record the traps that a cancelled transaction has met."""
        codes = {reason["Code"] for reason in reasons}
        if {"ConditionalCheckFailed", "TransactionConflict"} <= codes:
            self._world.trap("condition and conflict in one cancellation")
        if call.process.kind != "writer":
            return
        for entry, reason in zip(call.request["TransactItems"], reasons, strict=True):
            written_at_ms = int(reason.get("Item", {}).get("t", {"N": "0"})["N"])
            if "Update" in entry and written_at_ms > int(entry["Update"]["ExpressionAttributeValues"][":t"]["N"]):
                self._world.trap("clocks: decided again")

    def _answer(self, call: Call, answer: Any) -> None:
        delay = self._rng.randint(500, 5_000)
        if call.fault == LOST:
            # The connection closes at once, or the SDK waits for its read timeout.
            delay += int(building_blocks.READ_TIMEOUT_S * SECOND) if self._rng.random() < 0.1 else 0
            answer = lost()
        self._clock.after(delay, self._hear, call, answer)

    def _hear(self, call: Call, answer: Any) -> None:
        if not call.heard:
            call.heard = True
            self._clock.resume(call.task, answer)


def may_read(request: Mapping[str, Any], identities: frozenset[Identity]) -> bool:
    """Whether a plain read may return one of some items. A query may return any item of its table."""
    if "KeyConditionExpression" in request:
        return any(table == request["TableName"] for table, _ in identities)
    parts = request.get("RequestItems") or {request["TableName"]: {"Keys": [request["Key"]]}}
    asked = (_identity({"TableName": table, "Key": key}) for table, part in parts.items() for key in part["Keys"])
    return any(identity in identities for identity in asked)


def _identity(action: Mapping[str, Any]) -> Identity:
    table = action["TableName"]
    key = action.get("Key") or action["Item"]
    return table, tuple(key[name]["S"] for name in _KEYS.get(table, ("pk",)))
