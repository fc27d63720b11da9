"""Clients that die, or fail, at a call that a test chooses, and stay dead until they are revived."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from botocore.exceptions import ClientError

from tests.support.awslambda.context import Killed

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
