"""What stores take and give: their errors, and rankings as the projector writes them and readers see them."""

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from standings.domain.scoring import Place


class StoreUnavailableError(Exception):
    """The store cannot answer now. Retry after at least `wait` seconds."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class StoreRefusedError(Exception):
    """The store will never do this. The message says why."""


class IndexNotBuiltError(Exception):
    """The table does not have the index, or its building has not ended."""


class CancelReason(Enum):
    """Why an action cancelled its transaction."""

    CONDITION = auto()  # its condition does not hold
    BUSY = auto()  # another request is using the item, or the item is throttled
    INVALID = auto()  # the store will never do it


REPLAYABLE_DAYS = 29  # Days for which an event or a record may be replayed. Receipts and removed items last longer.
SLOTS = 64  # Slots over which the members of a board are spread
MemberKey = tuple[str, str]  # A board and a member of it

MAX_ACTIONS = 100  # Actions of one DynamoDB transaction
MAX_TRANSACTION_BYTES = 4_000_000  # Bytes of its actions. DynamoDB takes 4 MB: 4,194,304.


class Posted(NamedTuple):
    """An event for the queue. `board`: the first board it names, if valid.

    `at_filled_in`: it was sent without `at`, or it is one of many that were given this one (as for `parse_event`).
    """

    body: str
    at_filled_in: bool | str
    board: str | None
    history: bool = False


class Lane(NamedTuple):
    """One lane (counter shard) of a node: counters by digit, version (0: none), and when it was last written.

    A member may leave by another lane than it came by, so a counter can be negative.
    """

    counters: Mapping[int, int]
    version: int
    written_at_ms: int | None


Lanes = Mapping[int, Lane]  # The lanes of a node that exist, by number


class Node(NamedTuple):
    """A node: its counters by digit, when it was last written (None: empty), and a root's highest number of shards."""

    counters: Mapping[int, int]
    written_at_ms: int | None
    shards: int = 1


class Entry(NamedTuple):
    """A member's entry in a ranking: its sort key (`MvIu123`), its place, and when that was written."""

    key: str
    place: Place
    member: str
    written_at_ms: int


class Partition(NamedTuple):
    """A partition of the sorted index, one shard of a list by its key: `Partition("berlin-2026#G0Pa", 0)`."""

    list: str
    shard: int


class Span(NamedTuple):
    """Up to `limit` entries of a partition that follow the key `beyond`, or with `forward` false precede it.

    The entries nearest to the key come first. Without a key the span starts at that end of the partition.
    """

    partition: Partition
    beyond: str | None
    limit: int
    forward: bool = True


class Part(NamedTuple):
    """The entries of a partition whose keys are from `first` to `last`, both included."""

    partition: Partition
    first: str
    last: str


class RankingName(NamedTuple):
    """A ranking in any generation, by names and the index of its period: `("berlin-2026", "points", "day", 20778)`."""

    board: str
    metric: str
    window: str
    period: int
