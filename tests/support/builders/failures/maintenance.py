"""Calls the maintenance function as a command does: again and again, until a task is done."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

from standings.runtime.clock import Clock
from standings.wiring.building_blocks import REPORTING_RESERVE
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack
from tests.support.awslambda.context import Context


def soon(clock: ManualClock, seconds: float = 60.0) -> float:
    """A deadline on the test's clock."""
    return clock.monotonic() + seconds


def clock_of(clock: ManualClock) -> Clock:
    """A `Clock` on the test's clock: nothing really waits."""
    return Clock(clock, clock.monotonic, clock.sleep, random.Random(1).random)


def call(stack: Stack, *task: str, seconds: float = 800.0, **arguments: Any) -> dict[str, Any]:
    """Call a task once, such as `("parked", "list")`. It has so many seconds by the stack's clock to do its work."""
    event: dict[str, Any] = arguments
    for name in reversed(task):
        event = {name: event}
    return stack.maintenance(event, Context(seconds=seconds + REPORTING_RESERVE, clock=stack.clock.monotonic))


def calls(stack: Stack, *task: str, seconds: float = 800.0, **arguments: Any) -> Iterator[dict[str, Any]]:
    """Call a task until it is done, and yield each answer. Where a job waits, the clock goes on."""
    for _ in range(5_000):
        answer = call(stack, *task, seconds=seconds, **arguments)
        yield answer
        if answer["done"]:
            return
        stack.clock.milliseconds += round(answer.get("wait", 0) * 1000)
        arguments |= {"begin": False} if "phase" in answer else {"cursor": answer["cursor"]}
    raise AssertionError(answer)


def finish(stack: Stack, *task: str, **arguments: Any) -> dict[str, Any]:
    """Call a task until it is done, and return the last answer."""
    return [*calls(stack, *task, **arguments)][-1]


@contextmanager
def before(engine: Any, do: Callable[[], Any], *words: str) -> Iterator[None]:
    """Do something before each request that has all these words in its operation's name or its arguments.

    What it requests itself does not count.
    """
    is_at_it = False

    def hook(operation: str, request: dict[str, Any]) -> None:
        nonlocal is_at_it
        if not is_at_it and all(word in f"{operation} {request}" for word in words):
            is_at_it = True
            try:
                do()
            finally:
                is_at_it = False

    engine.before.append(hook)
    yield
    engine.before.remove(hook)


def throttle() -> None:
    """Refuse a request, as DynamoDB does that has too much to do."""
    raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, "as a test says")
