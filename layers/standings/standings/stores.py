"""What stores take and give, and the errors that they raise. `aws` has the stores."""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from standings.domain.members import Image
from standings.domain.profiles import Profile
from standings.domain.rolling import Block, Steps
from standings.domain.scoring import Place
from standings.domain.tiers import Path

# Errors of stores.


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


# Scores and Receipts.

REPLAYABLE_DAYS = 29  # Days for which an event or a record may be replayed. Receipts and removed items last longer.
SLOTS = 64  # Slots over which the members of a board are spread
MemberKey = tuple[str, str]  # A board and a member of it


class Addition(NamedTuple):
    """Adds to a member's item without reading it. An item that was removed starts again.

    The store applies it if the item was not written after `written_at_ms` and its total has room for `abs_total`. With
    `known` the item must exist. `removes` are accumulators. `tie_keys_removed` are those that lose their tie keys,
    `notes_removed` those that lose their notes, and `set_keys_removed` those that lose their set keys.
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
    set_keys_removed: Sequence[str] = ()


class Rewrite(NamedTuple):
    """Replaces the image of version `seen` (optimistic concurrency; None: no item).

    If `image` has the version `seen` itself, it is not written: the store only checks that it is still there.
    """

    image: Image
    seen: int | None


class Patch(NamedTuple):
    """Replaces an image like a Rewrite, but sends only what differs from `before` (None: no item).

    So it is small, whatever the item is. It costs the same: a write is billed by the size of the item.
    """

    image: Image
    before: Image | None


ItemChange = Addition | Rewrite | Patch


class Fence(NamedTuple):
    """Lets a task write only as long as it is the task of its board (a fencing token).

    A call that was held up may go on when another has finished the task. `token` is such as
    `delete/removing/1795256100000`.
    """

    board: str
    token: str


class FencedError(Exception):
    """The task is not, or is no longer, the current one of its board."""


class Receipt(NamedTuple):
    """The stored receipt of an event that counted: its digest, and when it counted, in milliseconds.

    `stamp` is at least the stamp of each item that it counted in. `seen` is the attribute, with its value, by which a
    write makes sure that nobody else has replaced the receipt: `("t", 1795256100000)`.
    """

    digest: bytes
    stamp: int
    seen: tuple[str, int]


class NewReceipt(NamedTuple):
    """A receipt to write. `stamp` is that of the items in its transaction, in milliseconds.

    `is_superseded`: a total that the event sets was older than one that had counted. `replaces` is the receipt of the
    same event from before its members were removed.
    """

    event_id: str
    digest: bytes
    stamp: int
    is_superseded: bool = False
    replaces: Receipt | None = None


class ReceiptConflict(NamedTuple):
    """A receipt that cancelled a transaction, by its position. `found` is the one that is stored, if any."""

    position: int
    reason: CancelReason
    found: Receipt | None
    message: str


class ItemConflict(NamedTuple):
    """A change that cancelled a transaction, by its position. `found` is the item; None if it does not exist."""

    position: int
    reason: CancelReason
    found: Image | None
    message: str


class EventStatus(NamedTuple):
    """What became of an event: it was counted or refused at `at`, in milliseconds. `reason` is None if it counted.

    `is_superseded`: a total that it sets was older than one that had counted, and changed nothing.
    """

    at: int
    reason: str | None
    is_superseded: bool = False


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


# Rolling windows, as the projector writes them.


class RollingRow(NamedTuple):
    """A member's row in a rolling window: its steps, and the image's version they came from."""

    version: int
    steps: Steps


class ListItem(NamedTuple):
    """A list item to write: a member's place in a block of periods, or that it has none there any more."""

    member: str
    block: Block
    place: Place | None
    version: int
    written_at_ms: int


class RowChange(NamedTuple):
    """A row to write. `seen` is the version of the row that was read; None if there was none."""

    member: str
    row: RollingRow
    written_at_ms: int
    seen: int | None


class RowConflict(NamedTuple):
    """Why a commit was cancelled: the position of the row that had changed, or None for the log."""

    position: int | None
    reason: CancelReason
    message: str


# Rankings, as the projector writes them and readers see them.

MAX_ACTIONS = 100  # Actions of one DynamoDB transaction
MAX_TRANSACTION_BYTES = 4_000_000  # Bytes of its actions. DynamoDB takes 4 MB: 4,194,304.


class RankingRow(NamedTuple):
    """A member's row in a ranking: the place that is counted (None: none), and the image's version it came from."""

    place: Place | None
    version: int


class MoveConflict(NamedTuple):
    """A move that cancelled a commit, by its position (None: a tier, which was busy). `found` is the row, if any."""

    position: int | None
    reason: CancelReason
    found: RankingRow | None
    message: str


class Lane(NamedTuple):
    """One lane (counter shard) of a node: counters by digit, version (0: none), and when it was last written.

    A member may leave by another lane than it came by, so a counter can be negative.
    """

    counters: Mapping[int, int]
    version: int
    written_at_ms: int | None


Lanes = Mapping[int, Lane]  # The lanes of a node that exist, by number


class Removal(NamedTuple):
    """Counters to remove from a node's lanes if they still have the values in `lanes`."""

    path: Path
    digits: Collection[int]
    lanes: Lanes


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


# What announcements need: a queue of rankings to look at, the last top that was announced, and the top of today.


class RankingName(NamedTuple):
    """A ranking in any generation, by names and the index of its period: `("berlin-2026", "points", "day", 20778)`."""

    board: str
    metric: str
    window: str
    period: int


class Look(NamedTuple):
    """A request to look at a ranking's top. `tries` counts the looks before this one that had to be repeated."""

    name: RankingName
    tries: int = 0


class Standing(NamedTuple):
    """A member of a top, with its sort value: `Standing("u123", -300)`."""

    member: str
    sort_value: int


class AnnouncedTop(NamedTuple):
    """What was last announced of a ranking.

    `unsent` is the event without its `top`, as long as nobody has confirmed that EventBridge took it.
    """

    version: int
    seq: int
    announced_at_ms: int
    top: Sequence[Standing]
    unsent: Mapping[str, Any] | None


# Profiles of members.

PROFILE_TTL_S = 55
"""Seconds for which a process caches a profile. With the delay of an eventually consistent read, a change shows
everywhere within a minute."""


class Match(NamedTuple):
    """A member whose name begins with a search text, with the sort key of its name."""

    key: str
    member: str
    profile: Profile


# What audits read of a ranking.


class StoredRow(NamedTuple):
    """A member's row in a ranking, or its item in a list of a rolling window.

    `key` is the sort key of its entry (None: no entry). `at_home` says whether the entry is in an allowed shard.
    """

    key: str | None
    version: int
    at_home: bool = True


class StoredSteps(NamedTuple):
    """A member's row in a rolling window. `steps` is None if they cannot be decoded."""

    version: int
    steps: Steps | None


class Root(NamedTuple):
    """The number of lanes and shards that a ranking's root names."""

    lanes: int
    shards: int


class Snapshot(NamedTuple):
    """A node at one moment: its counters, summed over the lanes that the root names.

    Two snapshots with an equal `state` mean that nobody wrote the node in between.
    """

    root: Root
    counters: Mapping[int, int]
    state: object


class Listed(NamedTuple):
    """An entry of a ranking's sorted index; `place` is None if its key cannot be decoded.

    In a rolling window it is an item of a list. `block` is in its key; None if that is the key of another item.
    """

    key: str
    member: str
    place: Place | None
    block: Block | None = None


class DamagedLog(Exception):
    """A log cannot be read: its key, and why."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"{key}: {reason}")
        self.key = key
        self.reason = reason


# Messages of the queues.


class Posted(NamedTuple):
    """An event for the queue. `board`: the first board it names, if valid.

    `at_filled_in`: it was sent without `at`, or it is one of many that were given this one (as for `parse_event`).
    """

    body: str
    at_filled_in: bool | str
    board: str | None
