"""What the services need of a store, and how it says that something stands in the way."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Protocol

from standings.domain.boards.coverage import Coverage
from standings.domain.boards.definitions import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Path, Place

MOST_ACTIONS = 100
"""Actions of one DynamoDB transaction."""

REPLAYABLE_DAYS = 29
"""What was first received longer ago is not replayed: receipts, and the versions of removed members, outlive it."""

SLOTS = 64
"""Parts in which a board's members are listed."""

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


class Addition(NamedTuple):
    """Adds to one member's item without having seen it.

    On condition that no later writer's stamp is on it and its magnitude leaves room, and with `known` that it is
    there. What was removed begins anew. `unmarks` are accumulators whose marks go, if they have any.
    """

    board: str
    member: str
    adds: Mapping[str, int]
    removes: Sequence[str]
    unmarks: Sequence[str]
    stamp: int
    magnitude: int
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
    """A member's row in a ranking: where it is counted (None: no place), and the version that this came from."""

    place: Place | None
    version: int


class MoveObstacle(NamedTuple):
    """A move in a transaction's way; `found` is the row as it is (None: there is none).

    Without a position it is a tier that is in the way, which can only be busy.
    """

    position: int | None
    hindrance: Hindrance
    found: Row | None
    message: str


class Job(NamedTuple):
    """A rebuild or deletion that is under way on a board, and how far it is.

    `phase` is one of those of `maintain.rebuild.rebuild`, which began at the instant `since`; `coverage` is what the
    rankings
    will be whole for. `slot` and `after` say which members are done, `members` how many these are.
    """

    task: str
    phase: str
    since: int
    coverage: Coverage
    slot: int = 0
    after: str | None = None
    members: int = 0


@dataclass(frozen=True, slots=True)
class BoardRecord:
    """What is known of a board: the generation of its rankings that is read, those that are written, and the rest.

    `version` is one more at every write. `coverage` says for what the generation that is read is whole; `codes` are
    those of all rankings that any definition has written. `latest` is the highest number that a generation was given,
    `stale` are generations that are no longer written and still there. A board that was `deleted` stands in no list;
    `again` says that an event came while it was being deleted. `renewed` is when the latest generation was begun.
    """

    board: str
    version: int
    begun: int
    coverage: Coverage
    codes: frozenset[str]
    generation: int = 0
    written: tuple[int, ...] = (0,)
    latest: int = 0
    stale: tuple[int, ...] = ()
    deleted: bool = False
    again: bool = False
    renewed: int = 0
    job: Job | None = None


class BoardRecords(Protocol):
    """The records of boards, which are also the list of them."""

    def records(self, boards: Iterable[str]) -> dict[str, BoardRecord]:
        """The records that there are of these boards, as of now."""

    def names(self, after: str | None, limit: int) -> list[str]:
        """The names of boards that follow a name, in order; not those that were deleted."""

    def put(self, record: BoardRecord, seen: int | None) -> bool:
        """Write a record in the place of the one of version `seen` (None: of none); False where that is not there."""


class Scores(Protocol):
    """The truth: members' items, and the receipts of events."""

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

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image]:
        """Items of a board in one of its `SLOTS`, as they are now, by member: those that follow `after`.

        Fewer than `limit` say that no more follow.
        """


class Rankings(Protocol):
    """The read model, as the projector writes it."""

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveObstacle]:
        """Move entries and tiers of one ranking, all or nothing: what stood in the way, or an empty list."""


class Node(NamedTuple):
    """A node of a tier tree: its counters by digit, and the latest stamp that it knows of (None: empty).

    A root also says over how many shards entries were ever spread.
    """

    counters: Mapping[int, int]
    stamp: int | None
    shards: int = 1


class Lane(NamedTuple):
    """One lane of a node as it is now: its counters by digit, its version, and the latest stamp that it knows of.

    A member counts in any lane, so that a counter of one alone may be less than 0. Version 0 is one without.
    """

    counters: Mapping[int, int]
    version: int
    stamp: int | None


Lanes = Mapping[int, Lane]
"""The lanes of a node by number; one that is not there is left out."""


class Removal(NamedTuple):
    """Takes counters out of a node, in each of its lanes on condition that they are still as they were read."""

    path: Path
    digits: Collection[int]
    lanes: Lanes


class Trees(Protocol):
    """Tier trees lane by lane, for those who look after them."""

    def lanes(self, ranking: Ranking, paths: Sequence[Path]) -> dict[Path, Lanes]:
        """Lanes of nodes as they are now; a node without any is left out."""

    def remove(self, ranking: Ranking, nodes: Mapping[Path, Lanes], counters: Sequence[Removal]) -> list[Hindrance]:
        """Remove nodes and, out of others, counters, all or nothing: what stood in the way, or an empty list.

        A node goes on condition that its lanes have the versions that were read.
        """


class Entry(NamedTuple):
    """A member's place in a ranking, the key that it is sorted by, and the stamp of the change that put it there."""

    key: str
    place: Place
    member: str
    stamp: int


class Span(NamedTuple):
    """A part of one shard of a sorted index: at most `limit` entries that follow a key (`forward` false: precede it).

    The nearest come first. Without a key it begins at the end of the list that it reads away from.
    """

    shard: int
    beyond: str | None
    limit: int
    forward: bool = True


class Standing(Protocol):
    """The read model, as readers see it. Of a list that is asked for at once, all is read side by side."""

    def entries(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        """Entries of members; whoever has no place is left out."""

    def nodes(self, wanted: Sequence[tuple[Ranking, Path]]) -> dict[tuple[Ranking, Path], Node]:
        """Nodes of tier trees; one that is not there is left out."""

    def spans(
        self, ranking: Ranking, spans: Sequence[Span], paths: Sequence[Path]
    ) -> tuple[list[list[Entry]], dict[Path, Node]]:
        """Entries of each span in the order that it is read in, and nodes, side by side."""

    def counts(self, ranking: Ranking, shards: int, ranges: Sequence[tuple[str, str]], most: int) -> list[int]:
        """How many entries stand from one key to another, both included: each shard's counted up to `most`."""

    def record(self, board: str) -> BoardRecord | None:
        """The record of a board as of now; None for a board without events."""

    def boards(self, prefix: str, after: str | None, limit: int) -> list[str]:
        """The names of boards that begin with a prefix and follow a name, in order."""

    def image(self, board: str, member: str) -> Image | None:
        """A member's item as it is now; None where there is none."""


class Kept(NamedTuple):
    """An object: its key, and when it was written, in milliseconds since 1970."""

    key: str
    at: int


class Objects(Protocol):
    """The failure bucket. All of it may raise StoreUnavailableError."""

    def listed(self, prefix: str, after: str, limit: int) -> list[Kept]:
        """Objects below a prefix whose keys follow a text, by key. Fewer than `limit` say that no more follow."""

    def content(self, key: str) -> bytes | None:
        """What an object holds; None where there is none."""

    def delete(self, key: str) -> None:
        """Remove an object, if it is there."""


class Named(NamedTuple):
    """Whom a record names, and when it was made (None: it does not tell).

    `gone` is its newest image without the scores, a version on: what the item counts as if it is no longer there. None
    for a record whose images cannot be read.
    """

    board: str
    member: str
    gone: Image | None
    made: int | None
