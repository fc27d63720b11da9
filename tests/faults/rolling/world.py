"""What all processes of a schedule share, and what one process knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar

from .items import MARGIN, SLAB, Change, Generation, Image, Steps, spans
from .rules import Rule

if TYPE_CHECKING:
    from random import Random

MEMBERS: Final = 5
CACHE: Final = 25
"""For this many turns, a process may use the record as it was before."""
ROLLOUT: Final = 40
"""For this many turns, processes with the previous definition may begin."""

T = TypeVar("T")
Acting = Generator[None, None, T]
"""A process. At each `yield` all others may act; what is between two of them is done at once."""


class Died(Exception):
    """A process has died."""


@dataclass(frozen=True)
class Job:
    """A rebuild: when it was announced, and how long all definitions since then have kept periods."""

    since: int
    late: int


@dataclass(frozen=True)
class Record:
    """The board's record.

    `late` is how long every definition has kept an ended period, and `first` the first period that is complete.
    `phase` counts the steps of rebuilds.
    """

    late: int
    first: int = 0
    phase: int = 0
    read: int = 0
    written: tuple[int, ...] = (0,)
    job: Job | None = None

    def taken_off(self, late: int) -> Record:
        """Return the record when a process is at work whose definition keeps ended periods for `late`."""
        job = None if self.job is None else replace(self.job, late=min(self.job.late, late))
        return replace(self, late=min(self.late, late), job=job)

    def readable(self, period: int, now: int) -> bool:
        return max(self.first, now - self.late) <= period <= now + MARGIN


@dataclass(eq=False)
class Process:
    """What one process knows. Its clock is at most MARGIN ahead."""

    world: World
    kind: str
    record: Record
    late: int
    ahead: int
    pace: float = 1.0
    """How often it acts when it could."""
    log: int = 0
    """The log to which it appends."""
    members: frozenset[int] = frozenset()
    """The members whose older images it may know."""

    @property
    def clock(self) -> int:
        return self.world.now + self.ahead

    def expires(self, period: int) -> int:
        """Return the period from which on nobody reads a period."""
        return period + self.keeps + MARGIN + 1

    @property
    def keeps(self) -> int:
        """How long counts and list items of an ended period are kept."""
        return self.late if self.world.on(Rule.BY_DEFINITION) else self.world.record.late

    def kept_from(self, stamp: int) -> int:
        """Return the first period for which the steps of an image with this stamp are complete."""
        low = stamp - self.late - (MARGIN if self.world.on(Rule.MARGIN) else 0)
        return low // SLAB * SLAB if self.world.on(Rule.SLABS) else low


@dataclass
class World:
    """Everything in one schedule."""

    rng: Random
    off: frozenset[Rule]
    late: int
    late_before: int = 0
    deployed: int = -ROLLOUT
    now: int = 10
    turn: int = 0
    images: dict[int, Image] = field(default_factory=dict)
    facts: dict[int, Image] = field(default_factory=dict)
    """The members' items as they would be if nothing was ever trimmed. No process can read them."""
    streams: tuple[list[Change], list[Change]] = field(default_factory=lambda: ([], []))
    parked: list[Change] = field(default_factory=list)
    generations: dict[int, Generation] = field(default_factory=lambda: {0: Generation()})
    record: Record = field(init=False)
    record_before: Record = field(init=False)
    record_since: int = -CACHE
    locked: set[tuple[object, ...]] = field(default_factory=set)
    projected: dict[int, int] = field(default_factory=dict)
    """The version up to which the records of each member are projected or parked."""
    running: list[Process] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.record = self.record_before = Record(self.late)

    def on(self, rule: Rule) -> bool:
        return rule not in self.off

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def process(self, kind: str) -> Process:
        """Begin a process. Whoever writes takes off the record what its own definition does not keep."""
        late = self.late
        if self.turn - self.deployed < ROLLOUT and self.chance(0.5):
            late = self.late_before
        cached = self.turn - self.record_since < CACHE and self.chance(0.5)
        if kind != "reader":
            self.record = self.record.taken_off(late)
        record = self.record_before if cached else self.record
        ahead, pace = self.rng.choice((0, 0, 0, MARGIN)), self.rng.choice((1.0, 1.0, 1.0, 0.1, 0.04))
        return Process(self, kind, record, late, ahead, pace, self.rng.randrange(3))

    def enter(self, record: Record) -> None:
        """Write the next phase of a rebuild into the record."""
        self.record_before = self.record
        self.record = replace(record, phase=self.record.phase + 1)
        self.record_since = self.turn

    def deploy(self, late: int) -> None:
        """Deploy a definition that keeps ended periods for `late`."""
        self.late_before, self.late, self.deployed = self.late, late, self.turn

    def spans(self, steps: Steps) -> dict[int, tuple[int, int]]:
        return spans(steps, slabs=self.on(Rule.SLABS))
