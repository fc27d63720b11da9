"""Counts how many round trips a question takes one after the other, and how many rows it reads of an index.

Requests that go side by side are one round trip. What goes side by side is what the readers' pool is given:
`SideBySide` takes its place, does each job at once and keeps a clock on which every request takes one tick, and only as
many are under way as the pool has workers. So the number is exact, whatever this machine is busy with.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future
from functools import partial
from heapq import heapreplace
from typing import TYPE_CHECKING, Any, Final, TypeVar
from unittest import mock

from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.harness.meter import Meter
    from standings.runtime.retry import Clock

T = TypeVar("T")
_READS: Final = {"get_item", "batch_get_item", "query"}


class Ticks:
    """A clock that goes by round trips."""

    def __init__(self) -> None:
        self.now = 0


class Trips:
    """A client in front of a meter: every request is one tick; `entries` are the rows that queries of an index read."""

    def __init__(self, meter: Meter, ticks: Ticks) -> None:
        self._meter = meter
        self._ticks = ticks
        self.requests = 0
        self.entries = 0

    def __getattr__(self, name: str) -> Any:
        if name not in _READS:
            raise AttributeError(name)
        return partial(self._read, getattr(self._meter, name))

    def _read(self, method: Callable[..., Any], **request: Any) -> Any:
        self._ticks.now += 1
        self.requests += 1
        answer: Mapping[str, Any] = method(**request)
        if "IndexName" in request:
            self.entries += answer["ScannedCount"]
        return answer


class Job(Future[T]):
    """What a job gave, and when: whoever asks has waited until then."""

    def __init__(self, ticks: Ticks, done: int) -> None:
        super().__init__()
        self._ticks = ticks
        self._done = done

    def result(self, timeout: float | None = None) -> T:
        """What the job gave."""
        self._ticks.now = max(self._ticks.now, self._done)
        return super().result(timeout)


class SideBySide(Executor):
    """In place of a pool of threads: each job is done when it is given, on a clock of its own."""

    def __init__(self, ticks: Ticks, max_workers: int, thread_name_prefix: str) -> None:
        del thread_name_prefix
        self._ticks = ticks
        self._free = [0] * max_workers
        """When each worker has nothing left to do."""

    def submit(self, job: Callable[..., T], /, *args: Any, **kwargs: Any) -> Job[T]:
        """Do a job as soon as a worker is free."""
        given = self._ticks.now
        self._ticks.now = max(given, self._free[0])
        answer = job(*args, **kwargs)
        heapreplace(self._free, self._ticks.now)
        done: Job[T] = Job(self._ticks, self._ticks.now)
        self._ticks.now = given
        done.set_result(answer)
        return done

    def map(self, job: Callable[..., T], *many: Any, timeout: float | None = None, chunksize: int = 1) -> Iterator[T]:
        """Do a job for each of many, side by side."""
        del timeout, chunksize
        jobs = [self.submit(job, *each) for each in zip(*many, strict=True)]
        return (one.result() for one in jobs)


def standing(client: Trips, ticks: Ticks, pacing: Clock) -> DynamoRankingsReader:
    """The readers' store on a client that counts trips."""
    with mock.patch("standings.aws.dynamodb.rankings.ranking_reads.ThreadPoolExecutor", partial(SideBySide, ticks)):
        return DynamoRankingsReader(client, "Rankings", "Scores", pacing)  # type: ignore[arg-type]
