"""A DynamoDB client whose transactions fail as a test says, and a clock that moves only when code sleeps."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from standings.runtime.clock import Clock

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
    response: Any = {
        "Error": {"Code": "TransactionCanceledException", "Message": f"cancelled: {codes}"},
        "CancellationReasons": [{"Code": code} for code in codes],
    }
    return ClientError(response, "TransactWriteItems")


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
