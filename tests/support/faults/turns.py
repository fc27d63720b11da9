"""Workers that go on one call at a time."""

import random
import threading
from collections.abc import Callable


class Turns:
    """Lets threads go on one call at a time, in an order that a seed decides."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._changed = threading.Condition()
        self._turn: str | None = None
        self._live: set[str] = set()

    def run(self, jobs: list[Callable[[], None]]) -> None:
        """Run jobs to their ends."""
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
        """Let somebody else go on, perhaps; called before each call."""
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
        me = threading.current_thread().name
        with self._changed:
            self._changed.wait_for(lambda: self._turn == me)

    def _next(self) -> None:
        with self._changed:
            self._turn = self._rng.choice(sorted(self._live)) if self._live else None
            self._changed.notify_all()
