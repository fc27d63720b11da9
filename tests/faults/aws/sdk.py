"""A client that retries like the standard mode of botocore.

`Sdk` tries a call up to three times. Each try of a transaction has the same ClientRequestToken.
https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError, ConnectTimeoutError
from greenlet import getcurrent  # type: ignore[import-untyped]  # it comes without types

from standings.wiring import building_blocks
from tests.faults.clockwork import SECOND, Died

from .calls import (
    CRASH_AFTER,
    CRASH_BEFORE,
    FAILED_AFTER,
    FAULTS,
    LOST,
    NAMES,
    OTHERS,
    SLOW,
    STALLED,
    TRANSACT,
    UNSENT,
    Call,
    Fault,
)
from .reader import Batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.clockwork import Process
    from tests.faults.world.world import World

MAX_TRIES: Final = building_blocks.ATTEMPTS
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


class Sdk:
    """The client that all processes share. Each call belongs to the running process."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._clock = world.clock
        self._rng = world.rng

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        if operation not in NAMES:
            raise AttributeError(operation)
        call = partial(self._call, operation)
        self.__dict__[operation] = call
        return call

    def _call(self, operation: str, /, **request: Any) -> Any:
        world = self._world
        process = self._clock.process()
        if process is None:
            return world.services.directly(operation, request)
        if process.dead:
            raise Died
        world.calls += 1
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
                break
            if number == MAX_TRIES or not _is_retried(answer):
                raise answer
            self._clock.sleep(self._rng.randint(0, 50_000 << number))
        if fault in (LOST, FAILED_AFTER, SLOW):
            world.trap("SDK retry")
        return answer

    def _end(self, process: Process, fault: str) -> None:
        """Let a process die, or hang until its timeout."""
        if fault == CRASH_BEFORE:
            self._clock.die(process)
        self._clock.sleep(3600 * SECOND)

    def _draw(self, process: Process, operation: str) -> tuple[str | None, int]:
        """Draw the fault of a call, None for no fault, and the number of tries that meet it."""
        world = self._world
        if self._rng.random() >= world.fault_rate * _share_of_faults(process):
            return None, 0
        fault, tries, _ = _weighted(FAULTS.get(operation, OTHERS), self._rng.random())
        world.fault(fault)
        return fault, tries

    def _try(self, call: Call) -> Any:
        if call.fault == UNSENT:
            self._clock.sleep(int(building_blocks.CONNECT_TIMEOUT_S * SECOND))
            return ConnectTimeoutError(endpoint_url="https://aws.invalid")
        self._clock.after(self._rng.randint(500, 5_000), self._world.server.arrive, call)
        return self._clock.wait()


def _share_of_faults(process: Process) -> float:
    """Return how many faults a process meets, compared with others.

    A rebuild, or a batch that folds a long log, makes so many calls that it would never finish with all of them.
    """
    tired = isinstance(process.detail, Batch) and process.detail.tries > PATIENCE
    return 0.2 if tired or process.kind == "maintenance" else 1


def _weighted(faults: list[Fault], share: float) -> Fault:
    """Return the fault at a share from 0 to 1 of all weights."""
    left = share * sum(weight for _, _, weight in faults)
    for fault in faults:
        left -= fault[2]
        if left < 0:
            return fault
    return faults[-1]


def _is_retried(error: Exception) -> bool:
    return not isinstance(error, ClientError) or error.response["Error"]["Code"] in _RETRIED
