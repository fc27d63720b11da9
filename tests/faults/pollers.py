"""The queue and the stream of a schedule, with the pollers that invoke writers and projectors, as AWS documents them.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues-at-least-once-delivery.html
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
"""

import zlib
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Final

from tests.support.awslambda import pollers, settings
from tests.support.awslambda.pollers import Message, failed_ids, record_of

from .clockwork import DAY, SECOND, Process

if TYPE_CHECKING:
    from .judge import Sent
    from .world import World


# ---- the queue

VISIBILITY: Final = settings.QUEUE.visibility * SECOND
MAX_WRITERS: Final = 3
HISTORY: Final = {"history": {"DataType": "String", "StringValue": "true"}}


@dataclass(eq=False)
class Taken:
    """A batch of messages for a writer, with the first event of each id in it."""

    messages: list[Message]
    events: "dict[str, Sent]"


class Queue:
    """The queue of events, its dead-letter queue, and the poller that invokes writers with batches."""

    def __init__(self, world: "World", most_received: int) -> None:
        self._world = world
        self._rng = world.rng
        self._most_received = most_received
        self._visible: list[Message] = []
        self._writers = 0
        self._polling = False
        self._sent = 0
        self.hidden = 0
        """The number of messages that a writer has or that wait for their visibility timeout."""

    @property
    def is_empty(self) -> bool:
        return not self._visible and not self.hidden

    def send(self, body: str) -> None:
        self._sent += 1
        self._world.judge.posted(self._world.bodies[body].id)
        attributes = HISTORY if self._world.bodies[body].history else {}
        self._show(Message(body, attributes, self._world.clock.now // 1000, f"message-{self._sent}"))

    def _show(self, message: Message) -> None:
        self._visible.append(message)
        self._poke()

    def _poke(self) -> None:
        if not self._polling and self._visible and self._writers < MAX_WRITERS:
            self._polling = True
            self._world.clock.at(self._world.round(self._rng.randint(200_000, 2_000_000)), self._poll)

    def _poll(self) -> None:
        self._polling = False
        taken: list[Message] = []
        most = self._rng.choice([8, 25, 60])
        self._rng.shuffle(self._visible)
        while self._visible and len(taken) < most:
            message = self._visible.pop()
            if message.received >= self._most_received:
                self._world.fault("received too often")
                self._world.people.dead_lettered(message)
                continue
            message.received += 1
            taken.append(message)
            if self._rng.random() < 0.03:
                # SQS delivers at least once: another of its servers may deliver the message again.
                self._world.fault("duplicate delivery")
                self._visible.append(message)
        taken = list({message.message_id: message for message in taken}.values())
        if taken:
            self.hidden += len(taken)
            self._writers += 1
            records = [record_of(message) for message in taken]
            events: dict[str, Sent] = {}
            for message in taken:
                sent = self._world.bodies[message.body]
                if sent.good:
                    events.setdefault(sent.id, sent)
            self._world.invoke("writer", {"Records": records}, Taken(taken, events), self._heard)
        self._poke()

    def _heard(self, process: Process, answer: Any) -> None:
        """Delete the messages of a batch, or deliver them again. A failed invocation has an error as its answer."""
        self._writers -= 1
        messages: list[Message] = process.detail.messages
        failed = known = {message.message_id for message in messages}
        if isinstance(answer, BaseException):
            self._world.fault("batch delivered again")
        else:
            failed = failed_ids(answer, known)
        for message in messages:
            if message.message_id in failed:
                self._world.clock.after(VISIBILITY if self._rng.random() < 0.5 else 1_000, self._again, message)
            elif self._rng.random() < 0.03:
                self._world.fault("delivered although deleted")
                self._world.clock.after(self._rng.choice([1_000, SECOND, VISIBILITY]), self._again, message)
            else:
                self._world.clock.after(0, self._gone)
        self._poke()

    def _again(self, message: Message) -> None:
        self.hidden -= 1
        self._show(message)

    def _gone(self) -> None:
        self.hidden -= 1


# ---- the stream

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

    reader: "Reader"
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


class Reader(pollers.Reader):
    """Delivers the records of some items of one shard in order. A parallelization factor gives a shard several."""

    def __init__(self, poller: "Poller", name: str) -> None:
        super().__init__([])
        self.name = name
        self._poller = poller
        self._world = poller.world
        self._rng = poller.world.rng
        self._busy = False
        self._failed: Batch | None = None

    @property
    def is_drained(self) -> bool:
        return self.position >= len(self.shard) and not self._busy

    def poke(self) -> None:
        if self._busy or self.position >= len(self.shard):
            return
        self._busy = True
        wait = self._rng.randint(10_000, self._poller.longest_wait)
        if self.tries > IN_A_HURRY:
            wait = min(wait << min(self.tries - IN_A_HURRY, 20), LONGEST_WAIT)
        self._world.clock.at(max(self._world.round(wait), self._poller.paused_until), self._begin)

    def _begin(self) -> None:
        if self._world.clock.now < self._poller.paused_until:  # disabled in the meantime
            self._world.clock.at(self._poller.paused_until, self._begin)
            return
        if self._has_given_up():
            self._end()
            return
        most = self._poller.batch_size
        size = most if self._rng.random() < 0.4 else self._rng.randint(1, most)
        batch = Batch(self, self.position, self.cut(size), self.tries)
        before = self._failed
        if before is not None and before.start == batch.start and before.end != batch.end and before.commits:
            self._world.trap("done, not acknowledged, cut again")
        self._poller.record_traps(batch)
        self.tries += 1
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
        if isinstance(answer, BaseException):
            self._world.fault("batch delivered again")
            self._failed = batch
            if len(batch.records) > 1 and settings.STREAM.bisects:
                self._world.trap("bisected")
                self.halve(len(batch.records))
        else:
            numbers = [record.sequence for record in batch.records]
            failed = failed_ids(answer, set(numbers))
            self._done(batch, min(map(numbers.index, failed)) if failed and settings.STREAM.reports else len(numbers))
        self._end()

    def _done(self, batch: Batch, done: int) -> None:
        self._poller.projected(batch, done)
        if done:
            self.go_to(batch.start + done)
        if done < len(batch.records):
            self._world.fault("batch delivered again from a record on")
            self._failed = batch if not done else None
            # Lambda delivers the rest of the batch, or another poller takes over and cuts again.
            self.ends = [batch.end] if self._rng.random() < 0.9 else []
            if self.ends and done:
                self._world.trap("split at the reported record")
        elif self._rng.random() < 0.12:
            # The poller lost its checkpoint and delivers everything from an older one again.
            self._world.fault("replayed from an older checkpoint")
            self._failed = batch
            oldest = self._world.clock.now - DAY
            back = max(0, batch.start - self._rng.randint(0, 8))
            self.go_to(next((n for n in range(back, batch.start) if self.shard[n].at > oldest), batch.start))
            self.ends = self._rng.choice([[self.position + 1], [self.position + 2], []])

    def _has_given_up(self) -> bool:
        """Give up the records that are too old, if there are any at the position."""
        oldest = self._world.clock.now - self._poller.max_age
        end = self.position
        while end < len(self.shard) and self.shard[end].at < oldest:
            end += 1
        if end == self.position:
            return False
        self._world.fault("given up: too old")
        if not self.tries:
            self._world.trap("given up without a try")
        if settings.STREAM.keeps_failures:
            self._world.parked.park([record.content for record in self.shard[self.position : end]], self.tries)
        self.go_to(end)
        return True

    def _end(self) -> None:
        self._busy = False
        self.poke()


# ---- the mapping


class Poller:
    """The event source mapping from the stream to the projector."""

    def __init__(
        self, world: "World", shards: int, factor: int, batch_size: int, max_age: int, longest_wait: int
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
        for number, shard in enumerate(stream):
            while self._taken[number] < len(shard):
                record = self.record(shard[self._taken[number]])
                self._taken[number] += 1
                readers = self.readers[number]
                reader = readers[zlib.crc32(repr(record.key).encode()) % len(readers)]
                reader.shard.append(record)
                reader.poke()

    def record(self, content: dict[str, Any]) -> Record:
        detail = content["dynamodb"]
        keys = detail["Keys"]
        old, new = detail.get("OldImage"), detail.get("NewImage")
        before = int(old["v"]["N"]) if old and "v" in old else 0
        version = int(new["v"]["N"]) if new and "v" in new else before + 1
        at = self.world.clock.now
        # DynamoDB Local writes the real time, so replace it by virtual time.
        detail["ApproximateCreationDateTime"] = at // SECOND
        return Record(content, (keys["pk"]["S"], keys["sk"]["S"]), before, version, _scores(old), _scores(new), at)

    def stray(self, rng: Random) -> None:
        """Deliver an old record alone, as a poller does that has lost its shard to another; of a removed member first.

        Lambda delivers at least once. The record's answer changes nothing.
        """
        late = [
            (reader, number, "x" in newer.new)
            for readers in self.readers
            for reader in readers
            for number, record in enumerate(reader.shard[: reader.position])
            if record.at > self.world.clock.now - DAY
            and (newer := self.highest.get(record.key)) is not None
            and record.version < newer.version
        ]
        late = [each for each in late if each[-1]] or late
        if late:
            self.world.fault("delivered by a poller that lost its shard")
            reader, number, _ = rng.choice(late)
            batch = Batch(reader, number, reader.shard[number : number + 1])
            self.record_traps(batch)
            event = {"Records": [record.content for record in batch.records]}
            self.world.invoke("projector", event, batch, lambda *_: None)

    def record_traps(self, batch: Batch) -> None:
        self.world.ends.delivered(batch)
        firsts: dict[tuple[str, str], Record] = {}
        for record in batch.records:
            first = firsts.setdefault(record.key, record)
            if first is not record and _came_back(first.old, first.new, record.new):
                self.world.trap("there and back")
        for key, last in batch.last.items():
            high = self.highest.get(key)
            if high is not None and high.version > last.version:
                self._record_late_traps(firsts[key], last, high)
        for process in self.world.live:
            other = process.detail
            if isinstance(other, Batch):
                for key, last in batch.last.items():
                    beside = other.last.get(key)
                    if beside is not None and beside.version != last.version:
                        self.world.trap("a late hand")

    def _record_late_traps(self, first: Record, last: Record, high: Record) -> None:
        self.world.trap("delivered after newer")
        if last.at < self.world.people.rebuilt_at and "x" in high.new:
            self.world.trap("from before a rebuild, of a member that is removed")
        if _came_back(first.old, last.new, high.new):
            self.world.trap("there and back, the middle late")

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
