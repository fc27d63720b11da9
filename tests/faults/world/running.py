"""Run a schedule: `run(seed)`."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tests.faults.instances import patched
from tests.support.dynamodb.request_checks import checked

from .world import World

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator

    from tests.faults.aws.tables import Store


CHECKED: Final = 7
"""Of so many requests to the engine, botocore's checks look at one. They would take a seventh of the time."""


@dataclass(frozen=True)
class Options:
    """Settings that the seed does not decide."""

    events: int = 200
    trace: bool = False
    """Whether to keep a line for each step."""
    notes: bool = False
    """Whether scores of the league keep notes. The seed then makes another schedule."""
    fault_rate: float | None = None
    """The probability that a call meets a fault; None draws it."""
    store: Callable[[Callable[[], float]], Store] | None = None
    """Takes the clock in seconds and returns the tables; None uses the engine."""


@dataclass
class Outcome:
    """The result of a schedule. It came out right if there are no differences."""

    seed: int
    differences: list[str]
    faults: Counter[str]
    traps: Counter[str]
    events: int
    workers: int
    calls: int
    compared: int
    digest: str
    trace: list[str] = field(default_factory=list)
    noted: int = 0
    """How many notes were compared with those that the model expects."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect garbage only once, at the end of the context, because that makes schedules faster."""
    before = gc.isenabled()
    gc.disable()
    if not gc.get_freeze_count():
        gc.freeze()  # never scan the objects that exist already
    try:
        yield
    finally:
        gc.collect()
        if before:
            gc.enable()


def run(seed: int, options: Options | None = None) -> Outcome:
    """Run one schedule. The outcome depends only on the seed and the options."""
    world = World(seed, options or Options())
    with patched(world), checked(CHECKED):
        world.run()
    return Outcome(
        seed,
        world.judge.differences,
        world.faults,
        world.traps,
        len(world.sent),
        world.workers,
        world.calls,
        world.comparison.compared,
        world.digest(),
        world.trace,
        world.judge.noted,
    )
