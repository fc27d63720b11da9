"""What maintenance needs of the failure bucket."""

from typing import NamedTuple, Protocol

from standings.domain.members.member_item import Image


class StoredObject(NamedTuple):
    """An object: its key, and when it was written, in milliseconds since 1970."""

    key: str
    at: int


class Objects(Protocol):
    """The failure bucket. All of it may raise StoreUnavailableError."""

    def listed(self, prefix: str, after: str, limit: int) -> list[StoredObject]:
        """Objects below a prefix whose keys follow a text, by key. Fewer than `limit` say that no more follow."""

    def content(self, key: str) -> bytes | None:
        """What an object holds; None where there is none."""

    def delete(self, key: str) -> None:
        """Remove an object, if it is there."""


class ParkedMember(NamedTuple):
    """Whom a record names, and when it was made (None: it does not tell).

    `gone` is its newest image without the scores, a version on: what the item counts as if it is no longer there. None
    for a record whose images cannot be read.
    """

    board: str
    member: str
    gone: Image | None
    made: int | None
