"""The failure bucket, and the members that its records name."""

from typing import NamedTuple, Protocol

from standings.domain.members.member_item import Image


class StoredObject(NamedTuple):
    """An object: its key, and when it was written, in milliseconds since 1970."""

    key: str
    at: int


class ParkedMember(NamedTuple):
    """The member that a parked record names.

    `gone` stands in for an item that no longer exists: the record's newest image without scores, one version on (None
    if the record has no readable image). `made` is when the record was made, in milliseconds, if it says so.
    """

    board: str
    member: str
    gone: Image | None
    made: int | None


class Objects(Protocol):
    """The failure bucket."""

    def listed(self, prefix: str, after: str, limit: int) -> list[StoredObject]:
        """List objects below a prefix whose keys sort after `after`. Fewer than `limit`: these are the last."""

    def content(self, key: str) -> bytes | None:
        """Read an object; None if it does not exist."""

    def delete(self, key: str) -> None:
        """Delete an object if it exists."""
