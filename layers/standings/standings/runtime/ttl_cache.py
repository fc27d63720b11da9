"""A cache whose entries expire."""

from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

from standings.runtime.retry import Clock

RANKING_TTL_S: Final = 3600  # Seconds for which the number of a ranking's shards or lanes is cached. Both only grow.
MAX_ENTRIES: Final = 10_000
Instant = tuple[float, int]  # Seconds of the monotonic clock, milliseconds of the wall clock
K = TypeVar("K")
V = TypeVar("V")


class TtlCache(Generic[K, V]):
    """A cache whose entries expire. Threads may share it; if it is full, it drops its oldest entry.

    An entry expires by whichever clock is first. The monotonic clock may stop while Lambda freezes the process, and the
    wall clock may be set back.
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

    def get(self, key: K) -> V | None:
        """Return the value of a key; None if it is missing or expired."""
        entry = self._fresh(key)
        return None if entry is None else entry[1]

    def get_or_read(self, key: K, read: Callable[[], V]) -> V:
        """Return the value of a key; read and cache it if it is missing or expired."""
        entry = self._fresh(key)
        if entry is not None:
            return entry[1]
        read_at = self.instant()
        value = read()
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

    def _fresh(self, key: K) -> tuple[Instant, V] | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        (monotonic, wall), (monotonic_now, wall_now) = entry[0], self.instant()
        fresh = monotonic_now - monotonic < self._ttl_s and 0 <= wall_now - wall < self._ttl_s * 1000
        return entry if fresh else None
