"""A model in virtual time of pollers, writers, shards and projectors: the lag of an event from its posting to its rank.

The times are those of `benchmarks/models/assumed.py`. The model also tells whether a deployment keeps up. On one hot
board projectors conflict as in `benchmarks/models/contention.py`; on many boards they do not.
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
"""Seconds between polls of a shard without new records.

https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
"""

PER_KEY: Final = 1_000
"""Write units per second of one partition, and so of one key.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
"""

PER_CHANGE: Final = 2
"""Write units of a change of an item in a transaction, and of a row of the index that moves: a delete and a put."""

PER_SHARD: Final = PER_KEY // PER_CHANGE
"""Changes per second of a partition of Scores, and so of a shard of its stream; also of a shard of an index."""

FIRST_SHARDS: Final = 4
"""Partitions, and so stream shards, of a new on-demand table: 4,000 write units per second.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
"""

EVENTS_OF_TRANSACTION: Final = 50
"""Events in a transaction; each has a receipt and, with different members, an item."""

SECONDS: Final = 8.0
"""Virtual seconds to simulate."""
BEGIN: Final = 2.0
"""Virtual seconds after which lags are measured."""


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
    """The warm throughput of Scores, as a multiple of the write units of the rate; it multiplies the stream shards."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Events per second of different members, the number of boards, and the windows of each board.

    In a rolling window an event also makes single writes, of list items: so many in all windows.
    """

    rate: float
    boards: int
    windows: int
    single_writes: float = 0.0


@dataclass(frozen=True, slots=True)
class Lag:
    """Seconds from event to rank (median and 99th percentile), and the share of events that reached their ranks."""

    p50: float
    p99: float
    done: float

    @property
    def keeps_up(self) -> bool:
        """Whether nearly all events reach their ranks in time."""
        return self.done > 0.95 and self.p99 < SECONDS - BEGIN


def writer_seconds(events: int) -> float:
    """Return the seconds of one run of the writer."""
    transactions = ceil(events / EVENTS_OF_TRANSACTION)
    return assumed.INVOCATION + events * assumed.EVENT + transactions * assumed.TRANSACTION


def writers_rate(deployment: Deployment) -> float:
    """Return the events per second of all writers, with full batches."""
    return deployment.writers * deployment.writer_batch / writer_seconds(deployment.writer_batch)


def shards_of_stream(rate: float, deployment: Deployment) -> int:
    """Return the shards of the stream at this rate, after DynamoDB has split busy partitions."""
    return deployment.warm * max(FIRST_SHARDS, ceil(rate / PER_SHARD))


def projectors_rate(scene: Scene, deployment: Deployment) -> float:
    """Return the records per second of all projectors on many boards, with full batches."""
    count = deployment.projector_batch
    projectors = shards_of_stream(scene.rate, deployment) * deployment.parallelization
    written = assumed.single_writes(count * scene.single_writes)
    return projectors * count / (_own_seconds(scene, count) + written + _transactions_seconds(scene, count))


def _own_seconds(scene: Scene, count: int) -> float:
    return assumed.INVOCATION + count * (assumed.EVENT + scene.windows * assumed.MOVE)


def _transactions_seconds(scene: Scene, count: int) -> float:
    """Return the seconds of the transactions: one for each window of each board in the batch, some side by side."""
    boards = scene.boards * (1 - (1 - 1 / scene.boards) ** count)
    return ceil(boards * scene.windows / assumed.SIDE_BY_SIDE) * assumed.TRANSACTION


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

    def run(self) -> Lag:
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
            return Lag(SECONDS, SECONDS, 0.0)
        return Lag(lags[len(lags) // 2], lags[len(lags) * 99 // 100], min(1.0, len(lags) / expected))

    def _writer(self, rate: float) -> Callable[[], None]:
        """Return a writer, which takes its share of the queue: the events of a batching window, or a full batch."""
        batch, window = self._deployment.writer_batch, self._deployment.window

        def work() -> None:
            # Events come evenly; those since `since` are still on the queue. Pollers begin at different times.
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
        """Return a projector, which takes the records of its part of a shard."""
        project = self._contention.worker()
        rounds = ceil(self._scene.windows / assumed.SIDE_BY_SIDE)

        def work() -> None:
            self._clock.sleep(self._rng.random() * POLL)
            while self._clock.now < self._end:
                if not queue:
                    self._clock.sleep(POLL)
                    continue
                count = min(len(queue), self._deployment.projector_batch)
                self._clock.sleep(_own_seconds(self._scene, count))
                self._clock.sleep(assumed.single_writes(count * self._scene.single_writes))
                if self._scene.boards == 1:
                    began = self._clock.now
                    project(self._drawn.parts(self._rng, count))
                    self._clock.sleep((rounds - 1) * (self._clock.now - began))
                else:
                    self._clock.sleep(_transactions_seconds(self._scene, count))
                for _ in range(count):
                    self._ranked(queue.popleft())

        return work

    def _ranked(self, sent: float) -> None:
        if BEGIN <= self._clock.now <= self._end:
            self._lags.append(self._clock.now - sent)


def simulate(scene: Scene, deployment: Deployment, drawn: Drawn) -> Lag:
    """Run the events of a scene through a deployment."""
    return _Pipeline(scene, deployment, drawn, seed=1).run()


def as_row(scene: Scene, deployment: Deployment, lag: Lag) -> dict[str, Any]:
    """Return one row of a result."""
    return {
        "events_per_second": scene.rate,
        "boards": scene.boards,
        "windows": scene.windows,
        "WriterBatchSize": deployment.writer_batch,
        "WriterBatchingWindow": deployment.window,
        "WriterMaximumConcurrency": deployment.writers,
        "ProjectorBatchSize": deployment.projector_batch,
        "ProjectorParallelizationFactor": deployment.parallelization,
        "shards": deployment.shards,
        "stream_shards": shards_of_stream(scene.rate, deployment),
        "p50": round(lag.p50, 2),
        "p99": round(lag.p99, 2),
        "keeps_up": lag.keeps_up,
    }
