"""Events on their way to their ranks: a model in virtual time of pollers, writers, shards and projectors.

It takes the times of `benchmarks/models/assumed.py`, and says how long after it was sent an event is in the ranks,
and whether
a deployment keeps up. On one hot board projectors meet as in `benchmarks/models/contention.py`; on many boards they
do not.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from random import Random
from typing import Any, Final

from benchmarks.harness.virtual_time import VirtualClock
from benchmarks.models import assumed
from benchmarks.models.contention import Contention, Drawn
from standings.aws.dynamodb.rankings.rankings import MAX_LANES

POLL: Final = 0.25
"""Seconds between polls of a shard that has nothing new.

https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
"""

PER_KEY: Final = 1_000
"""Write units a second of one partition, and so of one key.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
"""

PER_CHANGE: Final = 2
"""Write units of a change of an item, in a transaction; and of a place in the index, a delete and a put."""

PER_SHARD: Final = PER_KEY // PER_CHANGE
"""Changes a second of a partition of Scores, and so of a shard of its stream; and of a shard of an index."""

FIRST_SHARDS: Final = 4
"""Partitions, and so shards, of a new on-demand table: 4,000 write units a second.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""

EVENTS_OF_TRANSACTION: Final = 50
"""Of different members: each is a receipt and an item."""

SECONDS: Final = 8.0
BEGIN: Final = 2.0
"""Virtual seconds that are simulated, and after which events are looked at."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Parameters of `template.yaml`, and `shards` of `boards.toml`."""

    writer_batch: int = 1_000
    window: float = 1.0
    writers: int = 10
    projector_batch: int = 500
    parallelization: int = 1
    shards: int = 1
    warm: int = 1
    """How many times the shards that the rate alone would bring: Scores warmed up to as many times the write units."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Events a second, all of different members, on so many boards that rank in so many rankings each."""

    rate: float
    boards: int
    rankings: int


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds from event to rank, of half and of all but one in a hundred; events that were done for each that came."""

    p50: float
    p99: float
    done: float

    @property
    def keeps_up(self) -> bool:
        """Whether what comes is done, within a few percent."""
        return self.done > 0.95 and self.p99 < SECONDS - BEGIN


def writer_seconds(events: int) -> float:
    """How long one run of the writer takes for a batch."""
    in_a_row = ceil(events / EVENTS_OF_TRANSACTION)
    return assumed.INVOCATION + events * assumed.EVENT + in_a_row * assumed.TRANSACTION


def writers_rate(deployment: Deployment) -> float:
    """Events a second that all writers take, with whole batches."""
    return deployment.writers * deployment.writer_batch / writer_seconds(deployment.writer_batch)


def shards_of_stream(rate: float, deployment: Deployment) -> int:
    """Shards that the stream has come to have under such a rate: partitions split where one is too busy."""
    return deployment.warm * max(FIRST_SHARDS, ceil(rate / PER_SHARD))


def projectors_rate(scene: Scene, deployment: Deployment) -> float:
    """Records a second that all projectors take on many boards, with whole batches."""
    count = deployment.projector_batch
    projectors = shards_of_stream(scene.rate, deployment) * deployment.parallelization
    return projectors * count / (_own_seconds(scene, count) + _transactions_seconds(scene, count))


def _own_seconds(scene: Scene, count: int) -> float:
    return assumed.INVOCATION + count * (assumed.EVENT + scene.rankings * assumed.MOVE)


def _transactions_seconds(scene: Scene, count: int) -> float:
    """Each board's rankings have transactions of their own, some at once."""
    boards = scene.boards * (1 - (1 - 1 / scene.boards) ** count)
    return ceil(boards * scene.rankings / assumed.SIDE_BY_SIDE) * assumed.TRANSACTION


class _Pipeline:
    def __init__(self, scene: Scene, deployment: Deployment, drawn: Drawn, seed: int) -> None:
        self._scene = scene
        self._deployment = deployment
        self._drawn = drawn
        self._rng = Random(seed)
        self._clock = VirtualClock()
        self._queues: list[deque[float]] = []
        self._lags: list[float] = []
        self._contention = Contention(self._clock, drawn, MAX_LANES, seed)
        self._end = SECONDS

    def run(self) -> Found:
        for _ in range(shards_of_stream(self._scene.rate, self._deployment) * self._deployment.parallelization):
            self._queues.append(deque())
            self._clock.start(self._projector(self._queues[-1]))
        needed = ceil(2 * self._scene.rate / (writers_rate(self._deployment) / self._deployment.writers))
        pollers = min(self._deployment.writers, max(assumed.POLLERS, needed))
        for _ in range(pollers):
            self._clock.start(self._writer(self._scene.rate / pollers))
        self._clock.run()
        expected = self._scene.rate * (SECONDS - BEGIN)
        lags = sorted(self._lags)
        if not lags:
            return Found(SECONDS, SECONDS, 0.0)
        return Found(lags[len(lags) // 2], lags[len(lags) * 99 // 100], min(1.0, len(lags) / expected))

    def _writer(self, rate: float) -> Callable[[], None]:
        """Takes its share of the queue: what came in a batching window, or a whole batch."""
        batch, window = self._deployment.writer_batch, self._deployment.window

        def work() -> None:
            # Events come evenly; those from `since` on are still on the queue. Not all pollers begin at once.
            since = self._rng.random() * window
            while self._clock.now < self._end:
                ready = since + min(window, batch / rate)
                if self._clock.now < ready:
                    self._clock.sleep(ready - self._clock.now)
                count = max(1, min(batch, int((self._clock.now - since) * rate)))
                self._clock.sleep(assumed.INVOCATION + count * assumed.EVENT)
                for first in range(0, count, EVENTS_OF_TRANSACTION):
                    self._clock.sleep(assumed.TRANSACTION)
                    for number in range(first, min(count, first + EVENTS_OF_TRANSACTION)):
                        self._rng.choice(self._queues).append(since + number / rate)
                since += count / rate

        return work

    def _projector(self, queue: deque[float]) -> Callable[[], None]:
        """Takes the records of its part of a shard."""
        project = self._contention.worker()
        rounds = ceil(self._scene.rankings / assumed.SIDE_BY_SIDE)

        def work() -> None:
            self._clock.sleep(self._rng.random() * POLL)
            while self._clock.now < self._end:
                if not queue:
                    self._clock.sleep(POLL)
                    continue
                count = min(len(queue), self._deployment.projector_batch)
                self._clock.sleep(_own_seconds(self._scene, count))
                if self._scene.boards == 1:
                    began = self._clock.now
                    project(self._drawn.parts(self._rng, count))
                    self._clock.sleep((rounds - 1) * (self._clock.now - began))
                else:
                    self._clock.sleep(_transactions_seconds(self._scene, count))
                for _ in range(count):
                    self._done(queue.popleft())

        return work

    def _done(self, sent: float) -> None:
        if BEGIN <= self._clock.now <= self._end:
            self._lags.append(self._clock.now - sent)


def found(scene: Scene, deployment: Deployment, drawn: Drawn, seed: int = 1) -> Found:
    """What a deployment makes of events."""
    return _Pipeline(scene, deployment, drawn, seed).run()


def as_row(scene: Scene, deployment: Deployment, what: Found) -> dict[str, Any]:
    """One line of a result."""
    return {
        "events_per_second": scene.rate,
        "boards": scene.boards,
        "rankings": scene.rankings,
        "WriterBatchSize": deployment.writer_batch,
        "WriterBatchingWindow": deployment.window,
        "WriterMaximumConcurrency": deployment.writers,
        "ProjectorBatchSize": deployment.projector_batch,
        "ProjectorParallelizationFactor": deployment.parallelization,
        "shards": deployment.shards,
        "stream_shards": shards_of_stream(scene.rate, deployment),
        "p50": round(what.p50, 2),
        "p99": round(what.p99, 2),
        "keeps_up": what.keeps_up,
    }
