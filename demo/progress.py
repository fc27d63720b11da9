"""Prints progress: a line that updates in place on a terminal, a line every 5 seconds elsewhere."""

import sys
import time

_TERMINAL_PAUSE_S = 0.1
_PIPE_PAUSE_S = 5.0


class Progress:
    """Prints messages with the seconds since the start."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._moving = sys.stdout.isatty()
        self._next = 0.0
        self._open = False

    def say(self, text: str) -> None:
        """Print a line."""
        self._close()
        print(f"{self._seconds():6.1f} s  {text}", flush=True)
        self._next = time.monotonic() + (0 if self._moving else _PIPE_PAUSE_S)

    def move(self, text: str) -> None:
        """Update the progress line, unless the last update was just now."""
        now = time.monotonic()
        if now < self._next:
            return
        if self._moving:
            print(f"\r\x1b[K{self._seconds():6.1f} s  {text}", end="", flush=True)
            self._next, self._open = now + _TERMINAL_PAUSE_S, True
        else:
            print(f"{self._seconds():6.1f} s  {text}", flush=True)
            self._next = now + _PIPE_PAUSE_S

    def block(self, text: str) -> None:
        """Print text without the time."""
        self._close()
        print(text, flush=True)

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _close(self) -> None:
        if self._open:
            print("\r\x1b[K", end="")
            self._open = False
