"""The services of AWS on one side, the SDK on the other, and what can go wrong between them.

`Server` does what is asked in its own time: a transaction has its items for as long as it takes, and whoever else
writes one of them meets a conflict. `Sdk` is a client as botocore's standard mode is one: it tries three times where
the documentation says so, with the same token for a transaction, and without one for anything else.
https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError
from greenlet import getcurrent  # type: ignore[import-untyped]  # it comes without types

from standings.runtime import wiring
from tests.engine.errors import client_error

from .clockwork import SECOND, Died

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .clockwork import Process, Task
    from .world import World

Request = dict[str, Any]
Identity = tuple[str, tuple[str, ...]]

MOST_TRIES: Final = wiring.ATTEMPTS
TRANSACT: Final = "transact_write_items"
_NAMES: Final = {
    "transact_write_items": "TransactWriteItems",
    "put_item": "PutItem",
    "update_item": "UpdateItem",
    "delete_item": "DeleteItem",
    "get_item": "GetItem",
    "batch_get_item": "BatchGetItem",
    "query": "Query",
    "scan": "Scan",
    "transact_get_items": "TransactGetItems",
    "batch_write_item": "BatchWriteItem",
    "send_message_batch": "SendMessageBatch",
    "put_object": "PutObject",
    "list_objects_v2": "ListObjectsV2",
    "get_object": "GetObject",
    "delete_object": "DeleteObject",
}
_WRITES: Final = frozenset({"put_item", "update_item", "delete_item"})
_KEYS: Final = {"Scores": ("pk", "sk")}
# What botocore's standard mode tries again by itself: https://github.com/boto/botocore, retries/standard.py
_RETRIED: Final = frozenset(
    {
        "InternalServerError",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)

# What can go wrong.
CRASH_BEFORE: Final = "crash before"
CRASH_AFTER: Final = "crash after"
LOST: Final = "lost answer"
UNSENT: Final = "never arrived"
FAILED: Final = "internal error"
FAILED_AFTER: Final = "internal error, done all the same"
THROTTLED: Final = "throttled"
CONFLICT: Final = "conflict or throttle of actions"
SLOW: Final = "slow, and given up by the SDK"
UNPROCESSED: Final = "unprocessed"
STALLED: Final = "never comes back"

Fault = tuple[str, int, float]
"""A fault, in how many tries on end, and its weight among the others."""

_ANY: Final[list[Fault]] = [
    (CRASH_BEFORE, 1, 3),
    (CRASH_AFTER, 1, 3),
    (STALLED, 1, 0.7),
    (UNSENT, 1, 1),
    (THROTTLED, 1, 1),
    (THROTTLED, 3, 2),
    (FAILED, 1, 1),
    (FAILED, 3, 1),
]
FAULTS: Final[Mapping[str, list[Fault]]] = {
    TRANSACT: [
        *_ANY,
        (LOST, 1, 6),
        (LOST, 3, 3),
        (FAILED_AFTER, 1, 2),
        (FAILED_AFTER, 3, 2),
        (CONFLICT, 1, 8),
        (SLOW, 1, 3),
        (SLOW, 2, 1),
    ],
    "put_item": [*_ANY, (LOST, 1, 6), (LOST, 3, 3), (FAILED_AFTER, 1, 2)],
    "batch_get_item": [*_ANY, (UNPROCESSED, 1, 6)],
    "send_message_batch": [*_ANY, (LOST, 1, 3), (LOST, 3, 3), (UNPROCESSED, 1, 6)],
}
_OTHERS: Final = [*_ANY, (LOST, 1, 1)]


@dataclass(eq=False)
class Call:
    """One try of one call, on its way."""

    task: Task
    operation: str
    request: Request
    fault: str | None
    reading: int
    """What the caller's wall clock said last before it, in milliseconds."""
    heard: bool = False

    @property
    def process(self) -> Process:
        return self.task.process


class Server:
    """DynamoDB as everybody's calls meet in it, and the other services."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._clock = world.clock
        self._rng = world.rng
        self._taken: dict[Identity, Call] = {}
        self._tokens: dict[str, Call] = {}
        self._hot = ""
        self._hot_until = 0

    def throttle(self, span: int) -> None:
        """The next ranking that is written gets no further for a while, as one does whose partition is too busy."""
        self._hot, self._hot_until = "", self._clock.now + span

    def arrive(self, call: Call) -> None:
        """A request is here. One whose sender has died meanwhile may have been on the way, or not."""
        if call.process.dead and self._rng.random() < 0.5:
            return
        if call.fault == THROTTLED:
            code = self._rng.choice(["ThrottlingException", "ProvisionedThroughputExceededException"])
            self._answer(call, _error(call, code))
        elif call.fault == FAILED:
            self._answer(call, _error(call, "InternalServerError"))
        elif call.operation == TRANSACT:
            self._begin(call)
        else:
            self._answer(call, self._do(call, self._busy(call)))

    def _busy(self, call: Call) -> dict[Identity, str]:
        if call.operation not in _WRITES or not self._taken:
            return {}
        identity = _identity(call.request)
        return {identity: "TransactionConflict"} if identity in self._taken else {}

    def _begin(self, call: Call) -> None:
        token = call.request.get("ClientRequestToken")
        if token in self._tokens:
            self._world.trap("transaction in progress")
            self._answer(call, _error(call, "TransactionInProgressException"))
            return
        actions = [next(iter(entry.values())) for entry in call.request["TransactItems"]]
        identities = [_identity(action) for action in actions]
        busy = self._in_the_way(call, identities)
        if busy:
            self._answer(call, self._do(call, busy))
            return
        if token is not None:
            self._tokens[token] = call
        for identity in identities:
            self._taken[identity] = call
        span = (500_000, 3_000_000) if call.fault == SLOW else (2_000, 25_000)
        self._clock.after(self._rng.randint(*span), self._commit, call, identities)
        if call.fault == SLOW:
            self._clock.after(150_000, self._hear, call, _lost())

    def _in_the_way(self, call: Call, identities: list[Identity]) -> dict[Identity, str]:
        """Which items of a transaction others have, or cannot be written just now."""
        busy = {identity: "TransactionConflict" for identity in identities if identity in self._taken}
        if busy:
            self._world.fault("transaction conflict")
            self._world.met(call, [self._taken[identity] for identity in busy])
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

    def _commit(self, call: Call, identities: list[Identity]) -> None:
        answer = self._do(call, {})
        for identity in identities:
            del self._taken[identity]
        self._tokens.pop(call.request.get("ClientRequestToken", ""), None)
        self._answer(call, answer)

    def _do(self, call: Call, busy: Mapping[Identity, str]) -> Any:
        """Do what is asked: the answer, or the error."""
        answer = self._world.perform(call, busy)
        code = answer.response["Error"]["Code"] if isinstance(answer, ClientError) else "done"
        self._world.note(call.process.name, call.operation, code, busy)
        if code == "TransactionCanceledException":
            self._look(call, answer.response["CancellationReasons"])
        if call.fault == FAILED_AFTER and code == "done":
            return _error(call, "InternalServerError")
        return answer

    def _look(self, call: Call, reasons: list[dict[str, Any]]) -> None:
        """See which traps a cancellation is."""
        codes = {reason["Code"] for reason in reasons}
        if {"ConditionalCheckFailed", "TransactionConflict"} <= codes:
            self._world.trap("condition and conflict in one cancellation")
        if call.process.kind != "writer":
            return
        for entry, reason in zip(call.request["TransactItems"], reasons, strict=True):
            stamp = int(reason.get("Item", {}).get("t", {"N": "0"})["N"])
            if "Update" in entry and stamp > int(entry["Update"]["ExpressionAttributeValues"][":t"]["N"]):
                self._world.trap("clocks: decided again")

    def _answer(self, call: Call, answer: Any) -> None:
        delay = self._rng.randint(500, 5_000)
        if call.fault == LOST:
            # The connection is closed at once, or nothing is heard until the SDK has waited long enough.
            delay += int(wiring.READ_TIMEOUT_S * SECOND) if self._rng.random() < 0.1 else 0
            answer = _lost()
        self._clock.after(delay, self._hear, call, answer)

    def _hear(self, call: Call, answer: Any) -> None:
        if not call.heard:
            call.heard = True
            self._clock.resume(call.task, answer)


class Sdk:
    """A client of one service, shared by everybody: whose call it is says the process whose turn it is."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._clock = world.clock
        self._rng = world.rng

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        if operation not in _NAMES:
            raise AttributeError(operation)
        call = partial(self._call, operation)
        self.__dict__[operation] = call
        return call

    def _call(self, operation: str, /, **request: Any) -> Any:
        world = self._world
        process = self._clock.process()
        if process is None:
            return world.directly(operation, request)
        if process.dead:
            raise Died
        world.calls += 1
        fault, tries = self._draw(process, operation)
        if fault in (CRASH_BEFORE, STALLED):
            self._end(process, fault)
        if operation == TRANSACT and fault is not None:
            request = {"ClientRequestToken": f"{self._rng.getrandbits(64):016x}", **request}
        reading = process.reading
        for number in range(1, MOST_TRIES + 1):
            answer = self._try(Call(getcurrent(), operation, request, fault if number <= tries else None, reading))
            if fault == CRASH_AFTER:
                self._clock.die(process)
            if not isinstance(answer, Exception):
                break
            if number == MOST_TRIES or not _is_retried(answer):
                raise answer
            self._clock.sleep(self._rng.randint(0, 50_000 << number))
        if fault in (LOST, FAILED_AFTER, SLOW):
            world.trap("SDK retry")
        return answer

    def _end(self, process: Process, fault: str) -> None:
        """A process gets no further: it dies, or hangs until its time is over."""
        if fault == CRASH_BEFORE:
            self._clock.die(process)
        self._clock.sleep(3600 * SECOND)

    def _draw(self, process: Process, operation: str) -> tuple[str | None, int]:
        """What goes wrong with this call, and in how many of the SDK's tries."""
        world = self._world
        # A rebuild makes so many calls that it would never come to an end.
        if self._rng.random() >= world.fault_rate * (0.2 if process.kind == "maintenance" else 1):
            return None, 0
        fault, tries, _ = _chosen(FAULTS.get(operation, _OTHERS), self._rng.random())
        world.fault(fault)
        return fault, tries

    def _try(self, call: Call) -> Any:
        if call.fault == UNSENT:
            self._clock.sleep(int(wiring.CONNECT_TIMEOUT_S * SECOND))
            return ConnectTimeoutError(endpoint_url="https://aws.invalid")
        self._clock.after(self._rng.randint(500, 5_000), self._world.server.arrive, call)
        return self._clock.wait()


def _chosen(faults: list[Fault], share: float) -> Fault:
    left = share * sum(weight for _, _, weight in faults)
    for fault in faults:
        left -= fault[2]
        if left < 0:
            return fault
    return faults[-1]


def _is_retried(error: Exception) -> bool:
    return not isinstance(error, ClientError) or error.response["Error"]["Code"] in _RETRIED


def _lost() -> Exception:
    return ReadTimeoutError(endpoint_url="https://aws.invalid")


def _error(call: Call, code: str) -> ClientError:
    return client_error(_NAMES[call.operation], code, "as the seed says")


def _identity(action: Mapping[str, Any]) -> Identity:
    table = action["TableName"]
    key = action.get("Key") or action["Item"]
    return table, tuple(key[name]["S"] for name in _KEYS.get(table, ("pk",)))
