"""Threads that take turns, one call at a time."""

import random
import threading
from collections.abc import Callable


class Turns:
    """Lets one thread run at a time. `rng` chooses the next thread before each call."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._changed = threading.Condition()
        self._turn: str | None = None
        self._live: set[str] = set()

    def run(self, jobs: list[Callable[[], None]]) -> None:
        """Run each job in a thread, and wait for all of them."""
        names = [f"job-{number}" for number in range(len(jobs))]
        self._live = set(names)
        threads = [
            threading.Thread(target=self._go, args=(name, job), name=name)
            for name, job in zip(names, jobs, strict=True)
        ]
        for thread in threads:
            thread.start()
        self._next()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()

    def pause(self) -> None:
        """Give the turn to a random thread and wait for the next turn. Call it before each call."""
        if threading.current_thread().name in self._live:
            self._next()
            self._wait()

    def _go(self, name: str, job: Callable[[], None]) -> None:
        self._wait()
        try:
            job()
        finally:
            self._live.discard(name)
            self._next()

    def _wait(self) -> None:
        name = threading.current_thread().name
        with self._changed:
            self._changed.wait_for(lambda: self._turn == name)

    def _next(self) -> None:
        with self._changed:
            self._turn = self._rng.choice(sorted(self._live)) if self._live else None
            self._changed.notify_all()
