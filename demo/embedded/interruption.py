"""Ctrl-C, a polite kill and a closed terminal end the demo in the same orderly way."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """Someone wants an end; not an Exception, so that nothing takes it for a failure."""


@contextmanager
def raised_on_signals() -> Iterator[None]:
    """Raise Interrupted at the first signal; later ones cannot disturb the clearing up."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def interrupt(number: int, _frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(signal.strsignal(number))

    for number in _SIGNALS:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
