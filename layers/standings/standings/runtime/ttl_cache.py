"""What a process remembers for a while, instead of reading it again."""

from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, NamedTuple, TypeVar

from standings.runtime.retry import Clock

BOARD_TTL_S: Final = 60
"""Seconds for which a board's record is remembered."""

RANKING_TTL_S: Final = 3600
"""Seconds for which the number of a ranking's shards or lanes is remembered. Both only grow."""

MAX_ENTRIES: Final = 10_000

K = TypeVar("K")
V = TypeVar("V")


class Instant(NamedTuple):
    """An instant by both clocks: seconds of the monotonic clock, milliseconds of the wall clock."""

    monotonic: float
    now: int


class TtlCache(Generic[K, V]):
    """A cache whose entries expire, and that drops the oldest entry when it is full. Threads may share it.

    An entry expires by whichever clock says so first: the monotonic clock may stand still while a sandbox is frozen,
    and the wall clock may be set back at any time.
    """

    def __init__(self, pacing: Clock, ttl_s: float, max_entries: int = MAX_ENTRIES) -> None:
        self._pacing = pacing
        self._ttl_s = ttl_s
        self._max_entries = max_entries
        self._entries: dict[K, tuple[Instant, V]] = {}
        self._lock = Lock()

    def instant(self) -> Instant:
        """Now. Take it before you read what you will put into the cache."""
        return Instant(self._pacing.monotonic(), self._pacing.now())

    def get(self, key: K) -> V | None:
        """The value of a key; None if there is none, or if it has expired."""
        entry = self._fresh(key)
        return None if entry is None else entry[1]

    def get_or_read(self, key: K, read: Callable[[], V]) -> V:
        """The value of a key; where there is none, read it and remember it."""
        entry = self._fresh(key)
        if entry is not None:
            return entry[1]
        read_at = self.instant()
        value = read()
        self.put(key, value, read_at)
        return value

    def put(self, key: K, value: V, read_at: Instant | None = None) -> None:
        """Remember a value that was read at an instant (None: now)."""
        entry = (read_at or self.instant(), value)
        with self._lock:
            self._entries.pop(key, None)
            if len(self._entries) >= self._max_entries:
                del self._entries[next(iter(self._entries))]
            self._entries[key] = entry

    def forget(self, key: K) -> None:
        """Drop the value of a key."""
        with self._lock:
            self._entries.pop(key, None)

    def _fresh(self, key: K) -> tuple[Instant, V] | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        read_at, now = entry[0], self.instant()
        by_monotonic = now.monotonic - read_at.monotonic < self._ttl_s
        by_wall = 0 <= now.now - read_at.now < self._ttl_s * 1000
        return entry if by_monotonic and by_wall else None
