"""Run a schedule: `run(seed)`. All random numbers come from the seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Final

from .judge import judge
from .logs import clean, fold
from .project import project
from .read import page, rank
from .rebuild import rebuild, replay
from .rules import Rule
from .world import Died, World
from .write import expire, expire_counts, write

if TYPE_CHECKING:
    from collections.abc import Generator

    from .items import Change
    from .world import Process

EVENTS: Final = 60
MOST_OTHERS: Final = 9
LATE: Final = (1, 2, 3)


@dataclass(eq=False)
class Task:
    """A running process."""

    process: Process
    acting: Generator[None, None, Any]
    change: Change | None = None
    """The parked record that it replays."""


@dataclass
class Shard:
    """A shard of the stream, the attempt that works on it, and how far it is."""

    records: list[Change]
    done: int = 0
    size: int = 0
    attempt: Task | None = None

    @property
    def is_idle(self) -> bool:
        return self.attempt is None and self.done == len(self.records)


@dataclass
class Schedule:
    """Decides who acts next."""

    world: World
    shards: list[Shard] = field(init=False)
    others: list[Task] = field(default_factory=list)
    events: int = 0
    quiet: int = 0
    """No events come until this turn."""

    def __post_init__(self) -> None:
        self.shards = [Shard(stream) for stream in self.world.streams]

    def run(self) -> None:
        """Run until nothing is left to do."""
        world = self.world
        while not self._is_over():
            world.turn += 1
            if self.events < EVENTS:
                self._change()
            if len(self.others) < MOST_OTHERS:
                self._begin()
            self._go_on()
            for shard in self.shards:
                self._poll(shard)
            self._index()
            if world.chance(0.05):
                self._expire()

    def _is_over(self) -> bool:
        busy = self.others or self.world.parked or not all(shard.is_idle for shard in self.shards)
        return self.events >= EVENTS and not busy

    def _change(self) -> None:
        """Let something happen outside: an event, midnight, a deployment."""
        world = self.world
        if world.chance(0.006):
            self.quiet = world.turn + 80
        if world.turn > self.quiet and world.chance(0.3):
            write(world)
            self.events += 1
        if world.chance(0.03):
            world.now += 1
        if world.chance(0.008):
            world.deploy(world.rng.choice(LATE))

    def _begin(self) -> None:
        """Begin a process, or none."""
        world, draw = self.world, self.world.rng.random()
        kinds = {task.process.kind for task in self.others}
        if draw < 0.06:
            process = world.process("fold")
            number = world.rng.choice(process.record.written)
            self._start(process, fold(process, number, world.rng.randrange(world.generations[number].named)))
        elif draw < 0.16:
            process = world.process("reader")
            self._start(process, rank(process))
        elif draw < 0.18:
            process = world.process("reader")
            self._start(process, page(process))
        elif draw < 0.23 and world.parked:
            process = world.process("replay")
            change = world.rng.choice(world.parked)
            process.members = frozenset({change.member})
            self._start(process, replay(process, change), change)
        elif draw < 0.25 and self.events < EVENTS and "maintenance" not in kinds:
            process = world.process("maintenance")
            self._start(process, rebuild(process))
        elif draw < 0.30 and not world.on(Rule.NOT_CLEANED):
            process = world.process("cleaning")
            self._start(process, clean(process))

    def _start(self, process: Process, acting: Generator[None, None, Any], change: Change | None = None) -> None:
        self.world.running.append(process)
        self.others.append(Task(process, acting, change))

    def _go_on(self) -> None:
        """Let some processes act. Some are slow, and some do much at once."""
        rng = self.world.rng
        for _ in range(4):
            if self.others:
                task = rng.choice(self.others)
                if rng.random() < task.process.pace:
                    for _ in range(rng.choice((1, 1, 1, 2, 4, 12))):
                        if task in self.others:
                            self._step(task)

    def _step(self, task: Task) -> None:
        """Let a process act once."""
        try:
            next(task.acting)
        except StopIteration as done:
            self._end(task)
            if task.change in self.world.parked and done.value:
                self.world.parked.remove(task.change)
        except Died:
            self._end(task)

    def _end(self, task: Task) -> None:
        self.others.remove(task)
        self.world.running.remove(task.process)

    def _poll(self, shard: Shard) -> None:
        """Begin an attempt, let it act, or give it up while it goes on unseen."""
        world = self.world
        if shard.attempt is None and shard.done < len(shard.records):
            shard.size = min(world.rng.randint(1, 4), len(shard.records) - shard.done)
            process = world.process("projector")
            world.running.append(process)
            batch = shard.records[shard.done : shard.done + shard.size]
            process.members = frozenset(change.member for change in batch)
            shard.attempt = Task(process, project(process, batch))
        elif shard.attempt is not None and world.chance(0.6):
            if world.chance(0.03) and len(self.others) < MOST_OTHERS:
                self.others.append(shard.attempt)
                shard.attempt = None
            else:
                self._advance(shard, shard.attempt)

    def _advance(self, shard: Shard, attempt: Task) -> None:
        done = 0
        try:
            next(attempt.acting)
        except StopIteration as end:
            done = end.value
        except Died:
            pass
        else:
            return
        shard.attempt = None
        self.world.running.remove(attempt.process)
        self._done(shard, done)
        if not done and self.world.chance(0.25):
            self.world.parked.extend(shard.records[shard.done : shard.done + shard.size])
            self._done(shard, shard.size)
            self.world.met["parked"] += 1

    def _done(self, shard: Shard, count: int) -> None:
        """Take note that records are projected, or parked."""
        for change in shard.records[shard.done : shard.done + count]:
            self.world.projected[change.member] = change.new.version
        shard.done += count

    def _index(self) -> None:
        """Bring the index some steps further."""
        for generation in self.world.generations.values():
            for _ in range(2):
                if generation.pending and self.world.chance(0.7):
                    generation.index_next(self.world.rng.choice(list(generation.pending)))

    def _expire(self) -> None:
        expire_counts(self.world)
        expire(self.world)


def run(seed: int, *off: Rule) -> World:
    """Run a schedule, with all rules or without one, and compare at the end."""
    rng = Random(seed)
    world = World(rng, frozenset(off), rng.choice(LATE))
    Schedule(world).run()
    judge(world)
    return world
