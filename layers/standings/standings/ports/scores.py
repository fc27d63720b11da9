"""What the services need of a store, and how it says that something stands in the way."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from standings.domain.events.event import Event
from standings.domain.members.member_item import Image
from standings.ports.errors import CancelReason

REPLAYABLE_DAYS = 29
"""What was first received longer ago is not replayed: receipts, and the versions of removed members, outlive it."""

SLOTS = 64
"""Parts in which a board's members are listed."""

MemberKey = tuple[str, str]
"""A board and a member of it."""


class Addition(NamedTuple):
    """Adds to one member's item without having seen it.

    On condition that no later writer's stamp is on it and its magnitude leaves room, and with `known` that it is
    there. What was removed begins anew. `unmarks` are accumulators whose marks go, if they have any.
    """

    board: str
    member: str
    adds: Mapping[str, int]
    removes: Sequence[str]
    tie_keys_removed: Sequence[str]
    written_at_ms: int
    abs_total: int
    known: bool


class Rewrite(NamedTuple):
    """Puts an image in the place of the one of version `seen` (None: of none).

    With the same version nothing is changed, and only the condition is made.
    """

    image: Image
    seen: int | None

    @property
    def board(self) -> str:
        """The board of the member."""
        return self.image.board

    @property
    def member(self) -> str:
        """The member."""
        return self.image.member


ItemChange = Addition | Rewrite


class ReceiptConflict(NamedTuple):
    """A receipt in a transaction's way; `found` is the digest of the one that is there."""

    position: int
    reason: CancelReason
    found: bytes | None
    message: str


class ItemConflict(NamedTuple):
    """An item in a transaction's way; `found` is the item as it is (None: there is none)."""

    position: int
    reason: CancelReason
    found: Image | None
    message: str


class Scores(Protocol):
    """The truth: members' items, and the receipts of events."""

    def images(self, keys: Iterable[MemberKey]) -> dict[MemberKey, Image]:
        """The items of members as lately read: they may be a moment old. Whoever has none is left out."""

    def image(self, key: MemberKey) -> Image | None:
        """The item of a member as it is now; None where there is none."""

    def receipt(self, event_id: str) -> bytes | None:
        """The digest of an event that was applied, as of now; None for one that was not."""

    def apply(
        self, events: Sequence[Event], changes: Sequence[ItemChange], now: int
    ) -> list[ReceiptConflict | ItemConflict]:
        """Write the receipts of events and the changes of items, all or nothing. Return the conflicts, if any."""

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image]:
        """Items of a board in one of its `SLOTS`, as they are now, by member: those that follow `after`.

        Fewer than `limit` say that no more follow.
        """
