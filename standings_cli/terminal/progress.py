"""How far something is: a bar on a terminal, a line now and then elsewhere; on standard error."""

import sys
import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

_PAUSE_S: Final = 5.0


class Meter:
    """Shows how much of a whole is done; one without an end where `whole` is None. `pause`: seconds between lines."""

    def __init__(self, what: str, whole: float | None, pause: float = _PAUSE_S) -> None:
        self._what = what
        self._whole = whole
        self._pause = pause
        self._bar: Progress | None = None
        if sys.stderr.isatty():
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task(what, total=whole)
        self._next = time.monotonic() + pause

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def move(self, done: float, text: str) -> None:
        """Show where things are, if it is time to."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, description=f"{self._what}: {text}")
        elif (now := time.monotonic()) >= self._next:
            self._next = now + self._pause
            share = f" ({done / self._whole:.0%})" if self._whole else ""
            self.say(f"{self._what}: {text}{share}")

    def say(self, text: str) -> None:
        """Write a line that stays."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)
