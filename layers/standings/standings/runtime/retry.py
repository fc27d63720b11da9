"""Retries until a deadline, with jitter."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar, cast

from standings.ports.errors import StoreUnavailableError

FIRST_WAIT: Final = 0.02
MAX_WAIT_S: Final = 2.0
READ_TIMEOUT_S: Final = 5.0  # Seconds for which reads are retried: over HTTP all of a request, elsewhere each read
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance, passed in so that tests control them.

    `now` returns milliseconds since 1970, `monotonic` seconds for deadlines. `random` is uniform in [0, 1).
    """

    now: Callable[[], int]
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    random: Callable[[], float]

    def backoff(self, deadline: float) -> "Backoff":
        """Start a backoff that ends at a deadline of the monotonic clock."""
        return Backoff(self, deadline)

    def backoff_for(self, seconds: float) -> "Backoff":
        """Start a backoff that ends in so many seconds."""
        return Backoff(self, self.monotonic() + seconds)


class Backoff:
    """Waits of random length ("full jitter") up to a limit that doubles each time, until a deadline.

    https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """

    def __init__(self, clock: Clock, deadline: float) -> None:
        self._clock = clock
        self._deadline = deadline
        self._limit = FIRST_WAIT

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self._clock.monotonic() >= self._deadline

    def wait(self, at_least: float = 0.0) -> bool:
        """Wait before the next try. False, without waiting, if the wait would pass the deadline."""
        pause = at_least + self._clock.random() * self._limit
        if self._clock.monotonic() + pause >= self._deadline:
            return False
        self._clock.sleep(pause)
        self._limit = min(2 * self._limit, MAX_WAIT_S)
        return True


def with_retry(do: Callable[[], T], backoff: Backoff) -> T:
    """Call `do`, retrying while the store is unavailable, until the backoff's deadline."""
    while True:
        try:
            return do()
        except StoreUnavailableError as error:
            if not backoff.wait(error.wait):
                raise


def retrying(store: T, backoff: Callable[[], Backoff]) -> T:
    """Wrap a store so that every call of a method is retried, each with a backoff of its own."""
    return cast("T", _Retrying(store, backoff))


class _Retrying:
    def __init__(self, store: Any, backoff: Callable[[], Backoff]) -> None:
        self._store = store
        self._backoff = backoff

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._store, name)
        if not callable(value):
            return value
        return lambda *args, **kwargs: with_retry(partial(value, *args, **kwargs), self._backoff())
