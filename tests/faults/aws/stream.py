"""The DynamoDB stream and the Lambda poller that delivers its records to the projector, as AWS documents them.

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
"""MaximumRecordAgeInSeconds of the event source mapping."""


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
        self._failures = 0
        self._most: int | None = None
        self._failed: Batch | None = None

    @property
    def is_drained(self) -> bool:
        return self.position >= len(self.records) and not self._busy

    def poke(self) -> None:
        if self._busy or self.position >= len(self.records):
            return
        self._busy = True
        at = self._world.round(self._rng.randint(10_000, self._poller.longest_wait))
        self._world.clock.at(max(at, self._poller.paused_until), self._begin)

    def _begin(self) -> None:
        most = self._most or self._poller.batch_size
        size = most if self._rng.random() < 0.4 else self._rng.randint(1, most)
        batch = Batch(self, self.position, self.records[self.position : self.position + size])
        if self._world.clock.now - batch.records[0].at > OLDEST:
            self._give_up(batch.records, "too old")
            self._end()
            return
        before = self._failed
        if before is not None and before.start == batch.start and before.end != batch.end and before.commits:
            self._world.trap("done, not acknowledged, cut anew")
        self._poller.record_traps(batch)
        process = self._world.invoke(
            "projector", {"Records": [record.content for record in batch.records]}, batch, self._heard
        )
        if self._rng.random() < self._poller.forgets:
            # The poller gives the invocation up and delivers again, while the first one still runs or even before it.
            self._world.clock.after(
                self._rng.choice([0, self._rng.randint(1_000, 60_000)]), self._world.forget, process
            )

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
            if len(batch.records) > 1:
                self._world.trap("bisected")
                self._most = max(1, len(batch.records) // 2)
            else:
                self._retry(batch, len(batch.records))
            self._failed = batch
        else:
            self._done(batch, min(map(numbers.index, failed)) if failed else len(numbers))
        self._end()

    def _done(self, batch: Batch, done: int) -> None:
        self._poller.projected(batch, done)
        if done:
            self._go_to(batch.start + done)
        if done < len(batch.records):
            self._world.fault("batch delivered again from a record on")
            self._failed = batch if not done else None
            self._retry(batch, len(batch.records) - done)
        elif self._rng.random() < 0.12:
            # The poller lost its checkpoint and delivers everything from an older one again.
            self._world.fault("replayed from an older checkpoint")
            self._failed = batch
            oldest = self._world.clock.now - DAY
            back = max(0, batch.start - self._rng.randint(0, 8))
            self._go_to(next((n for n in range(back, batch.start) if self.records[n].at > oldest), batch.start))
            self._most = self._rng.choice([1, 2, None])

    def _retry(self, batch: Batch, count: int) -> None:
        self._failures += 1
        if self._failures > self._poller.most_retries:
            start = batch.end - count
            self._give_up(batch.records[start - batch.start :], "too many attempts")

    def _give_up(self, records: list[Record], reason: str) -> None:
        self._world.fault(f"given up: {reason}")
        self._world.parked.park([record.content for record in records])
        self._go_to(self.position + len(records))

    def _go_to(self, position: int) -> None:
        self.position, self._failures, self._most = position, 0, None

    def _end(self) -> None:
        self._busy = False
        self.poke()


class Poller:
    """The event source mapping from the stream to the projector."""

    def __init__(
        self, world: World, shards: int, factor: int, batch_size: int, most_retries: int, longest_wait: int
    ) -> None:
        self.world = world
        self.longest_wait = longest_wait
        self.forgets = 0.2 if world.seesaw else 0.08
        """The probability that the poller gives an invocation up."""
        self.batch_size = batch_size
        self.most_retries = most_retries
        self.paused_until = 0
        self.readers = [[Reader(self, f"{shard}.{number}") for number in range(factor)] for shard in range(shards)]
        self.highest: dict[tuple[str, str], Record] = {}
        self._taken = [0] * shards

    @property
    def is_drained(self) -> bool:
        return all(reader.is_drained for readers in self.readers for reader in readers)

    def take(self, stream: Any) -> None:
        """Take the new records from the stream."""
        for number, shard in enumerate(stream):
            while self._taken[number] < len(shard):
                record = self.record(shard[self._taken[number]])
                self._taken[number] += 1
                readers = self.readers[number]
                reader = readers[zlib.crc32(repr(record.key).encode()) % len(readers)]
                reader.records.append(record)
                reader.poke()

    def record(self, content: dict[str, Any]) -> Record:
        """Parse a stream record and set its time."""
        detail = content["dynamodb"]
        keys = detail["Keys"]
        old, new = detail.get("OldImage"), detail.get("NewImage")
        before = int(old["v"]["N"]) if old and "v" in old else 0
        version = int(new["v"]["N"]) if new and "v" in new else before + 1
        at = self.world.clock.now
        # DynamoDB Local writes the real time, so replace it by virtual time.
        detail["ApproximateCreationDateTime"] = at // SECOND
        return Record(content, (keys["pk"]["S"], keys["sk"]["S"]), before, version, _scores(old), _scores(new), at)

    def record_traps(self, batch: Batch) -> None:
        """Record the traps that a batch meets."""
        firsts: dict[tuple[str, str], Record] = {}
        for record in batch.records:
            first = firsts.setdefault(record.key, record)
            if first is not record and _came_back(first.old, first.new, record.new):
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
        """Keep the highest version of each item among the first records of a batch, which are done."""
        for record in batch.records[:done]:
            high = self.highest.get(record.key)
            if high is None or high.version < record.version:
                self.highest[record.key] = record


def _scores(image: dict[str, Any] | None) -> dict[str, Any]:
    """Return the attributes of an image that decide about the member's places."""
    return {name: value for name, value in (image or {}).items() if name not in ("pk", "sk", "v", "t", "g", "e")}


def _came_back(first: dict[str, Any], middle: dict[str, Any], last: dict[str, Any]) -> bool:
    """Return whether an attribute of the last image is as in the first, but not as in the middle one."""
    return any(first.get(name) == last.get(name) != middle.get(name) for name in (first | middle | last))
