"""Time that passes only as a schedule says, and processes that take turns in it, one call at a time.

A process is one invocation of a function, a task one of its threads: a greenlet. Whatever a task waits for, an answer
or the end of a sleep, hands the turn back to the clockwork, which goes on with what comes next in time. Chance comes
from the schedule's seed alone, so the same seed is the same schedule.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]  # it comes without types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


class Died(BaseException):
    """The process ends here and now."""


class StuckError(Exception):
    """A schedule that comes to no end."""


@dataclass(eq=False)
class Process:
    """One invocation of a function: its tasks live and die together. Instants are in microseconds."""

    name: str
    kind: str
    started: int
    skew: int = 0
    """How far the clock of its machine is ahead of true time."""
    definition: str = ""
    """The `boards.toml` that it has."""
    detail: Any = None
    """What the world keeps about it."""
    reading: int = 0
    """What its wall clock said last, in milliseconds."""
    frozen_until: int = 0
    """Until when its sandbox gets no processor time."""
    dead: bool = False
    done: bool = False
    tasks: list[Task] = field(default_factory=list)
    deaths: list[Callable[[], None]] = field(default_factory=list)
    """What is to be called when it dies."""


class Task(greenlet):  # type: ignore[misc]  # for the same reason
    """One thread of a process."""

    process: Process
    waiting: bool = False


class Clockwork:
    """The time, and what is to happen in it."""

    def __init__(self, start: int, most_steps: int) -> None:
        self.now = start
        self.steps = 0
        self._most_steps = most_steps
        self._hub = getcurrent()
        self._agenda: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._number = 0

    def at(self, when: int, do: Callable[..., None], *arguments: Any) -> None:
        """Have something done at an instant; of two at the same, the first asked for is first."""
        self._number += 1
        heappush(self._agenda, (max(when, self.now), self._number, do, arguments))

    def after(self, delay: int, do: Callable[..., None], *arguments: Any) -> None:
        self.at(self.now + delay, do, *arguments)

    def next_at(self) -> int | None:
        """When the next thing happens, if any does."""
        return self._agenda[0][0] if self._agenda else None

    def run(self) -> None:
        """Go on until nothing is left to happen."""
        while self._agenda:
            self.steps += 1
            if self.steps > self._most_steps:
                raise StuckError(f"{self._most_steps} steps, and no end: {self._agenda[0][2]}")
            self.now, _, do, arguments = heappop(self._agenda)
            do(*arguments)

    def start(self, process: Process, do: Callable[[], None]) -> None:
        """Let a process begin with its first task, now."""
        self._enter(self._task(process, do))

    def _enter(self, task: Task) -> None:
        process = task.process
        if self.now < process.frozen_until:
            self.at(process.frozen_until, self._enter, task)
        elif not process.dead:
            task.switch()

    def _task(self, process: Process, do: Callable[[], None]) -> Task:
        def run() -> None:
            try:
                do()
            except Died:
                pass  # all of its process does
            finally:
                process.tasks.remove(task)

        task = Task(run, self._hub)
        task.process = process
        process.tasks.append(task)
        return task

    @staticmethod
    def process() -> Process | None:
        """Whose turn it is; None outside of all processes."""
        current = getcurrent()
        return current.process if isinstance(current, Task) else None

    def wait(self) -> Any:
        """Hand over the turn, until `resume` or `interrupt`; what the former brings."""
        task = getcurrent()
        task.waiting = True
        return self._hub.switch()

    def resume(self, task: Task, answer: Any = None) -> None:
        if self.now < task.process.frozen_until:
            self.at(task.process.frozen_until, self.resume, task, answer)
        elif task.waiting and not task.process.dead:
            task.waiting = False
            task.switch(answer)

    def interrupt(self, task: Task, error: BaseException) -> None:
        if task.waiting and not task.process.dead:
            task.waiting = False
            task.throw(error)

    def sleep(self, delay: int) -> None:
        """Let time pass for the task whose turn it is."""
        self.after(delay, self.resume, getcurrent())
        self.wait()

    def die(self, process: Process) -> None:
        """End a process with all of its tasks. A task that ends its own process never comes back from this."""
        current = getcurrent()
        if isinstance(current, Task):
            self.after(0, self.die, process)
            self.wait()  # for good
        if process.dead or process.done:
            return
        process.dead = True
        for task in list(process.tasks):
            if task.waiting:
                task.waiting = False
                task.throw(Died)
            else:
                process.tasks.remove(task)  # not yet begun
        for tell in process.deaths:
            tell()

    def begin(self, process: Process, do: Callable[[], None], delay: int) -> None:
        """Let a process have another task, after a moment."""
        self.after(delay, self._enter, self._task(process, do))


class Future:
    """What a task comes to."""

    def __init__(self, clockwork: Clockwork, do: Callable[[], Any]) -> None:
        self._clockwork = clockwork
        self._do = do
        self._waiting: Task | None = None
        self.finished = False
        self._result: Any = None
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._result = self._do()
        except Exception as error:  # noqa: BLE001 - raised where the result is asked for
            self._error = error
        self.finished = True
        if self._waiting is not None:
            self._clockwork.after(0, self._clockwork.resume, self._waiting)

    def result(self) -> Any:
        if not self.finished:
            self._waiting = getcurrent()
            self._clockwork.wait()
        if self._error is not None:
            raise self._error
        return self._result


class Pool:
    """Takes the place of a pool of threads: tasks of the process that asks, or at once outside of all processes."""

    def __init__(self, clockwork: Clockwork, delay: Callable[[], int], most: int) -> None:
        self._clockwork = clockwork
        self._delay = delay
        self._most = most
        self._busy = 0
        self._queue: deque[tuple[Process, Future]] = deque()

    def submit(self, do: Callable[..., Any], *arguments: Any) -> Future:
        future = Future(self._clockwork, lambda: do(*arguments))
        process = self._clockwork.process()
        if process is None:
            future.run()
            return future
        self._queue.append((process, future))
        self._fill()
        return future

    def map(self, do: Callable[[Any], Any], *jobs: Iterable[Any]) -> Iterator[Any]:
        futures: Sequence[Future] = [self.submit(do, *arguments) for arguments in zip(*jobs, strict=False)]
        return (future.result() for future in futures)

    def _fill(self) -> None:
        while self._queue and self._busy < self._most:
            process, future = self._queue.popleft()
            self._busy += 1
            self._clockwork.begin(process, lambda future=future: self._run(future), self._delay())  # type: ignore[misc]

    def _run(self, future: Future) -> None:
        future.run()
        self._busy -= 1
        self._fill()
