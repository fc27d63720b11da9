"""How records of the stream are delivered, and Lambda's poller of it, as AWS documents them.

https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.faults.clockwork import DAY, HOUR, SECOND
from tests.support.awslambda.batch_answers import BadAnswerError, failed_ids

if TYPE_CHECKING:
    from tests.faults.clockwork import Process
    from tests.faults.world.world import World

OLDEST: Final = 12 * HOUR
"""MaximumRecordAgeInSeconds of the stream's mapping."""


@dataclass(eq=False)
class Told:
    """A record of the stream, and what the driver sees in it."""

    record: dict[str, Any]
    key: tuple[str, str]
    before: int
    version: int
    old: dict[str, Any]
    new: dict[str, Any]
    at: int

    @property
    def sequence(self) -> str:
        return str(self.record["dynamodb"]["SequenceNumber"])


@dataclass(eq=False)
class Batch:
    """Some records on their way to a projector, and what came of it."""

    reader: Reader
    start: int
    told: list[Told]
    commits: int = 0
    last: dict[tuple[str, str], Told] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.last = {told.key: told for told in self.told}

    @property
    def end(self) -> int:
        return self.start + len(self.told)


class Reader:
    """One shard's records of some items, in order: with a parallelization factor there are several of a shard."""

    def __init__(self, poller: Poller, name: str) -> None:
        self.name = name
        self.told: list[Told] = []
        self.position = 0
        self._poller = poller
        self._world = poller.world
        self._rng = poller.world.rng
        self._busy = False
        self._failures = 0
        self._most: int | None = None
        self._failed: Batch | None = None

    @property
    def is_drained(self) -> bool:
        return self.position >= len(self.told) and not self._busy

    def poke(self) -> None:
        if self._busy or self.position >= len(self.told):
            return
        self._busy = True
        at = self._world.round(self._rng.randint(10_000, self._poller.longest_wait))
        self._world.clock.at(max(at, self._poller.paused_until), self._begin)

    def _begin(self) -> None:
        most = self._most or self._poller.batch_size
        size = most if self._rng.random() < 0.4 else self._rng.randint(1, most)
        batch = Batch(self, self.position, self.told[self.position : self.position + size])
        if self._world.clock.now - batch.told[0].at > OLDEST:
            self._give_up(batch.told, "too old")
            self._end()
            return
        before = self._failed
        if before is not None and before.start == batch.start and before.end != batch.end and before.commits:
            self._world.trap("done, not acknowledged, cut anew")
        self._poller.look(batch)
        process = self._world.invoke("projector", {"Records": [told.record for told in batch.told]}, batch, self._heard)
        if self._rng.random() < self._poller.forgets:
            # The poller hears nothing more of it, and delivers again while it goes on unseen, or begins only then.
            self._world.clock.after(
                self._rng.choice([0, self._rng.randint(1_000, 60_000)]), self._world.forget, process
            )

    def _heard(self, process: Process, answer: Any) -> None:
        batch: Batch = process.detail
        numbers = [told.sequence for told in batch.told]
        try:
            if isinstance(answer, BaseException):
                raise answer
            failed = failed_ids(answer, set(numbers))
        except BadAnswerError:
            raise
        except BaseException:  # noqa: BLE001 - a failed invocation, whatever it was
            self._world.fault("batch delivered again")
            if len(batch.told) > 1:
                self._world.trap("bisected")
                self._most = max(1, len(batch.told) // 2)
            else:
                self._retry(batch, len(batch.told))
            self._failed = batch
        else:
            self._done(batch, min(map(numbers.index, failed)) if failed else len(numbers))
        self._end()

    def _done(self, batch: Batch, done: int) -> None:
        self._poller.projected(batch, done)
        if done:
            self._go_to(batch.start + done)
        if done < len(batch.told):
            self._world.fault("batch delivered again from a record on")
            self._failed = batch if not done else None
            self._retry(batch, len(batch.told) - done)
        elif self._rng.random() < 0.12:
            # What was done was not written down: everything from an older checkpoint comes again.
            self._world.fault("replayed from an older checkpoint")
            self._failed = batch
            kept = self._world.clock.now - DAY
            back = max(0, batch.start - self._rng.randint(0, 8))
            self._go_to(next((n for n in range(back, batch.start) if self.told[n].at > kept), batch.start))
            self._most = self._rng.choice([1, 2, None])

    def _retry(self, batch: Batch, count: int) -> None:
        self._failures += 1
        if self._failures > self._poller.most_retries:
            start = batch.end - count
            self._give_up(batch.told[start - batch.start :], "too many attempts")

    def _give_up(self, told: list[Told], why: str) -> None:
        self._world.fault(f"given up: {why}")
        self._world.parked.park([each.record for each in told])
        self._go_to(self.position + len(told))

    def _go_to(self, position: int) -> None:
        self.position, self._failures, self._most = position, 0, None

    def _end(self) -> None:
        self._busy = False
        self.poke()


class Poller:
    """The stream's mapping to the projector."""

    def __init__(
        self, world: World, shards: int, factor: int, batch_size: int, most_retries: int, longest_wait: int
    ) -> None:
        self.world = world
        self.longest_wait = longest_wait
        self.forgets = 0.2 if world.seesaw else 0.08
        """The chance that nothing is heard of an attempt."""
        self.batch_size = batch_size
        self.most_retries = most_retries
        self.paused_until = 0
        self.readers = [[Reader(self, f"{shard}.{number}") for number in range(factor)] for shard in range(shards)]
        self.highest: dict[tuple[str, str], Told] = {}
        self._taken = [0] * shards

    @property
    def is_drained(self) -> bool:
        return all(reader.is_drained for readers in self.readers for reader in readers)

    def take(self, stream: Any) -> None:
        """Take in what is new in the stream."""
        for number, shard in enumerate(stream):
            while self._taken[number] < len(shard):
                record = shard[self._taken[number]]
                self._taken[number] += 1
                told = self.told(record)
                readers = self.readers[number]
                reader = readers[zlib.crc32(repr(told.key).encode()) % len(readers)]
                reader.told.append(told)
                reader.poke()

    def told(self, record: dict[str, Any]) -> Told:
        detail = record["dynamodb"]
        keys = detail["Keys"]
        old, new = detail.get("OldImage"), detail.get("NewImage")
        before = int(old["v"]["N"]) if old and "v" in old else 0
        version = int(new["v"]["N"]) if new and "v" in new else before + 1
        at = self.world.clock.now
        # DynamoDB Local goes by the clock on the wall.
        detail["ApproximateCreationDateTime"] = at // SECOND
        return Told(record, (keys["pk"]["S"], keys["sk"]["S"]), before, version, _scores(old), _scores(new), at)

    def look(self, batch: Batch) -> None:
        """See which traps a batch walks into."""
        firsts: dict[tuple[str, str], Told] = {}
        for told in batch.told:
            first = firsts.setdefault(told.key, told)
            if first is not told and _came_back(first.old, first.new, told.new):
                self.world.trap("there and back")
        for key, last in batch.last.items():
            high = self.highest.get(key)
            if high is not None and high.version > last.version:
                self.world.trap("delivered after newer")
                if _came_back(firsts[key].old, last.new, high.new):
                    self.world.trap("there and back, the middle late")
        for process in self.world.live:
            other = process.detail
            if isinstance(other, Batch):
                for key, last in batch.last.items():
                    beside = other.last.get(key)
                    if beside is not None and beside.version != last.version:
                        self.world.trap("a late hand")

    def projected(self, batch: Batch, done: int) -> None:
        for told in batch.told[:done]:
            high = self.highest.get(told.key)
            if high is None or high.version < told.version:
                self.highest[told.key] = told


def _scores(image: dict[str, Any] | None) -> dict[str, Any]:
    """What of an image says where its member stands."""
    return {name: value for name, value in (image or {}).items() if name not in ("pk", "sk", "v", "t", "g", "e")}


def _came_back(first: dict[str, Any], middle: dict[str, Any], last: dict[str, Any]) -> bool:
    """Whether something is as it was, and was otherwise in between."""
    return any(first.get(name) == last.get(name) != middle.get(name) for name in (first | middle | last))
