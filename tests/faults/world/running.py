"""Runs a schedule: `run(seed)`."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.faults.instances import patched

from .world import World

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator

    from tests.faults.aws.tables import Store


@dataclass(frozen=True)
class Options:
    """What a caller can have otherwise than by the seed's own choice."""

    events: int = 200
    trace: bool = False
    fault_rate: float | None = None
    store: Callable[[Callable[[], float]], Store] | None = None
    """Makes the tables, given the clock in seconds; the engine where None."""


@dataclass
class Outcome:
    """What a schedule came to."""

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


@contextmanager
def uncollected() -> Iterator[None]:
    """Within it no garbage is looked for, but once at the end: a schedule makes much that is soon gone."""
    before = gc.isenabled()
    gc.disable()
    if not gc.get_freeze_count():
        gc.freeze()  # what is there by now stays
    try:
        yield
    finally:
        gc.collect()
        if before:
            gc.enable()


def run(seed: int, options: Options | None = None) -> Outcome:
    """Run one schedule. Nothing of it depends on anything but the seed and the options."""
    world = World(seed, options or Options())
    with patched(world):
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
    )
