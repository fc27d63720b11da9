"""Shows a person how far long work is: a line that changes in place, on a terminal alone."""

import sys
from collections.abc import Callable
from typing import Final, TextIO

_SHOWN_AFTER_S: Final = 2.0
_PAUSE_S: Final = 0.1
_WIDTH: Final = 30


class Progress:
    """Counts events on their way, after two seconds and on a terminal: `[####----] 1,234 of 5,000 events sent`."""

    def __init__(self, monotonic: Callable[[], float], total: int | None, stream: TextIO | None = None) -> None:
        self._monotonic = monotonic
        self._total = total
        self._stream = sys.stderr if stream is None else stream
        self._done = 0
        self._next = monotonic() + _SHOWN_AFTER_S
        self._shown = ""

    def more(self, sent: int) -> None:
        """Count so many more events, and show it unless the line changed just now."""
        self._done += sent
        now = self._monotonic()
        if now >= self._next:
            self._next = now + _PAUSE_S
            self._show(self._text())

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            self._show("")

    def _text(self) -> str:
        if not self._total:
            return f"{self._done:,} events sent"
        filled = _WIDTH * min(self._done, self._total) // self._total
        return f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {self._done:,} of {self._total:,} events sent"

    def _show(self, text: str) -> None:
        # A program of Windows without a console has no standard error.
        if self._stream is not None and self._stream.isatty():
            # Spaces cover what is left of the line before, on any terminal.
            self._stream.write(f"\r{text}{' ' * (len(self._shown) - len(text))}" + ("" if text else "\r"))
            self._stream.flush()
            self._shown = text
