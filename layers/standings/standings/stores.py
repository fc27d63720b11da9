"""What stores take and give, and the errors that they raise. `aws` has the stores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, NamedTuple

from standings.domain.scoring import Place


class StoreUnavailableError(Exception):
    """The store cannot answer now. Retry after at least `wait` seconds."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class StoreRefusedError(Exception):
    """The store will never do this. The message says why."""


class CancelReason(Enum):
    """Why an action cancelled its transaction."""

    CONDITION = auto()  # its condition does not hold
    BUSY = auto()  # another request is using the item, or the item is throttled
    INVALID = auto()  # the store will never do it


REPLAYABLE_DAYS = 29  # Days for which an event or a record may be replayed. Receipts and removed items last longer.
SLOTS = 64  # Slots over which the members of a board are spread
MemberKey = tuple[str, str]  # A board and a member of it


# Rolling windows, as the projector writes them.


# Rankings, as the projector writes them and readers see them.

MAX_ACTIONS = 100  # Actions of one DynamoDB transaction
MAX_TRANSACTION_BYTES = 4_000_000  # Bytes of its actions. DynamoDB takes 4 MB: 4,194,304.


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


# What audits read of a ranking.


# Where turns over all boards are.


@dataclass(frozen=True, slots=True)
class Position:
    """Where the turn is, and whose run is at work.

    The next run of the turn begins at `board`, with the cursor `at` there; None: with the first board of a new turn.
    `tries` runs in a row have failed there. A run is at work until `leased_until` (milliseconds) at the latest; None:
    no run. `ran_at` is when the last run began. `scheduled` says that it was one of the turn, not a call for one board.
    """

    version: int = 0
    board: str | None = None
    at: Mapping[str, Any] | None = None
    tries: int = 0
    leased_until: int | None = None
    ran_at: int | None = None
    scheduled: bool = True


@dataclass(frozen=True, slots=True)
class Tally:
    """What a turn found: how many boards it audited, their differences, and boards that it left out.

    It began at `since` and ended at `until` (milliseconds; None: it has not ended). `read_units` are those used.
    """

    since: int
    until: int | None = None
    boards: int = 0
    drift: int = 0
    read_units: int = 0
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AuditPosition(Position):
    """Where the audits are. `turn` is the turn under way, and `last` the one before it."""

    turn: Tally | None = None
    last: Tally | None = None
