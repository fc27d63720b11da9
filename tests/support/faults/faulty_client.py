"""DynamoDB clients whose calls fail as a test says, and a clock that moves only when code sleeps.

A `Faulty` one fails, a `Mortal` one dies, and of an `ItemByItem` no batch of reads is of one moment.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from botocore.exceptions import ClientError, ReadTimeoutError

from standings.runtime.clock import Clock
from tests.support.awslambda.context import Killed
from tests.support.dynamodb import errors

Step = Callable[["Faulty", dict[str, Any]], Any]


@dataclass
class Faulty:
    """Forwards all calls to `client`. Each of the `steps` handles one of the next transactions instead."""

    client: Any
    steps: deque[Step] = field(default_factory=deque)
    transactions: list[list[dict[str, Any]]] = field(default_factory=list)

    def transact_write_items(self, **request: Any) -> Any:
        self.transactions.append(request["TransactItems"])
        if self.steps:
            return self.steps.popleft()(self, request)
        return self.client.transact_write_items(**request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


def conflict(_: Faulty, request: dict[str, Any]) -> Any:
    """Fail because another transaction holds the first item."""
    raise cancelled(["TransactionConflict", *["None"] * (len(request["TransactItems"]) - 1)])


def conflict_at_end(_: Faulty, request: dict[str, Any]) -> Any:
    """Fail because another transaction holds the last item."""
    raise cancelled([*["None"] * (len(request["TransactItems"]) - 1), "TransactionConflict"])


def refused_at_end(_: Faulty, request: dict[str, Any]) -> Any:
    """Fail because the last action is invalid."""
    raise cancelled([*["None"] * (len(request["TransactItems"]) - 1), "ValidationError"])


def lost_answer(faulty: Faulty, request: dict[str, Any]) -> Any:
    """Apply the transaction, then fail as if its answer were lost."""
    faulty.client.transact_write_items(**request)
    raise ReadTimeoutError(endpoint_url="http://dynamodb.invalid")


def error(code: str) -> Step:
    """Return a step that fails the whole call with an error code."""

    def step(_: Faulty, __: dict[str, Any]) -> Any:
        raise ClientError({"Error": {"Code": code, "Message": "failed by the test"}}, "TransactWriteItems")

    return step


def passes(faulty: Faulty, request: dict[str, Any]) -> Any:
    """Apply the transaction."""
    return faulty.client.transact_write_items(**request)


def cancelled(codes: list[str]) -> ClientError:
    """Return the error of a cancelled transaction. `codes` has one reason for each action."""
    return errors.cancelled([{"Code": code} for code in codes]).as_client_error("TransactWriteItems")


@dataclass
class Time:
    """A wall clock that a test sets, and a monotonic clock that moves only when code sleeps."""

    milliseconds: int
    slept: list[float] = field(default_factory=list)

    def clock(self) -> Clock:
        return Clock(lambda: self.milliseconds, self.monotonic, self.sleep, lambda: 0.5)

    def monotonic(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


Place = tuple[int, int]
"""A batch of reads, and an item of it; both are counted from 0."""


@dataclass
class ItemByItem:
    """Forwards all calls to `client`, but reads the items of a BatchGetItem one after the other.

    `before` is called before each item with its place.
    """

    client: Any
    before: Callable[[Place], None] = lambda _: None
    is_consistent: bool = True
    """Whether each batch has to be read consistently."""
    batches: list[list[str]] = field(default_factory=list)
    """The partition keys of each batch so far."""

    def batch_get_item(self, RequestItems: Mapping[str, Any]) -> Any:  # noqa: N803 - as in boto3
        ((table, request),) = RequestItems.items()
        assert request.get("ConsistentRead") or not self.is_consistent
        batch = len(self.batches)
        self.batches.append([key["pk"]["S"] for key in request["Keys"]])
        items = []
        for number, key in enumerate(request["Keys"]):
            self.before((batch, number))
            answer = self.client.get_item(TableName=table, Key=key, ConsistentRead=True)
            items += [answer["Item"]] if "Item" in answer else []
        return {"Responses": {table: items}, "UnprocessedKeys": {}}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


Fault = Literal["before", "after", "fails"]
"""The process dies before the call or after it was done, or the call fails and the process goes on."""


@dataclass
class Fate:
    """Counts the calls of all clients of a process. At call number `at`, counted from 0, there is a fault."""

    at: int | None = None
    fault: Fault = "before"
    calls: list[str] = field(default_factory=list)
    is_dead: bool = False

    def begin(self, at: int | None = None, fault: Fault = "before") -> None:
        """Bring the process back to life, and choose the next fault."""
        self.at, self.fault, self.is_dead = at, fault, False
        self.calls.clear()

    def governing(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of a client, whose calls go by this fate."""
        return lambda *args, **kwargs: self.do(name, lambda: method(*args, **kwargs))

    def do(self, name: str, call: Callable[[], Any]) -> Any:
        if self.is_dead:
            raise Killed
        number = len(self.calls)
        self.calls.append(name)
        if number != self.at:
            return call()
        if self.fault == "fails":
            raise ClientError({"Error": {"Code": "InternalError", "Message": "failed by the test"}}, name)
        if self.fault == "after":
            call()
        self.is_dead = True
        raise Killed


@dataclass
class Mortal:
    """A client whose operations go by a fate."""

    client: Any
    fate: Fate
    operations: frozenset[str]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.client, name)
        if name not in self.operations:
            return found
        return self.fate.governing(name, found)
