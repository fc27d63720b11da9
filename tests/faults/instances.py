"""Instances of the functions. Each loads the real module again and has its own caches and its own clock."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from random import Random
from types import CodeType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest import mock

import aws_lambda_powertools

from standings.domain.boards import Boards
from standings.domain.boards_toml import parse_boards
from standings.domain.windows import DAY
from standings.rankings import reading, storing
from standings.rankings.calendar import pruning
from standings.rankings.calendar.pruning import Pruning
from standings.rankings.rolling import storing as rolling
from standings.runtime import clock as runtime_clock
from standings.runtime import logs
from standings.wiring import building_blocks, rankings
from standings.write import writer
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import FUNCTIONS

from .aws import Tokens
from .clockwork import Pool

if TYPE_CHECKING:
    from .world import World


_SHORT = (
    (rolling, "ROOM", (0, 30, 100, 3_000)),
    (rolling, "MAX_ENTRY", (20, 8_000)),
    (rolling, "LONG", (50, 24_000)),
    (rolling, "MAX_ENTRIES", (1, 2, 250)),
)
"""Limits of logs, and the values that a schedule draws from."""

Handler = Callable[[dict[str, Any], Any], Any]


@lru_cache(maxsize=256)
def boards_of(text: str) -> Boards:
    """Parse a `boards.toml`. Boards are immutable, so each text is parsed only once."""
    return parse_boards(text)


@lru_cache(maxsize=16)
def _code(name: str) -> CodeType:
    path = FUNCTIONS / name / "app.py"
    return compile(path.read_text(encoding="utf-8"), str(path), "exec")


@dataclass(eq=False)
class Instance:
    """A sandbox of a function, which runs one invocation at a time."""

    function: str
    definition: str
    skew: int
    """How far its clock is ahead of virtual time, in microseconds."""
    module: ModuleType
    tokens: Tokens = field(default_factory=Tokens)

    def handle(self, event: dict[str, Any], context: Any) -> Any:
        return self.module.handler(event, context)


class Unmetered:
    """Discards metrics."""

    def log_metrics(self, handler: Handler) -> Handler:
        return handler

    def add_metric(self, *_: Any, **__: Any) -> None: ...

    def add_dimension(self, *_: Any, **__: Any) -> None: ...

    @contextmanager
    def single(self, **_: Any) -> "Iterator[Unmetered]":
        yield self


class Instances:
    """The warm instances. Loads a new one if none is idle."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._idle: list[Instance] = []
        self.loaded = 0
        self.definition = ""
        """The `boards.toml` of the instance that is being loaded."""

    def take(self, function: str, definition: str) -> Instance:
        for instance in self._idle:
            if instance.function == function and instance.definition == definition:
                self._idle.remove(instance)
                return instance
        return self.load(function, definition)

    def give_back(self, instance: Instance) -> None:
        self._idle.append(instance)

    def load(self, function: str, definition: str) -> Instance:
        """Load the module of a function again, as a cold start does."""
        self.loaded += 1
        module = ModuleType(f"standings_{function}_app_{self.loaded}")
        module.__file__ = str(FUNCTIONS / function / "app.py")
        skew = self._world.skew()
        self.definition = definition
        exec(_code(function), module.__dict__)  # noqa: S102 - our own module
        return Instance(function, definition, skew, module)


@contextmanager
def patched(world: "World") -> Iterator[None]:
    """Connect the functions to a world: its clocks, its random numbers, its services."""
    clock = world.clock

    def time_ns() -> int:
        process = clock.process()
        if process is None:
            return clock.now * 1000
        process.reading = (clock.now + process.skew) // 1000
        process.readings.append(process.reading)
        return process.reading * 1_000_000

    def monotonic() -> float:
        return (clock.now - world.began) / 1_000_000 + 1000.0

    def sleep(seconds: float) -> None:
        clock.sleep(max(1, round(seconds * 1_000_000)))

    def pool(max_workers: int, **_: Any) -> Pool:
        return Pool(clock, lambda: world.rng.randint(1, 2000), max_workers)

    unmetered = Unmetered()
    logger = logs.logger

    def boards() -> Boards:
        process = clock.process()
        return boards_of(process.definition if process is not None else world.instances.definition)

    timing = SimpleNamespace(time_ns=time_ns, monotonic=monotonic, sleep=sleep)
    replaced: list[tuple[Any, str, Any]] = [
        (logs, "metrics", unmetered),
        (aws_lambda_powertools, "single_metric", unmetered.single),
        (building_blocks, "boards", boards),
        (building_blocks, "client", lambda _: world.sdk),
        (runtime_clock, "time", timing),
        (runtime_clock, "random", SimpleNamespace(random=world.rng.random)),
        (rankings, "ThreadPoolExecutor", pool),
        (reading, "ThreadPoolExecutor", pool),
        # The boards here live for days only, so a purge need not look through years of periods.
        (storing, "REACH", 20 * DAY),
        (storing, "HOURS_REACH", 10 * DAY),
        # A transaction here is small: some schedules send patches all the same.
        (writer, "MOST_WHOLE_BYTES", Random(f"{world.seed} patches").choice([0, writer.MOST_WHOLE_BYTES])),
        # Boards here are small: fold logs that are short, a few entries at a time.
        *((module, name, world.rng.choice(values)) for module, name, values in _SHORT),
    ]
    if world.busy:
        # Prune often, even where little would be gained.
        replaced.append((pruning, "Pruning", partial(Pruning, chance=0.12, worth=0)))
    with ExitStack() as patches:
        patches.enter_context(mock.patch.dict(os.environ, ENVIRONMENT))
        for owner, name, value in replaced:
            patches.enter_context(mock.patch.object(owner, name, value))
        patches.callback(logger.setLevel, logger.log_level)
        logger.setLevel(logging.CRITICAL)
        yield
