"""The clock, retries until a deadline, and values that a process keeps for a while."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from threading import Lock
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

from standings.stores import StoreUnavailableError

RETRIED_FOR_S: Final = 5.0  # Seconds for which reads are retried: over HTTP all of a request, elsewhere each read
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance, passed in so that tests control them.

    `now` returns milliseconds since 1970, `monotonic` seconds for deadlines. `random` is uniform in [0, 1). Calls of
    `retry` end at the deadline (seconds of the monotonic clock), and none begins after it.
    """

    now: Callable[[], int]
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    random: Callable[[], float]
    deadline: float = inf

    def until(self, deadline: float) -> "Clock":
        """The same clock for work that ends at a deadline of the monotonic clock."""
        return replace(self, deadline=deadline)

    def after(self, seconds: float) -> float:
        """The instant in so many seconds, by the monotonic clock: `5_412.7`."""
        return self.monotonic() + seconds

    def backoff(self, deadline: float) -> "Backoff":
        """Start a backoff that ends at a deadline of the monotonic clock."""
        return Backoff(self, deadline)

    def backoff_for(self, seconds: float) -> "Backoff":
        """Start a backoff that ends in so many seconds, or at the clock's deadline."""
        return Backoff(self, min(self.deadline, self.after(seconds)))

    def retry(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `do`, retrying while the store is unavailable, for up to `RETRIED_FOR_S`; then StoreUnavailableError."""
        backoff = self.backoff_for(RETRIED_FOR_S)
        backoff.check()
        return backoff.retry(do, *args, **kwargs)


def now() -> int:
    """The wall clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def real_clock(now: Callable[[], int] = now) -> Clock:
    """The real clock, with real randomness."""
    return Clock(now, time.monotonic, time.sleep, random.random)


FIRST_WAIT: Final = 0.02  # Seconds
MAX_WAIT_S: Final = 2.0
OUT_OF_TIME: Final = "the function ran out of time"


@dataclass(slots=True)
class Backoff:
    """Waits of random length ("full jitter") up to a limit that doubles each time, until a deadline.

    https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """

    clock: Clock
    deadline: float
    limit: float = FIRST_WAIT

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self.clock.monotonic() >= self.deadline

    def check(self) -> None:
        """Raise StoreUnavailableError if the deadline has passed."""
        if self.expired:
            raise StoreUnavailableError(OUT_OF_TIME)

    def wait(self, at_least: float = 0.0) -> bool:
        """Wait before the next try (seconds). False, without waiting, if the wait would pass the deadline."""
        pause = at_least + self.clock.random() * self.limit
        if self.clock.monotonic() + pause >= self.deadline:
            return False
        self.clock.sleep(pause)
        self.limit = min(2 * self.limit, MAX_WAIT_S)
        return True

    def retry(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `do`, retrying while the store is unavailable, until the deadline; then StoreUnavailableError."""
        while True:
            try:
                return do(*args, **kwargs)
            except StoreUnavailableError as error:
                if not self.wait(error.wait):
                    raise


def backoff(attempt: int, first: float, longest: float, chance: Callable[[], float]) -> float:
    """The seconds to wait after a failed attempt, from 1: `first`, doubled up to `longest`, half of it by `chance`."""
    return min(first * 2.0 ** min(attempt - 1, 30), longest) * (0.5 + chance() / 2)


RANKING_TTL_S: Final = 3600  # Seconds for which the number of a ranking's shards or lanes is cached. Both only grow.
MAX_ENTRIES: Final = 10_000
_MISSING: Final[Any] = object()
Instant = tuple[float, int]  # Seconds of the monotonic clock, milliseconds of the wall clock
K = TypeVar("K")
V = TypeVar("V")


class TtlCache(Generic[K, V]):
    """A cache whose entries expire after `ttl_s` seconds. Threads may share it; if full, it drops its oldest entry.

    The monotonic clock may stop while Lambda freezes the process, the wall clock be set back: the first one counts.
    """

    def __init__(self, clock: Clock, ttl_s: float, max_entries: int = MAX_ENTRIES) -> None:
        self._clock = clock
        self._ttl_s = ttl_s
        self._max_entries = max_entries
        self._entries: dict[K, tuple[Instant, V]] = {}
        self._lock = Lock()

    def instant(self) -> Instant:
        """Return the current time. Call it before you read a value that you will cache."""
        return self._clock.monotonic(), self._clock.now()

    def get(self, key: K, otherwise: V | None = None) -> V | None:
        """Return the value of a key; `otherwise` if it is missing or expired."""
        entry = self._entries.get(key)
        if entry is None:
            return otherwise
        (monotonic, wall), (monotonic_now, wall_now) = entry[0], self.instant()
        is_fresh = monotonic_now - monotonic < self._ttl_s and 0 <= wall_now - wall < self._ttl_s * 1000
        return entry[1] if is_fresh else otherwise

    def get_or_read(self, key: K, read: Callable[[], V]) -> V:
        """Return the value of a key, which may be None; read and cache it if it is missing or expired."""
        value = cast("V", self.get(key, _MISSING))
        if value is _MISSING:
            read_at, value = self.instant(), read()
            self.put(key, value, read_at)
        return value

    def put(self, key: K, value: V, read_at: Instant | None = None) -> None:
        """Cache a value that was read at an instant, by default now."""
        entry = (read_at or self.instant(), value)
        with self._lock:
            self._entries.pop(key, None)
            if len(self._entries) >= self._max_entries:
                del self._entries[next(iter(self._entries))]
            self._entries[key] = entry

    def forget(self, key: K) -> None:
        """Drop a key."""
        with self._lock:
            self._entries.pop(key, None)
