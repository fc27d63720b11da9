"""Counts the consecutive round trips of a question, and the rows that it reads of an index.

Requests side by side count as one round trip. `SideBySide` replaces the thread pool of the store: it runs each job at
once, on a clock where every request takes one tick and each worker does one job at a time. So the count is exact,
however busy this machine is.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future
from functools import partial
from heapq import heapreplace
from typing import TYPE_CHECKING, Any, Final, TypeVar
from unittest import mock

from standings.read.dispatch import Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.harness.meter import Meter
    from standings.runtime.clock import Clock

T = TypeVar("T")
_READS: Final = {"get_item", "batch_get_item", "query"}


class Ticks:
    """A clock that counts round trips."""

    def __init__(self) -> None:
        self.now = 0


class Trips:
    """Wraps a meter: every request takes one tick; `entries` counts the rows that queries of an index read."""

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
    """The result of a job; reading it moves the clock on to the tick at which the job ended."""

    def __init__(self, ticks: Ticks, end: int) -> None:
        super().__init__()
        self._ticks = ticks
        self._end = end

    def result(self, timeout: float | None = None) -> T:
        self._ticks.now = max(self._ticks.now, self._end)
        return super().result(timeout)


class SideBySide(Executor):
    """Replaces a pool of threads: runs each job when it is submitted, on the clock of a free worker."""

    def __init__(self, ticks: Ticks, max_workers: int, thread_name_prefix: str) -> None:
        del thread_name_prefix
        self._ticks = ticks
        self._free = [0] * max_workers
        """The tick from which each worker is free."""

    def submit(self, job: Callable[..., T], /, *args: Any, **kwargs: Any) -> Job[T]:
        """Run a job from the tick at which a worker is free."""
        submitted = self._ticks.now
        self._ticks.now = max(submitted, self._free[0])
        result = job(*args, **kwargs)
        heapreplace(self._free, self._ticks.now)
        future: Job[T] = Job(self._ticks, self._ticks.now)
        self._ticks.now = submitted
        future.set_result(result)
        return future

    def map(self, job: Callable[..., T], *many: Any, timeout: float | None = None, chunksize: int = 1) -> Iterator[T]:
        """Run a job for each argument, side by side."""
        del timeout, chunksize
        jobs = [self.submit(job, *each) for each in zip(*many, strict=True)]
        return (one.result() for one in jobs)


def tables(client: Trips, ticks: Ticks, clock: Clock) -> Tables:
    """Return the tables of reads on a client that counts trips."""
    with mock.patch("standings.rankings.reading.ThreadPoolExecutor", partial(SideBySide, ticks)):
        return Tables(client, clock, rankings="Rankings", scores="Scores", profiles="Profiles")
