"""Turns Ctrl-C, SIGTERM and a closed terminal into an exception, so that the demo cleans up."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal arrived. It is no Exception, so that no handler of errors catches it."""


@contextmanager
def raised_on_signals() -> Iterator[None]:
    """Raise Interrupted at the first signal. Later signals are ignored, so that they do not interrupt the clean-up."""
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
