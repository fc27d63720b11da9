"""A client whose transactions go wrong as a test says, and time that only passes by waiting."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from standings.runtime.retry import Clock

Step = Callable[["Faulty", dict[str, Any]], Any]


@dataclass
class Faulty:
    """Passes calls on, but lets `steps` have the next transactions, one each."""

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
    """Another transaction has the first item just now."""
    raise cancelled(["TransactionConflict", *["None"] * (len(request["TransactItems"]) - 1)])


def lost_answer(faulty: Faulty, request: dict[str, Any]) -> Any:
    """Done, but the caller never hears of it."""
    faulty.client.transact_write_items(**request)
    raise ReadTimeoutError(endpoint_url="http://dynamodb.invalid")


def error(code: str) -> Step:
    """The whole call fails with an error of that code."""

    def step(_: Faulty, __: dict[str, Any]) -> Any:
        raise ClientError({"Error": {"Code": code, "Message": "as a test says"}}, "TransactWriteItems")

    return step


def passes(faulty: Faulty, request: dict[str, Any]) -> Any:
    """Nothing goes wrong."""
    return faulty.client.transact_write_items(**request)


def cancelled(codes: list[str]) -> ClientError:
    """A transaction cancelled for these reasons."""
    response: Any = {
        "Error": {"Code": "TransactionCanceledException", "Message": f"cancelled: {codes}"},
        "CancellationReasons": [{"Code": code} for code in codes],
    }
    return ClientError(response, "TransactWriteItems")


@dataclass
class Time:
    """A wall clock and a monotonic one, which pass by sleeping alone."""

    milliseconds: int
    slept: list[float] = field(default_factory=list)

    def pacing(self) -> Clock:
        return Clock(lambda: self.milliseconds, self.monotonic, self.sleep, lambda: 0.5)

    def monotonic(self) -> float:
        return sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
