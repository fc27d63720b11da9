"""Progress on standard error: a bar on a terminal, elsewhere a line every few seconds."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from standings_cli.terminal.text import shown

if TYPE_CHECKING:
    from rich.progress import Progress

_PAUSE_S: Final = 5.0


class Meter:
    """Shows how much of `total` is done. `pause` is the number of seconds between two lines."""

    def __init__(self, title: str, total: float, pause: float = _PAUSE_S) -> None:
        self._title = title
        self._total = total
        self._pause = pause
        self._bar: Progress | None = _bar() if sys.stderr.isatty() else None
        if self._bar is not None:
            self._bar.add_task(title, total=total)
        self._next = time.monotonic() + pause

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def move(self, done: float, text: str) -> None:
        """Show the progress; without a terminal only if `pause` is over."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, description=f"{self._title}: {text}")
        elif (now := time.monotonic()) >= self._next:
            self._next = now + self._pause
            share = f" ({done / self._total:.0%})" if self._total else ""
            self.say(f"{self._title}: {text}{share}")

    def say(self, text: str) -> None:
        """Print a line that stays. What a terminal could interpret is escaped."""
        text = shown(text)
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)


def _bar() -> "Progress":
    from rich.console import Console  # noqa: PLC0415 - only on a terminal
    from rich.progress import (  # noqa: PLC0415 - only on a terminal
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    text = TextColumn("{task.description}", markup=False)
    return Progress(
        text, BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True
    )
