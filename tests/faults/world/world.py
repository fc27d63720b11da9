"""The world of a schedule: its clock, its chance, the processes that live in it."""

from __future__ import annotations

import hashlib
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any, Final

from standings.wiring import building_blocks
from tests.faults.aws.queue import Queue
from tests.faults.aws.sdk import Sdk
from tests.faults.aws.server import Server
from tests.faults.aws.services import Services
from tests.faults.aws.stream import Poller
from tests.faults.aws.tables import EngineStore
from tests.faults.clockwork import SECOND, Clockwork, Died, Process, StuckError
from tests.faults.instances import Context, Instance, Instances
from tests.faults.judge import Judge, Sent
from tests.faults.script import Script
from tests.faults.shapes import shape
from tests.faults.traps import FAULTS, TRAPS

from .comparison import Comparison
from .parked import Parked
from .people import People
from .watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.aws.tables import Store

    from .running import Options

MAX_STEPS: Final = 60_000
LIFETIME: Final = 60
"""Seconds that an invocation may take at most: the functions' timeout."""
POLLS: Final = 250_000
"""Microseconds between two looks of a poller."""


class World:
    """All there is in one schedule."""

    def __init__(self, seed: int, options: Options) -> None:
        self.rng = rng = Random(seed)
        self.options = options
        self.traps: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.calls = 0
        self.workers = 0
        self.live: list[Process] = []
        self.sent: dict[str, list[Sent]] = {}
        self.trace: list[str] = []
        self._digest = hashlib.blake2b(digest_size=16)
        self.bodies: dict[str, Sent] = {}
        self._number = 0
        self._heard: dict[Process, Callable[[Process, Any], None]] = {}
        self.people = People(self)
        self.watch = Watch(self)
        self.parked = Parked(self)
        self.services = Services(self)
        self.comparison = Comparison(self)
        self._draw(rng)
        self._build(rng)

    def _draw(self, rng: Random) -> None:
        """What kind of schedule it is."""
        options = self.options
        changed = rng.random() < 0.3
        self.shape = shape(rng, changed=changed)
        self.fault_rate = rng.choice([0.05, 0.1, 0.15]) if options.fault_rate is None else options.fault_rate
        self.seesaw = rng.random() < 0.3
        """Whether scores go up and down by so little that they are often what they were."""
        self._skew = rng.choice([0, 2, 2, 2, 60]) * SECOND
        self.deployed = 0
        self.script = Script(self)
        self.began = self.script.began
        self.clock = Clockwork(self.began, MAX_STEPS)
        self.busy = rng.random() < 0.35
        """Whether projectors crowd, and trees are cleaned whenever there is a chance."""
        self.rebuilt = rng.random() < 0.35
        """Whether a board is made anew while events go on."""
        self.lifetime = rng.choice([int(building_blocks.REPORTING_RESERVE) + 9, LIFETIME])
        """Seconds that an invocation may take."""

    def _build(self, rng: Random) -> None:
        """The services, and what is between them and the functions."""
        options = self.options
        shards, factor = rng.choice([(1, 3), (2, 2), (3, 1), (3, 2)] if not self.busy else [(2, 2), (2, 3), (3, 2)])
        if rng.random() < 0.05:
            factor = 10
        now = lambda: self.clock.now / 1_000_000  # noqa: E731
        self.store: Store = EngineStore(now, shards) if options.store is None else options.store(now)
        self.server = Server(self)
        self.sdk = Sdk(self)
        self.instances = Instances(self)
        self.queue = Queue(self, rng.choice([3, 10, 10]))
        self.poller = Poller(
            self,
            len(self.store.stream),
            factor=factor,
            longest_wait=700_000 if self.busy else 3_000_000,
            batch_size=rng.choice([2, 5] if self.seesaw else [5, 20, 100]),
            most_retries=rng.choice([0, 2, 100, 100]),
        )
        self.judge = Judge(self.shape, self.store, self.trap)

    # ---- what is seen

    def trap(self, name: str) -> None:
        """Count a trap that was seen to happen; one that has no name here is a mistake."""
        if name not in TRAPS:
            raise KeyError(name)
        self.traps[name] += 1

    def fault(self, name: str) -> None:
        """Count something that goes wrong; one that has no name here is a mistake."""
        if name not in FAULTS:
            raise KeyError(name)
        self.faults[name] += 1
        self.note(name)

    def note(self, *what: Any) -> None:
        line = f"{self.clock.now} {what}"
        self._digest.update(line.encode())
        if self.options.trace:
            self.trace.append(line)

    def number(self) -> int:
        """The next number of a process, or of something that is kept."""
        self._number += 1
        return self._number

    def round(self, delay: int) -> int:
        """An instant after a while, at which pollers look: several times a second, many of them at once."""
        return (self.clock.now + delay) // POLLS * POLLS + POLLS + self.rng.randint(0, 4_000)

    def skew(self) -> int:
        return self.rng.randint(-self._skew, self._skew) if self._skew else 0

    # ---- the functions

    def definition(self) -> str:
        """The `boards.toml` of the instance that takes an invocation now."""
        later = self.deployed == 2 or (self.deployed == 1 and self.rng.random() < 0.5)
        return self.shape.later_text if later else self.shape.text

    def invoke(
        self, function: str, event: Any, detail: Any, heard: Callable[[Process, Any], None], kind: str = ""
    ) -> Process:
        """Have an instance of a function take an event, from the next moment on."""
        instance = self.instances.take(function, self.definition())
        process = self.process(kind or function, instance, detail, heard)

        def run() -> None:
            try:
                answer = instance.handle(event, Context(self, self.lifetime))
            except Exception as error:  # noqa: BLE001 - as Lambda does, whatever it is
                self.note(process.name, repr(error))
                answer = error
            self.instances.give_back(instance)
            self.end(process, answer)

        self.clock.after(0, self.clock.start, process, run)
        return process

    def process(
        self, kind: str, instance: Instance | None, detail: Any, heard: Callable[[Process, Any], None]
    ) -> Process:
        later = instance is not None and instance.definition != self.shape.text
        name = f"{kind}-{self.number()}/{'new' if later else 'old'}"
        definition = instance.definition if instance is not None else self.definition()
        skew = instance.skew if instance is not None else self.skew()
        process = Process(name, kind, self.clock.now, skew, definition, detail)
        process.deaths.append(lambda: self._gone(process))
        self._heard[process] = heard
        if {one.name.partition("/")[2] for one in self.live} | {name.partition("/")[2]} == {"old", "new"}:
            self.trap("two definitions at work")
        self.live.append(process)
        self.workers = max(self.workers, len(self.live))
        self.clock.after(self.lifetime * SECOND, self._time_out, process)
        return process

    def _time_out(self, process: Process) -> None:
        if process in self.live:
            self.fault("timed out")
            self.trap("timed out")
            self.clock.die(process)

    def _gone(self, process: Process) -> None:
        self.live.remove(process)
        self._tell(process, Died())

    def end(self, process: Process, answer: Any) -> None:
        process.done = True
        self.live.remove(process)
        self.clock.after(0, self._tell, process, answer)

    def _tell(self, process: Process, answer: Any) -> None:
        heard = self._heard.pop(process, None)
        if heard is not None:
            self.note(process.name, answer)
            heard(process, answer)

    def forget(self, process: Process) -> None:
        """Whoever has invoked a process hears nothing more of it."""
        if process in self.live:
            self.fault("given up, and goes on unseen")
            self.trap("given up, and goes on unseen")
            process.frozen_until = self.clock.now + int(50_000 * 600 ** self.rng.random())
            self._tell(process, TimeoutError())

    def run(self) -> None:
        self.script.begin()
        try:
            self.clock.run()
        except StuckError as error:
            self.judge.differ(str(error))
        self.comparison.compare()
        if not self.comparison.is_quiet:
            self.judge.differ("not everything is done in the end")
        for event_id, contents in self.sent.items():
            bad = [one.body for one in contents if one.body not in self.services.refused]
            if event_id not in self.judge.accepted and bad:
                self.judge.differ(f"event {event_id} is neither accepted nor refused")
            for one in contents:
                self.judge.refused(one, self.services.refused.get(one.body, []))
                if not one.good and one.body not in self.services.refused:
                    self.judge.differ(f"event {event_id} should have been refused")

    def digest(self) -> str:
        whole = sorted(
            repr(
                [
                    (name, sorted(value) if isinstance(value, frozenset) else value)
                    for name, value in sorted(item.items())
                ]
            )
            for table in ("Scores", "Rankings")
            for item in self.store.items(table)
        )
        self._digest.update("".join(whole).encode())
        return self._digest.hexdigest()
