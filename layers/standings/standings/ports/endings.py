"""What settling a period needs: a place for its files, and somebody who hears of it."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

MAX_KEYS: Final = 1_000  # Keys that one call lists
MAX_EVENTS: Final = 10  # Events that one call puts


class BusEvent(NamedTuple):
    """An event: its id, its type, and its detail as JSON, which holds the id as well."""

    id: str
    type: str
    detail: str


class Results(Protocol):
    """Files by key. Every method may raise StoreUnavailableError. `name` says where they are."""

    @property
    def name(self) -> str:
        """The bucket."""

    def put(self, key: str, content: bytes) -> None:
        """Write a file, in the place of another one of that key."""

    def put_new(self, key: str, content: bytes) -> bool:
        """Write a file if there is none of that key. False if there is one."""

    def content(self, key: str) -> bytes | None:
        """Read a file; None if there is none."""

    def keys(self, prefix: str, after: str = "") -> list[str]:
        """List keys that begin with `prefix` and sort after `after`. Fewer than `MAX_KEYS`: these are the last."""

    def delete(self, key: str) -> None:
        """Delete a file if there is one."""


class Bus(Protocol):
    """Whoever listens to events."""

    def put(self, events: Sequence[BusEvent]) -> dict[str, str]:
        """Put at most `MAX_EVENTS` events: why some of them failed, by id. May raise StoreUnavailableError."""
