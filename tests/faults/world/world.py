"""The world of a schedule: its clock, its random numbers, its services and its processes."""

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
from tests.faults.notes.keeping import with_notes
from tests.faults.script import Script
from tests.faults.shapes import shape
from tests.faults.traps import FAULTS, TRAPS
from tests.support.awslambda import settings

from .comparison import Comparison
from .delays import Delays
from .parked import Parked
from .people import People
from .watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.aws.tables import Store

    from .running import Options

MAX_STEPS: Final = 1_000_000
LIFETIME: Final = settings.timeout("ProjectorFunction")
"""The timeout of the functions, in seconds."""
POLLS: Final = 250_000  # Microseconds between two polls


class World:
    """Everything in one schedule."""

    def __init__(self, seed: int, options: Options) -> None:
        self.seed = seed
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
        """Draw the kind of the schedule."""
        self.shape = shape(rng, changed=rng.random() < 0.3)
        self.fault_rate = rate if (rate := self.options.fault_rate) is not None else rng.choice([0.05, 0.1, 0.15])
        self.shape = self.shape.wider(self.fault_rate) if not self.options.notes else with_notes(self.shape)
        self.seesaw = rng.random() < 0.3
        """Whether scores change by so little that they often return to an earlier value."""
        self._skew = rng.choice([0, 2, 2, 2, 60]) * SECOND
        self.deployed = 0
        self.script = Script(self)
        self.began = self.script.began
        self.clock = Clockwork(self.began, MAX_STEPS)
        self.busy = rng.random() < 0.35
        """Whether many projectors run at once and trees are pruned often."""
        self.rebuilt = rng.random() < 0.35
        """Whether a board is rebuilt or deleted while events arrive."""
        self.lifetime = rng.choice([int(building_blocks.REPORTING_RESERVE) + 9, LIFETIME])
        """The timeout of an invocation in this schedule, in seconds."""

    def _build(self, rng: Random) -> None:
        """Build the services, and the pollers that invoke the functions."""
        shards, factor = rng.choice([(1, 3), (2, 2), (3, 1), (3, 2)] if not self.busy else [(2, 2), (2, 3), (3, 2)])
        if rng.random() < 0.05:
            factor = 10
        now = lambda: self.clock.now / 1_000_000  # noqa: E731
        self.store: Store = EngineStore(now, shards) if self.options.store is None else self.options.store(now)
        self.server = Server(self)
        self.sdk = Sdk(self)
        self.instances = Instances(self)
        self.queue = Queue(self, rng.choice([3, 10, settings.QUEUE.max_receive_count]))
        self.poller = Poller(
            self,
            len(self.store.stream),
            factor=factor,
            longest_wait=700_000 if self.busy else 3_000_000,
            batch_size=rng.choice([2, 5] if self.seesaw else [5, 20, 100]),
            max_age=rng.choice([60, 600, *[settings.STREAM.max_record_age] * 2]) * SECOND,
        )
        self.judge = Judge(self.shape, self.store, self.trap)
        self.delays = Delays(self)

    # ---- traps, faults and the trace

    def trap(self, name: str) -> None:
        """Count a trap that has happened. Raise KeyError if its name is not in TRAPS."""
        if name not in TRAPS:
            raise KeyError(name)
        self.traps[name] += 1

    def fault(self, name: str) -> None:
        """Count a fault. Raise KeyError if its name is not in FAULTS."""
        if name not in FAULTS:
            raise KeyError(name)
        self.faults[name] += 1
        self.note(name)

    def note(self, *step: Any) -> None:
        """Add a step to the digest and, if wanted, to the trace."""
        line = f"{self.clock.now} {step}"
        self._digest.update(line.encode())
        if self.options.trace:
            self.trace.append(line)

    def number(self) -> int:
        """Return the next number for the name of a process or of a parked object."""
        self._number += 1
        return self._number

    def round(self, delay: int) -> int:
        """Return the instant of the next poll after a delay. Many pollers poll at the same instant."""
        return (self.clock.now + delay) // POLLS * POLLS + POLLS + self.rng.randint(0, 4_000)

    def skew(self) -> int:
        """Draw how far a clock is ahead of virtual time, in microseconds."""
        return self.rng.randint(-self._skew, self._skew) if self._skew else 0

    # ---- the functions

    def _definition(self) -> str:
        """Return the `boards.toml` for an invocation now. During a deployment it may be the old or the new one."""
        later = self.deployed == 2 or (self.deployed == 1 and self.rng.random() < 0.5)
        return self.shape.later_text if later else self.shape.text

    def invoke(
        self, function: str, event: Any, detail: Any, heard: Callable[[Process, Any], None], kind: str = ""
    ) -> Process:
        """Invoke a function with an event. `heard` gets the answer, or the error."""
        instance = self.instances.take(function, self._definition())
        process = self._process(kind or function, instance, detail, heard)

        def run() -> None:
            try:
                answer = instance.handle(event, Context(self, self.lifetime))
            except Exception as error:  # noqa: BLE001 - Lambda answers any error
                self.note(process.name, repr(error))
                answer = error
            self.instances.give_back(instance)
            self.end(process, answer)

        self.clock.after(0, self.clock.start, process, run)
        return process

    def _process(self, kind: str, instance: Instance, detail: Any, heard: Callable[[Process, Any], None]) -> Process:
        """Create a process and schedule its timeout."""
        later = instance.definition != self.shape.text
        name = f"{kind}-{self.number()}/{'new' if later else 'old'}"
        process = Process(name, kind, self.clock.now, instance.skew, instance.definition, detail)
        process.deaths.append(lambda: self._died(process))
        self._heard[process] = heard
        if {other.name.partition("/")[2] for other in self.live} | {name.partition("/")[2]} == {"old", "new"}:
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

    def _died(self, process: Process) -> None:
        self.live.remove(process)
        self._answer(process, Died())

    def end(self, process: Process, answer: Any) -> None:
        """End a process and pass its answer on."""
        process.done = True
        self.live.remove(process)
        self.clock.after(0, self._answer, process, answer)

    def _answer(self, process: Process, answer: Any) -> None:
        heard = self._heard.pop(process, None)
        if heard is not None:
            self.note(process.name, answer)
            heard(process, answer)

    def forget(self, process: Process) -> None:
        """Answer a process's invoker with a timeout while the process goes on."""
        if process in self.live:
            self.fault("given up, and goes on unseen")
            self.trap("given up, and goes on unseen")
            process.frozen_until = self.clock.now + int(50_000 * 600 ** self.rng.random())
            self._answer(process, TimeoutError())

    def run(self) -> None:
        """Run the script to its end, then compare everything."""
        self.script.begin()
        self.delays.begin()
        try:
            self.clock.run()
        except StuckError as error:
            self.judge.differ(str(error))
        self.comparison.compare()
        if not self.comparison.is_quiet:
            self.judge.differ("expected no work to be left at the end, but some is")
        for event_id, contents in self.sent.items():
            lost = [sent for sent in contents if sent.body not in self.services.refused]
            if event_id not in self.judge.accepted and lost:
                self.judge.differ(f"event {event_id} is neither accepted nor refused")
            for sent in contents:
                self.judge.refused(sent, self.services.refused.get(sent.body, []))
                if not sent.good and sent.body not in self.services.refused:
                    self.judge.differ(f"event {event_id} should have been refused")

    def digest(self) -> str:
        """Return a digest of all steps and of the tables at the end."""
        items = sorted(
            repr(
                [
                    (name, sorted(value) if isinstance(value, frozenset) else value)
                    for name, value in sorted(item.items())
                ]
            )
            for table in ("Scores", "Rankings")
            for item in self.store.items(table)
        )
        self._digest.update("".join(items).encode())
        return self._digest.hexdigest()
