"""What stores take and give, and the errors that they raise. `aws` has the stores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from standings.domain.members import Image
from standings.domain.profiles import Profile
from standings.domain.scoring import Place

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


# What settling a period needs: a file store and an event bus.

MAX_KEYS: Final = 1_000  # Keys that one call lists
MAX_EVENTS: Final = 10  # Events that one call puts


class BusEvent(NamedTuple):
    """An event: its id, its type, and its detail as JSON, which holds the id as well."""

    id: str
    type: str
    detail: str


# Profiles of members.

PROFILE_TTL_S = 55
"""Seconds for which a process caches a profile. With the delay of an eventually consistent read, a change shows
everywhere within a minute."""


class Match(NamedTuple):
    """A member whose name begins with a search text, with the sort key of its name."""

    key: str
    member: str
    profile: Profile


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


# Messages of the queues.


class DeadLetter(NamedTuple):
    """A message of the dead-letter queue, as it was sent. Times are in milliseconds since 1970.

    `reason` is None if SQS itself moved the message. `kept_in` names the object that holds its body. `problem` says why
    it cannot be replayed. `handle`, `attributes` and `group` belong to the queue.
    """

    id: str
    handle: str
    body: str
    size: int
    reason: str | None
    first_received: int
    sent: int
    receives: int
    attributes: dict[str, Any]
    group: str | None = None
    kept_in: str | None = None
    problem: str | None = None


class Posted(NamedTuple):
    """An event for the queue. `board`: the first board it names, if valid.

    `at_filled_in`: it was sent without `at`, or it is one of many that were given this one (as for `parse_event`).
    """

    body: str
    at_filled_in: bool | str
    board: str | None
