"""The part of the stream's event source mapping that delivers some items of one shard, with Lambda's rules.

- A batch whose function reports sequence numbers is delivered again from the lowest one on. The rest of it is one
  batch, or is cut anew.
- A batch that fails as a whole is split in halves, which are delivered one after the other. A split is no try.
- A batch is tried until its records are too old. Then it goes to the failure bucket, and later ones are delivered.

https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.faults.clockwork import DAY, SECOND
from tests.support.awslambda import settings
from tests.support.awslambda.batch_answers import BadAnswerError, failed_ids

if TYPE_CHECKING:
    from tests.faults.clockwork import Process

    from .stream import Poller


IN_A_HURRY: Final = 300
"""Tries of a batch after which Lambda waits longer and longer. Else hours of faults at every other call had no end."""
LONGEST_WAIT: Final = 600 * SECOND


@dataclass(eq=False)
class Record:
    """A stream record, with its parsed key, versions and images."""

    content: dict[str, Any]
    key: tuple[str, str]
    before: int
    version: int
    old: dict[str, Any]
    new: dict[str, Any]
    at: int

    @property
    def sequence(self) -> str:
        return str(self.content["dynamodb"]["SequenceNumber"])


@dataclass(eq=False)
class Batch:
    """A batch of records for a projector, with the number of its commits and the last record of each key."""

    reader: Reader
    start: int
    records: list[Record]
    tries: int = 0
    """How often these records were tried before."""
    commits: int = 0
    last: dict[tuple[str, str], Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.last = {record.key: record for record in self.records}

    @property
    def end(self) -> int:
        return self.start + len(self.records)


class Reader:
    """Delivers the records of some items of one shard in order. A parallelization factor gives a shard several."""

    def __init__(self, poller: Poller, name: str) -> None:
        self.name = name
        self.records: list[Record] = []
        self.position = 0
        self._poller = poller
        self._world = poller.world
        self._rng = poller.world.rng
        self._busy = False
        self._tries = 0
        self._ends: list[int] = []
        """Where the parts of a split batch end, the nearest one last."""
        self._failed: Batch | None = None

    @property
    def is_drained(self) -> bool:
        return self.position >= len(self.records) and not self._busy

    def poke(self) -> None:
        if self._busy or self.position >= len(self.records):
            return
        self._busy = True
        wait = self._rng.randint(10_000, self._poller.longest_wait)
        if self._tries > IN_A_HURRY:
            wait = min(wait << min(self._tries - IN_A_HURRY, 20), LONGEST_WAIT)
        self._world.clock.at(max(self._world.round(wait), self._poller.paused_until), self._begin)

    def _begin(self) -> None:
        if self._world.clock.now < self._poller.paused_until:  # disabled in the meantime
            self._world.clock.at(self._poller.paused_until, self._begin)
            return
        if self._has_given_up():
            self._end()
            return
        batch = self._cut()
        before = self._failed
        if before is not None and before.start == batch.start and before.end != batch.end and before.commits:
            self._world.trap("done, not acknowledged, cut anew")
        self._poller.record_traps(batch)
        self._tries += 1
        process = self._world.invoke(
            "projector", {"Records": [record.content for record in batch.records]}, batch, self._heard
        )
        if self._rng.random() < self._poller.forgets:
            # The poller gives the invocation up and delivers again, while the first one still runs or even before it.
            self._world.clock.after(
                self._rng.choice([0, self._rng.randint(1_000, 60_000)]), self._world.forget, process
            )

    def _cut(self) -> Batch:
        """Return the next batch: the rest of a part, or a new one."""
        most = self._poller.batch_size
        size = most if self._rng.random() < 0.4 else self._rng.randint(1, most)
        end = self._ends[-1] if self._ends else self.position + size
        return Batch(self, self.position, self.records[self.position : end], self._tries)

    def _heard(self, process: Process, answer: Any) -> None:
        batch: Batch = process.detail
        numbers = [record.sequence for record in batch.records]
        try:
            if isinstance(answer, BaseException):
                raise answer
            failed = failed_ids(answer, set(numbers))
        except BadAnswerError:
            raise
        except BaseException:  # noqa: BLE001 - any error fails the invocation
            self._world.fault("batch delivered again")
            self._failed = batch
            if len(batch.records) > 1 and settings.STREAM.bisects:
                self._world.trap("bisected")
                self._ends = [*(self._ends or [batch.end]), batch.start + len(batch.records) // 2]
        else:
            self._done(batch, min(map(numbers.index, failed)) if failed and settings.STREAM.reports else len(numbers))
        self._end()

    def _done(self, batch: Batch, done: int) -> None:
        self._poller.projected(batch, done)
        if done:
            self._go_to(batch.start + done)
        if done < len(batch.records):
            self._world.fault("batch delivered again from a record on")
            self._failed = batch if not done else None
            # Lambda delivers the rest of the batch, or another poller takes over and cuts anew.
            self._ends = [batch.end] if self._rng.random() < 0.5 else []
            if self._ends and done:
                self._world.trap("split at the reported record")
        elif self._rng.random() < 0.12:
            # The poller lost its checkpoint and delivers everything from an older one again.
            self._world.fault("replayed from an older checkpoint")
            self._failed = batch
            oldest = self._world.clock.now - DAY
            back = max(0, batch.start - self._rng.randint(0, 8))
            self._go_to(next((n for n in range(back, batch.start) if self.records[n].at > oldest), batch.start))
            self._ends = self._rng.choice([[self.position + 1], [self.position + 2], []])

    def _has_given_up(self) -> bool:
        """Give up the records that are too old, if there are any at the position."""
        oldest = self._world.clock.now - self._poller.max_age
        end = self.position
        while end < len(self.records) and self.records[end].at < oldest:
            end += 1
        if end == self.position:
            return False
        self._world.fault("given up: too old")
        if not self._tries:
            self._world.trap("given up without a try")
        if settings.STREAM.keeps_failures:
            self._world.parked.park([record.content for record in self.records[self.position : end]], self._tries)
        self._go_to(end)
        return True

    def _go_to(self, position: int) -> None:
        self.position, self._tries = position, 0
        self._ends = [end for end in self._ends if end > position]

    def _end(self) -> None:
        self._busy = False
        self.poke()
