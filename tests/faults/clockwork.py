"""Virtual time, and processes that run in it one at a time.

A process is one invocation of a function. A task is one of its threads, run as a greenlet. A task that waits for an
answer or sleeps switches back to the clockwork, which then runs the next action on its agenda. All random numbers come
from the seed of the schedule, so the same seed always gives the same schedule.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Final

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]  # it comes without types

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


class Died(BaseException):
    """The process has died."""


class StuckError(Exception):
    """The schedule has taken too many steps."""


@dataclass(eq=False)
class Process:
    """One invocation of a function. All of its tasks die with it. Instants are in microseconds since 1970."""

    name: str
    kind: str
    started: int
    skew: int = 0
    """How far its clock is ahead of virtual time, in microseconds."""
    definition: str = ""
    """The text of its `boards.toml`."""
    detail: Any = None
    """What its invoker attached to it, such as the batch that it works on."""
    most_calls: int = 0
    """The most calls to AWS that it may make."""
    calls: int = 0
    is_held: bool = False
    """Whether its last call met a transaction of another on the same item."""
    conflicts: int = 0
    """How many of its calls did."""
    reading: int = 0
    """The last value that it read from its wall clock, in milliseconds."""
    readings: list[int] = field(default_factory=list)
    """All values that it read from its wall clock, in milliseconds."""
    frozen_until: int = 0
    """It gets no processor time until this instant."""
    dead: bool = False
    done: bool = False
    tasks: "list[Task]" = field(default_factory=list)
    tokens: Any = None
    """The tokens of its SDK, which all processes of an instance share."""
    deaths: list[Callable[[], None]] = field(default_factory=list)
    """Functions to call when it dies."""


class Task(greenlet):  # type: ignore[misc]  # greenlet comes without types
    """One thread of a process."""

    process: Process
    waiting: bool = False


class Clockwork:
    """The virtual time, in microseconds since 1970, and the agenda of actions."""

    def __init__(self, start: int, most_steps: int) -> None:
        self.now = start
        self.steps = 0
        self._most_steps = most_steps
        self._hub = getcurrent()
        self._agenda: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._number = 0

    def at(self, when: int, do: Callable[..., None], *arguments: Any) -> None:
        """Schedule a call at an instant. Calls at the same instant run in the order in which they were scheduled."""
        self._number += 1
        heappush(self._agenda, (max(when, self.now), self._number, do, arguments))

    def after(self, delay: int, do: Callable[..., None], *arguments: Any) -> None:
        self.at(self.now + delay, do, *arguments)

    def run(self) -> None:
        """Run scheduled calls until the agenda is empty. Raise StuckError after too many steps."""
        while self._agenda:
            self.steps += 1
            if self.steps > self._most_steps:
                raise StuckError(f"expected an end within {self._most_steps} steps, next is {self._agenda[0][2]}")
            self.now, _, do, arguments = heappop(self._agenda)
            do(*arguments)

    def start(self, process: Process, do: Callable[[], None]) -> None:
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
                pass  # `die` ends the other tasks of the process
            finally:
                process.tasks.remove(task)

        task = Task(run, self._hub)
        task.process = process
        process.tasks.append(task)
        return task

    @staticmethod
    def process() -> Process | None:
        current = getcurrent()
        return current.process if isinstance(current, Task) else None

    def wait(self) -> Any:
        """Pause the running task until `resume`, and return the answer from `resume`."""
        task = getcurrent()
        task.waiting = True
        return self._hub.switch()

    def resume(self, task: Task, answer: Any = None) -> None:
        """Continue a waiting task with an answer, as soon as its process is not frozen."""
        if self.now < task.process.frozen_until:
            self.at(task.process.frozen_until, self.resume, task, answer)
        elif task.waiting and not task.process.dead:
            task.waiting = False
            task.switch(answer)

    def sleep(self, delay: int) -> None:
        self.after(delay, self.resume, getcurrent())
        self.wait()

    def die(self, process: Process) -> None:
        """End a process with all of its tasks. This never returns to a task of that process."""
        current = getcurrent()
        if isinstance(current, Task):
            self.after(0, self.die, process)
            self.wait()  # raises Died
        if process.dead or process.done:
            return
        process.dead = True
        for task in list(process.tasks):
            if task.waiting:
                task.waiting = False
                task.throw(Died)
            else:
                process.tasks.remove(task)  # it has not begun
        for notify in process.deaths:
            notify()
        process.deaths.clear()

    def begin(self, process: Process, do: Callable[[], None], delay: int) -> None:
        """Start another task of a process after a delay in microseconds."""
        self.after(delay, self._enter, self._task(process, do))


class Future:
    """The result of a task, like `concurrent.futures.Future`."""

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
        except Exception as error:  # noqa: BLE001 - `result` raises it
            self._error = error
        self.finished = True
        if self._waiting is not None:
            self._clockwork.after(0, self._clockwork.resume, self._waiting)

    def result(self) -> Any:
        """Wait for the task; return its result or raise its error."""
        if not self.finished:
            self._waiting = getcurrent()
            self._clockwork.wait()
        if self._error is not None:
            raise self._error
        return self._result


class Pool:
    """Replaces ThreadPoolExecutor. Jobs become tasks of the calling process; outside all processes they run at once."""

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
        """Run a call for each set of arguments, as `Executor.map` does."""
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
