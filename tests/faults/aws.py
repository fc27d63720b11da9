"""AWS as the functions see it: the SDK, the server side of all calls, and the faults that a call can meet.

A transaction holds its items from its arrival until its commit. Another write to one of these items meets a conflict.
Many transactions write their items one by one before the commit, so that plain reads see some of them changed and
others not. They go on if their sender dies.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError
from greenlet import getcurrent  # type: ignore[import-untyped]  # it comes without types

from standings.wiring import building_blocks
from tests.faults.clockwork import SECOND, Clockwork, Died, Process, Task
from tests.support.aws.fakes import Bus
from tests.support.aws.fakes import Queue as MessageQueue
from tests.support.dynamodb.engine import Engine, Transaction
from tests.support.dynamodb.errors import client_error
from tests.support.dynamodb.table import item_of
from tests.support.dynamodb.tables import create_tables

from .pollers import Batch

if TYPE_CHECKING:
    from .world import World


# ---- calls and their faults

Request = dict[str, Any]
Identity = tuple[str, tuple[str, ...]]
TRANSACT: Final = "transact_write_items"
# The faults. These names go into the digest of a schedule.
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
"""The name of a fault, the number of tries in a row that meet it, and its relative frequency."""
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
OTHERS: Final = [*_ANY, (LOST, 1, 1)]


@dataclass(eq=False)
class Call:
    """One try of one call."""

    task: Task
    operation: str
    request: Request
    fault: str | None
    reading: int
    """The last value that the caller read from its wall clock before the call, in milliseconds."""
    heard: bool = False
    """Whether the caller has got an answer or an error."""

    @property
    def process(self) -> Process:
        return self.task.process


def lost() -> Exception:
    return ReadTimeoutError(endpoint_url="https://aws.invalid")


def error_of(call: Call, code: str) -> ClientError:
    """Return the error of a service with a code such as `ThrottlingException`."""
    return client_error(call.operation.title().replace("_", ""), code, "as the seed says")


# ---- tables

Item = dict[str, Any]
Write = tuple[str, Item | None, Item | None]
"""The name of a table, and one of its items before and after a write."""


class Store:
    """Tables on the engine, which reports every write."""

    def __init__(self, now: Callable[[], float], shards: int) -> None:
        self._now = now
        self.engine = Engine(shards=shards, clock=now)
        create_tables(self.engine)
        self.engine.written.append(lambda *write: self._writes.append(write))
        self.stream: Sequence[Sequence[dict[str, Any]]] = self.engine.stream("Scores")
        self._writes: list[Write] = []

    @property
    def now(self) -> int:
        """The instant, in microseconds."""
        return round(self._now() * 1_000_000)

    def do(self, operation: str, request: Mapping[str, Any], busy: Mapping[Identity, str]) -> Any:
        """Execute a request; return its answer or its error. A write to a busy item meets a conflict."""
        self.engine.busy = busy
        try:
            return getattr(self.engine, operation)(**request)
        except ClientError as error:
            return error
        finally:
            self.engine.busy = {}

    def writes(self) -> list[Write]:
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


# ---- transactions


class Begun:
    """A transaction that has arrived. It is decided when its first item is written, or at its end."""

    def __init__(self, store: Store, request: Mapping[str, Any], identities: Sequence[Identity]) -> None:
        self._store = store
        self._request = request
        self._written: dict[int, list[Write]] = {}
        self.identities = frozenset(identities)

    @cached_property
    def _decided(self) -> Transaction | ClientError:
        try:
            return self._store.engine.begin(**self._request)
        except ClientError as error:
            return error

    def _left(self) -> list[int]:
        return [] if isinstance(self._decided, ClientError) else self._decided.left

    @property
    def is_halfway(self) -> bool:
        """Whether some items are written and some are not."""
        return bool(self._written and self._left())

    def _write(self, places: Sequence[int]) -> None:
        """Write the items of those of some actions that are left."""
        for place in places:
            if not isinstance(self._decided, ClientError) and place in self._decided.left:
                self._decided.write(place)
                self._written[place] = self._store.writes()

    def write_some(self, rng: Random) -> None:
        """Write any number of the items that are left, in random order."""
        left = self._left()
        self._write(rng.sample(left, rng.randint(0, len(left))))

    def spread(self, rng: Random, clock: Clockwork, end: int) -> None:
        """Decide now, and write each item at one of a few random instants before the end."""
        instants = [rng.randint(clock.now, end - 1) for _ in range(rng.randint(1, 5))]
        places: dict[int, list[int]] = {}
        for place in self._left():
            places.setdefault(rng.choice(instants), []).append(place)
        for instant, some in places.items():
            clock.at(instant, self._write, some)

    def finish(self) -> Any:
        """Write the items that are left; return the answer or the error. The store then tells of all writes at once."""
        self._write(self._left())
        if isinstance(self._decided, ClientError):
            return self._decided
        self._decided.finish()
        self._store.tell(write for _, writes in sorted(self._written.items()) for write in writes)
        return {}


# ---- the SDK

MAX_TRIES: Final = building_blocks.ATTEMPTS
MOST_TOKENS: Final = 500
PATIENCE: Final = 10
"""Tries of a batch after which its calls meet fewer faults."""
# The errors that the standard mode of botocore retries: https://github.com/boto/botocore, retries/standard.py
_RETRIED: Final = frozenset(
    {
        "InternalServerError",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)


class Tokens:
    """What a client's retries cost (retries/standard.py, retries/quota.py). Without enough tokens it tries once."""

    def __init__(self) -> None:
        self._left = MOST_TOKENS

    def take(self, error: Exception) -> int:
        """Take what a retry after an error costs, and return it; 0 if there is not so much."""
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else ""
        cost = 14 if code in ("", "InternalServerError") else 5
        if self._left < cost:
            return 0
        self._left -= cost
        return cost

    def give_back(self, cost: int) -> None:
        """A call was done: its last retry is for nothing."""
        self._left = min(MOST_TOKENS, self._left + (cost or 1))


class Sdk:
    """The client that all processes share. Each call belongs to the running process."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._clock = world.clock
        self._rng = world.rng

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        return partial(self._call, operation)

    def _call(self, operation: str, /, **request: Any) -> Any:
        world = self._world
        process = self._clock.process()
        if process is None:
            return world.services.directly(operation, request)
        if process.dead:
            raise Died
        world.calls += 1
        # While another's transaction is under way on its items, a process asks again and again: that counts once.
        process.calls += not (world.server.is_down or process.is_held)
        process.is_held = False
        tokens, cost = process.tokens or Tokens(), 0
        fault, tries = self._draw(process, operation)
        if fault in (CRASH_BEFORE, STALLED):
            self._end(process, fault)
        if operation == TRANSACT and fault is not None:
            request = {"ClientRequestToken": f"{self._rng.getrandbits(64):016x}", **request}
        reading = process.reading
        for number in range(1, MAX_TRIES + 1):
            answer = self._try(Call(getcurrent(), operation, request, fault if number <= tries else None, reading))
            if fault == CRASH_AFTER:
                self._clock.die(process)
            if not isinstance(answer, Exception):
                tokens.give_back(cost)
                break
            cost = self._cost_of_retry(tokens, number, answer)
            if not cost:
                process.is_held = _is_conflict(answer)
                process.conflicts += process.is_held
                raise answer
            self._clock.sleep(self._rng.randint(0, 50_000 << number))
        if fault in (LOST, FAILED_AFTER, SLOW):
            world.trap("SDK retry")
        return answer

    def _cost_of_retry(self, tokens: Tokens, number: int, error: Exception) -> int:
        """Take the tokens for another try after try `number`, and return how many; 0 if there is no other try."""
        is_fatal = isinstance(error, ClientError) and error.response["Error"]["Code"] not in _RETRIED
        if number == MAX_TRIES or is_fatal:
            return 0
        cost = tokens.take(error)
        if not cost:
            self._world.trap("SDK gave up retries")
        return cost

    def _end(self, process: Process, fault: str) -> None:
        if fault == CRASH_BEFORE:
            self._clock.die(process)
        self._clock.sleep(3600 * SECOND)

    def _draw(self, process: Process, operation: str) -> tuple[str | None, int]:
        """Draw the fault of a call, None for no fault, and the number of tries that meet it."""
        world = self._world
        if self._rng.random() >= world.fault_rate * _share_of_faults(process):
            return None, 0
        faults = FAULTS.get(operation, OTHERS)
        ((fault, tries, _),) = self._rng.choices(faults, [weight for _, _, weight in faults])
        world.fault(fault)
        return fault, tries

    def _try(self, call: Call) -> Any:
        if call.fault == UNSENT:
            self._clock.sleep(int(building_blocks.CONNECT_TIMEOUT_S * SECOND))
            return ConnectTimeoutError(endpoint_url="https://aws.invalid")
        self._clock.after(self._rng.randint(500, 5_000), self._world.server.arrive, call)
        return self._clock.wait()


def _is_conflict(error: Exception) -> bool:
    """Whether a transaction of another is under way on an item of this one."""
    reasons = error.response.get("CancellationReasons", ()) if isinstance(error, ClientError) else ()
    return any(reason["Code"] == "TransactionConflict" for reason in reasons)


def _share_of_faults(process: Process) -> float:
    """Return how many faults a process meets, compared with others.

    A rebuild, or a batch that folds a long log, makes so many calls that it would never finish with all of them.
    """
    tired = isinstance(process.detail, Batch) and process.detail.tries > PATIENCE
    return 0.2 if tired or process.kind == "maintenance" else 1


# ---- the server

_WRITES: Final = frozenset({"put_item", "update_item", "delete_item"})
_OF_OTHERS: Final = ("_object", "_objects_v2", "_message_batch", "put_events")
"""Calls of other services end with these."""
_READS: Final = frozenset({"get_item", "batch_get_item", "query"})
_KEYS: Final = {"Scores": ("pk", "sk")}
ONE_BY_ONE: Final = 0.5
"""The share of the transactions that write their items one by one."""


class Server:
    """Executes the calls of all processes."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._clock = world.clock
        self._rng = world.rng
        self._instants = Random(f"{world.seed} one by one")  # its own, so that the other draws stay as they are
        self._locks: dict[Identity, Call] = {}
        self._begun: dict[Call, Begun] = {}
        self._tokens: dict[str, Call] = {}
        self._hot = ""
        self._hot_until = 0
        self._down_until = 0
        self._waiting: set[str] = set()  # The kinds of processes that the store has throttled in its outage

    @property
    def is_down(self) -> bool:
        """Whether the store throttles everything."""
        return self._clock.now < self._down_until

    @property
    def is_idle(self) -> bool:
        return not self._locks

    def throttle(self, span: int) -> None:
        """Throttle the ranking that is written next, for a span in microseconds, like one with a hot partition."""
        self._hot, self._hot_until = "", self._clock.now + span

    def throttle_all(self, span: int) -> None:
        """Throttle every call to the store, for a span in microseconds."""
        self._world.fault("everything is throttled")
        self._down_until = self._clock.now + span

    def _outage(self, call: Call) -> bool:
        """Whether the store throttles a call, as all calls for a while."""
        if not self.is_down or call.operation.endswith(_OF_OTHERS):
            return False
        self._waiting.add(call.process.kind)
        if {"writer", "projector"} <= self._waiting:
            self._waiting.clear()
            self._world.trap("minutes without the store")
        return True

    def arrive(self, call: Call) -> None:
        """Execute a call that has arrived. If its sender has died, the call may never have been sent."""
        if call.process.dead and self._rng.random() < 0.5:
            return
        if call.fault == THROTTLED or self._outage(call):
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
        begun = self._begun[call] = Begun(self._world.store, call.request, identities)
        self._clock.at(self._instants.randint(now, end - 1), begun.spread, self._instants, self._clock, end)

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
        answer = self._world.services.perform(call, busy, begun)
        code = answer.response["Error"]["Code"] if isinstance(answer, ClientError) else "done"
        self._world.note(call.process.name, call.operation, code, busy)
        if code == "TransactionCanceledException":
            self._record_traps(call, answer.response["CancellationReasons"])
        if call.fault == FAILED_AFTER and code == "done":
            return error_of(call, "InternalServerError")
        return answer

    def _record_traps(self, call: Call, reasons: list[dict[str, Any]]) -> None:
        codes = {reason["Code"] for reason in reasons}
        if {"ConditionalCheckFailed", "TransactionConflict"} <= codes:
            self._world.trap("condition and conflict in one cancellation")
        if call.process.kind != "writer":
            return
        for entry, reason in zip(call.request["TransactItems"], reasons, strict=True):
            written_at_ms = int(reason.get("Item", {}).get("t", {"N": "0"})["N"])
            stamp = entry.get("Update", {}).get("ExpressionAttributeValues", {}).get(":t")  # A patch has none
            if stamp is not None and written_at_ms > int(stamp["N"]):
                self._world.trap("clocks: decided again")

    def _answer(self, call: Call, answer: Any) -> None:
        delay = self._rng.randint(500, 5_000)
        if call.fault == LOST:
            # The connection closes at once, or the SDK waits for its read timeout.
            delay += int(building_blocks.SOCKET_READ_S * SECOND) if self._rng.random() < 0.1 else 0
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


# ---- the services


class Services:
    """Passes each call to its service."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.bus = Bus()
        self.refused: dict[str, list[str]] = {}
        """The reasons in the dead-letter queue, by body of the message."""

    def perform(self, call: Call, busy: Mapping[Identity, str], begun: Begun | None = None) -> Any:
        """Execute a call now, or finish its transaction; return its answer or its error.

        `busy` are the items that conflict.
        """
        if call.operation == "send_message_batch":
            return self._send(call)
        if call.operation == "put_events":
            return self.bus.put_events(**call.request)
        if call.operation.endswith(("_object", "_objects_v2")):
            return self._world.parked.do(call)
        if call.fault == UNPROCESSED:
            self._world.store.leave_undone(lambda: self._world.rng.random() < 0.5)
        answer = self._world.store.do(call.operation, call.request, busy) if begun is None else begun.finish()
        self._world.store.leave_undone(None)
        writes = self._world.store.writes()
        if writes:
            self._world.watch.committed(call, writes)
        if isinstance(answer, ClientError):
            return answer
        if call.operation == "batch_get_item":
            if answer.get("UnprocessedKeys"):
                self._world.trap("unprocessed keys")
            if not call.request["RequestItems"].get("Scores", {}).get("ConsistentRead"):
                self._world.watch.make_stale(answer)
        return answer

    def directly(self, operation: str, request: Request) -> Any:
        """Execute a request from outside all processes at once and without faults. Raise its error."""
        answer = self._world.store.do(operation, request, {})
        self._world.store.writes()
        if isinstance(answer, ClientError):
            raise answer
        return answer

    def _send(self, call: Call) -> Any:
        fails = lambda _: "InternalError" if call.fault == UNPROCESSED and self._world.rng.random() < 0.5 else ""  # noqa: E731
        dead = MessageQueue("dead", refusal=fails)
        answer = dead.send_message_batch(**call.request)
        for message, reason in zip(dead.messages, dead.reasons(), strict=True):
            self.refused.setdefault(message["MessageBody"], []).append(reason)
            self._world.judge.refusing(self._world.bodies[message["MessageBody"]], reason)
        return answer
