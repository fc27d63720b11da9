"""The DynamoDB stream, and the event source mapping that delivers its records to the projector."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from tests.faults.clockwork import SECOND

from .reader import Batch, Reader, Record

if TYPE_CHECKING:
    from tests.faults.world.world import World

__all__ = ["Batch", "Poller", "Record"]


class Poller:
    """The event source mapping from the stream to the projector."""

    def __init__(
        self, world: World, shards: int, factor: int, batch_size: int, max_age: int, longest_wait: int
    ) -> None:
        self.world = world
        self.longest_wait = longest_wait
        self.forgets = 0.2 if world.seesaw else 0.08
        """The probability that the poller gives an invocation up."""
        self.batch_size = batch_size
        self.max_age = max_age
        """MaximumRecordAgeInSeconds, in microseconds."""
        self.paused_until = 0
        """Until then the mapping is disabled, or busy with something else."""
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
