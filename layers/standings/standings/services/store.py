"""What the services need of a store, and how it says that something stands in the way."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Protocol

from standings.domain.boards import Ranking
from standings.domain.members import Image
from standings.domain.moves import Move
from standings.domain.places import Path

MOST_ACTIONS = 100
"""Actions of one DynamoDB transaction."""

MemberKey = tuple[str, str]
"""A board and a member of it."""


class StoreUnavailableError(Exception):
    """The store cannot answer now: try again later. `wait` is the least number of seconds until then."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class StoreRefusedError(Exception):
    """The store will never do this; the message says why."""


class Hindrance(Enum):
    """Why one action kept its transaction from being done."""

    CONDITION = auto()  # its condition does not hold
    BUSY = auto()  # another request has the item just now, or takes all its throughput
    INVALID = auto()  # the store will never do it


class Receipt(NamedTuple):
    """The proof that an event was applied: its id, and a digest of what it said."""

    event_id: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class ItemChange:
    """What one transaction does to one member's item.

    Blind (`exact` is false): on condition that no later writer's stamp is on the item and its magnitude leaves room.
    Exact: on condition that the item still has the version that was `seen` (None: that there is no item).
    `magnitude` is added when blind and set when exact.
    """

    board: str
    member: str
    adds: Mapping[str, int]
    removes: Sequence[str]
    stamp: int
    magnitude: int
    exact: bool
    seen: int | None


class ReceiptObstacle(NamedTuple):
    """A receipt in a transaction's way; `found` is the digest of the one that is there."""

    position: int
    hindrance: Hindrance
    found: bytes | None
    message: str


class ChangeObstacle(NamedTuple):
    """An item in a transaction's way; `found` is the item as it is (None: there is none)."""

    position: int
    hindrance: Hindrance
    found: Image | None
    message: str


class Row(NamedTuple):
    """A member's row in a ranking: what is counted for it (None: no place), and the version that this came from."""

    ordinal: int | None
    version: int


class MoveObstacle(NamedTuple):
    """A move in a transaction's way; `found` is the row as it is (None: there is none).

    Without a position it is a tier that is in the way, which can only be busy.
    """

    position: int | None
    hindrance: Hindrance
    found: Row | None
    message: str


class Scores(Protocol):
    """The truth: members' items, the receipts of events, and the list of boards."""

    def images(self, keys: Iterable[MemberKey]) -> dict[MemberKey, Image]:
        """The items of members as lately read: they may be a moment old. Whoever has none is left out."""

    def image(self, key: MemberKey) -> Image | None:
        """The item of a member as it is now; None where there is none."""

    def receipt(self, event_id: str) -> bytes | None:
        """The digest of an event that was applied, as of now; None for one that was not."""

    def apply(
        self, receipts: Sequence[Receipt], changes: Sequence[ItemChange], now: int
    ) -> list[ReceiptObstacle | ChangeObstacle]:
        """Do all of it or nothing: what stood in the way, or an empty list when it is done."""

    def register_board(self, board: str, rankings: frozenset[str], now: int) -> None:
        """Add a board to the list of boards, unless it is there."""


class Rankings(Protocol):
    """The read model, as the projector writes it."""

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveObstacle]:
        """Move entries and tiers of one ranking, all or nothing: what stood in the way, or an empty list."""


class Node(NamedTuple):
    """A node of a tier tree: its counters by digit, and the latest stamp that it knows of (None: empty)."""

    counters: Mapping[int, int]
    stamp: int | None


class Entry(NamedTuple):
    """A member's place in a ranking, and the stamp of the change that put it there, in milliseconds."""

    ordinal: int
    member: str
    stamp: int


class Standing(Protocol):
    """The read model, as readers see it."""

    def entry(self, ranking: Ranking, member: str) -> Entry | None:
        """A member's entry; None for one without a place."""

    def nodes(self, ranking: Ranking, paths: Sequence[Path]) -> dict[Path, Node]:
        """Nodes of the tier tree; one that is not there has no counters."""

    def page(
        self,
        ranking: Ranking,
        after: str | None,
        limit: int,
        paths: Sequence[Path],
        *,
        forward: bool,
    ) -> tuple[list[Entry], dict[Path, Node]]:
        """Entries that follow a place (with `forward` false: precede it, nearest first), and nodes, side by side."""

    def rankings_of(self, board: str) -> frozenset[str] | None:
        """The codes of the rankings that are whole on a board; None for a board without events."""

    def has_member(self, board: str, member: str) -> bool:
        """Whether a member has an item on a board."""
