"""Retries that are bounded by a deadline and spread by chance."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar, cast

from standings.ports.errors import StoreUnavailableError

FIRST_WAIT: Final = 0.02
MAX_WAIT_S: Final = 2.0
READ_TIMEOUT_S: Final = 5.0
"""Seconds for which calls of a store are retried: over HTTP all calls of a request together, elsewhere each call."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock and the chance of a service, handed in so that tests can own them.

    `now` is the wall clock in milliseconds, `monotonic` a clock in seconds for deadlines, `random` uniform in [0, 1).
    """

    now: Callable[[], int]
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    random: Callable[[], float]

    def backoff(self, deadline: float) -> "Backoff":
        """A fresh series of waits that ends at a deadline of the monotonic clock."""
        return Backoff(self, deadline)

    def backoff_for(self, seconds: float) -> "Backoff":
        """A fresh series of waits that ends so many seconds from now."""
        return Backoff(self, self.monotonic() + seconds)


class Backoff:
    """Waits that double up to a limit, each of a random share ("full jitter"), until a deadline.

    https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """

    def __init__(self, pacing: Clock, deadline: float) -> None:
        self._pacing = pacing
        self._deadline = deadline
        self._wait = FIRST_WAIT
        self.waits = 0

    @property
    def expired(self) -> bool:
        """Whether the deadline has come."""
        return self._pacing.monotonic() >= self._deadline

    def wait(self, at_least: float = 0.0) -> bool:
        """Sleep before another try; False, at once, where the deadline leaves no time for it."""
        pause = at_least + self._pacing.random() * self._wait
        if self._pacing.monotonic() + pause >= self._deadline:
            return False
        self._pacing.sleep(pause)
        self._wait = min(2 * self._wait, MAX_WAIT_S)
        self.waits += 1
        return True


def with_retry(do: Callable[[], T], backoff: Backoff) -> T:
    """What `do` gives; tried again while the store is unavailable, as long as there is time."""
    while True:
        try:
            return do()
        except StoreUnavailableError as error:
            if not backoff.wait(error.wait):
                raise


def retrying(store: T, backoff: Callable[[], Backoff]) -> T:
    """The same store, of which each call is retried while the store is unavailable.

    `backoff` is asked at the beginning of each call.
    """
    return cast("T", _Retrying(store, backoff))


class _Retrying:
    def __init__(self, store: Any, backoff: Callable[[], Backoff]) -> None:
        self._store = store
        self._backoff = backoff

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)

        def retried(*args: Any, **kwargs: Any) -> Any:
            return with_retry(partial(call, *args, **kwargs), self._backoff())

        return retried
