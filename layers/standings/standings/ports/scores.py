"""Scores and Receipts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from standings.domain.events.event import Event
from standings.domain.members.member_item import Image
from standings.ports.errors import CancelReason

REPLAYABLE_DAYS = 29  # Days for which an event or a record may be replayed. Receipts and removed items last longer.
SLOTS = 64  # Slots over which the members of a board are spread
MemberKey = tuple[str, str]  # A board and a member of it


class Addition(NamedTuple):
    """Adds to a member's item without reading it. An item that was removed starts again.

    The store applies it if the item was not written after `written_at_ms` and its total has room for `abs_total`. With
    `known` the item must exist. `removes` are accumulators. `tie_keys_removed` are those that lose their tie keys, and
    `notes_removed` those that lose their notes.
    """

    board: str
    member: str
    adds: Mapping[str, int]
    removes: Sequence[str]
    tie_keys_removed: Sequence[str]
    notes_removed: Sequence[str]
    written_at_ms: int
    abs_total: int
    known: bool


class Rewrite(NamedTuple):
    """Replaces the image of version `seen` (None: no item). An image of that version is only checked, not written."""

    image: Image
    seen: int | None


ItemChange = Addition | Rewrite


class Fence(NamedTuple):
    """Lets a task write only as long as it is the task of its board (a fencing token).

    A call that was held up may go on when another has finished the task. `token` is such as
    `delete/removing/1795256100000`.
    """

    board: str
    token: str


class FencedError(Exception):
    """The task is not, or no longer, that of its board."""


class ReceiptConflict(NamedTuple):
    """A receipt that cancelled a transaction, by its position. `found` is the digest that is stored."""

    position: int
    reason: CancelReason
    found: bytes | None
    message: str


class ItemConflict(NamedTuple):
    """A change that cancelled a transaction, by its position. `found` is the item; None if it does not exist."""

    position: int
    reason: CancelReason
    found: Image | None
    message: str


class ParkedMember(NamedTuple):
    """The member that a parked record names.

    `gone` stands in for an item that no longer exists: the record's newest image without scores, one version on (None
    if the record has no readable image). `made` is when the record was made, in milliseconds, if it says so.
    """

    board: str
    member: str
    gone: Image | None
    made: int | None


class DamagedItem(NamedTuple):
    """A member whose item somebody wrote by hand, and which is no image: `("berlin-2026", "u7", "KeyError: 'v'")`."""

    board: str
    member: str
    why: str

    def __str__(self) -> str:
        return f"the item of {self.member!r} on board {self.board!r} cannot be read: {self.why}"


class DamagedItemError(Exception):
    """An item cannot be read."""

    def __init__(self, item: DamagedItem) -> None:
        super().__init__(str(item))
        self.item = item


class Scores(Protocol):
    """Members' items, and the receipts of events.

    Where an item cannot be read, the methods raise DamagedItemError, and `members` returns a DamagedItem for it.
    """

    def images(
        self, keys: Iterable[MemberKey], *, consistent: bool = False, damaged: list[DamagedItem] | None = None
    ) -> dict[MemberKey, Image]:
        """Read items, eventually consistently unless told otherwise. A member without an item is left out.

        With `damaged`, members whose items cannot be read are appended to it, and left out.
        """

    def image(self, key: MemberKey) -> Image | None:
        """Read an item, strongly consistently; None if it does not exist."""

    def receipts(self, event_ids: Iterable[str]) -> dict[str, bytes]:
        """Read the digests of events, strongly consistently. An event that was not applied is left out."""

    def apply(
        self, events: Sequence[Event], changes: Sequence[ItemChange], now: int, fence: Fence | None = None
    ) -> list[ReceiptConflict | ItemConflict]:
        """Write the receipts of events and the changes of items, all or nothing. Return the conflicts, if any.

        With a fence, one change fewer fits. Raises FencedError if the fence is not that of its board's record.
        """

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image | DamagedItem]:
        """Read items of a slot, strongly consistently, by member after `after`. Fewer than `limit`: the last ones."""
