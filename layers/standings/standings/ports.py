"""The stores, as the pipeline's stages see them; `aws` implements them. Every method may raise the store's errors."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, NamedTuple, Protocol

from standings.domain.boards import BoardRecord, Ranking
from standings.domain.events import Event
from standings.domain.members import Image, Move
from standings.domain.profiles import Changes, Profile
from standings.domain.rolling import Block, LogEntry, RollingRankings, Steps
from standings.domain.scoring import Place
from standings.domain.tiers import Counters, Path

# Why a store did not do what it was asked to.


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


# A board's record: which rankings the board has, and the job that is running on it.


class BoardRecords(Protocol):
    """All records of boards."""

    def records(self, boards: Iterable[str]) -> dict[str, BoardRecord]:
        """Read the records of these boards, strongly consistently. A board without a record is left out."""

    def names(self, after: str | None, limit: int) -> list[str]:
        """List the names of boards that sort after `after`, in order."""

    def put(self, record: BoardRecord, seen: BoardRecord | None) -> bool:
        """Replace the record that was seen (None: no record). False if there is another version."""


# Scores and Receipts.

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


class RollingWindows(Protocol):
    """Rolling windows, for the projector. Every call may raise StoreUnavailableError and StoreRefusedError."""

    def rows(self, rankings: RollingRankings, members: Sequence[str]) -> dict[str, RollingRow | str]:
        """Read rows, strongly consistently. A row that cannot be decoded is the reason why."""

    def list(self, rankings: RollingRankings, items: Sequence[ListItem]) -> None:
        """Write list items, each unless the stored one is newer. Those with a place are written before the others."""

    def commit(self, rankings: RollingRankings, rows: Sequence[RowChange], entry: LogEntry) -> Sequence[RowConflict]:
        """Write rows and append their changes to a log, in one transaction. No conflict means that it succeeded."""

    def fold(self, rankings: RollingRankings, room: int) -> None:
        """Take this process's log into the tiers, if it is longer than `room` bytes."""


# Rankings, as the projector writes them and readers see them.

MAX_ACTIONS = 100  # Actions of one DynamoDB transaction


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


class Rankings(Protocol):
    """Rankings, for the projector."""

    @property
    def rolling(self) -> RollingWindows:
        """Those of rolling windows."""

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveConflict]:
        """Move entries and tiers in one transaction. An empty list means that it succeeded."""


class Lane(NamedTuple):
    """One lane of a node: its counters by digit, its version (0: none), and when it was last written.

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


class Trees(Protocol):
    """Tier trees, lane by lane."""

    def lanes(self, ranking: Ranking, paths: Sequence[Path]) -> dict[Path, Lanes]:
        """Read the lanes of nodes, strongly consistently. A node without lanes is left out."""

    def remove(self, ranking: Ranking, nodes: Mapping[Path, Lanes], counters: Sequence[Removal]) -> list[CancelReason]:
        """Remove nodes and counters in one transaction, if their lanes have not changed. Empty: it succeeded."""


class Node(NamedTuple):
    """A node: its counters by digit, when it was last written (None: empty), and a root's highest number of shards."""

    counters: Mapping[int, int]
    written_at_ms: int | None
    shards: int = 1


class Entry(NamedTuple):
    """A member's entry in a ranking: its sort key, its place, and when the change that moved it there was written."""

    key: str
    place: Place
    member: str
    written_at_ms: int


class Partition(NamedTuple):
    """A partition of the sorted index: one shard of one of a ranking's lists, by its key."""

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


class RankingsReader(Protocol):
    """Rankings, and the items of Scores that a read needs. Each call reads all its items in parallel."""

    def for_request(self) -> "RankingsReader":
        """The reader for one request, which may keep what the request has read."""

    def entries(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        """Read entries of members. A member without a place is left out."""

    def nodes(self, wanted: Sequence[tuple[Ranking, Path]]) -> dict[tuple[Ranking, Path], Node]:
        """Read nodes of tier trees. A node that does not exist is left out."""

    def spans(
        self, ranking: Ranking, spans: Sequence[Span], paths: Sequence[Path]
    ) -> tuple[list[list[Entry]], dict[Path, Node]]:
        """Read the entries of each span, and nodes."""

    def counts(self, parts: Sequence[Part], most: int) -> list[tuple[int, str | None]]:
        """Count up to `most` entries of each part, and say where its rest begins; None: all of it is counted."""

    def record(self, board: str) -> BoardRecord | None:
        """Read a board's record, strongly consistently; None for a board without events."""

    def boards(self, prefix: str, after: str | None, limit: int) -> list[str]:
        """List the names of boards that start with a prefix and sort after `after`, in order."""

    def image(self, board: str, member: str) -> Image | None:
        """Read a member's item, strongly consistently; None if it does not exist."""


# What announcements need: a queue of rankings to look at, the last top that was announced, and the top of today.


class RankingName(NamedTuple):
    """A ranking by the names in `boards.toml` and the index of its period, whatever its generation."""

    board: str
    metric: str
    window: str
    period: int


class Look(NamedTuple):
    """A request to look at a ranking's top. `tries` counts the looks before this one that had to be repeated."""

    name: RankingName
    tries: int = 0


class Looks(Protocol):
    """The queue of looks."""

    def ask(self, looks: Iterable[tuple[Look, int]]) -> None:
        """Put looks on the queue, each to be delivered after so many seconds. Raises StoreUnavailableError."""


class Standing(NamedTuple):
    """A member of a top, with its sort value."""

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


class AnnouncedTops(Protocol):
    """The last announcements by ranking. Every method may raise StoreUnavailableError."""

    def read(self, ranking: Ranking) -> AnnouncedTop | None:
        """Read what was last announced, strongly consistently; None before the first announcement."""

    def put(self, ranking: Ranking, announced: AnnouncedTop) -> bool:
        """Write an announcement over the version before. False if there is another version."""


class TopReads(Protocol):
    """Reads of one ranking. Only `indexed` is eventually consistent. Every method may raise StoreUnavailableError."""

    def shards(self, ranking: Ranking) -> int:
        """The highest number of shards that the sorted index has or had."""

    def indexed(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[str]:
        """Up to `limit` sort keys of a shard of the sorted index, between two sort keys, in order."""

    def keys(self, ranking: Ranking, members: Collection[str]) -> dict[str, str | None]:
        """The sort key of each member's row; None for a member without a place."""

    def counters(self, ranking: Ranking, paths: Sequence[Path]) -> Mapping[Path, Counters]:
        """The counters of nodes. A node that does not exist is left out."""


# What settling a period needs: a place for its files, and somebody who hears of it.

MAX_KEYS: Final = 1_000  # Keys that one call lists
MAX_EVENTS: Final = 10  # Events that one call puts


class BusEvent(NamedTuple):
    """An event: its id, its type, and its detail as JSON, which holds the id as well."""

    id: str
    type: str
    detail: str


class Results(Protocol):
    """Files by key. Every method may raise StoreUnavailableError. `name` says where they are."""

    @property
    def name(self) -> str:
        """The bucket."""

    def put(self, key: str, content: bytes) -> None:
        """Write a file, in the place of another one of that key."""

    def put_new(self, key: str, content: bytes) -> bool:
        """Write a file if there is none of that key. False if there is one."""

    def content(self, key: str) -> bytes | None:
        """Read a file; None if there is none."""

    def keys(self, prefix: str, after: str = "") -> list[str]:
        """List keys that begin with `prefix` and sort after `after`. Fewer than `MAX_KEYS`: these are the last."""

    def delete(self, key: str) -> None:
        """Delete a file if there is one."""


class Bus(Protocol):
    """Whoever listens to events."""

    def put(self, events: Sequence[BusEvent]) -> dict[str, str]:
        """Put at most `MAX_EVENTS` events: why some of them failed, by id. May raise StoreUnavailableError."""


# Profiles of members.

PROFILE_TTL_S = 55
"""Seconds for which a process caches a profile. With the delay of an eventually consistent read, a change shows
everywhere within a minute."""


class Match(NamedTuple):
    """A member whose name has a beginning, with the key of its place in the order of names."""

    key: str
    member: str
    profile: Profile


class Profiles(Protocol):
    """All profiles. No error of theirs quotes what a profile holds."""

    def change(self, member: str, changes: Changes) -> Profile:
        """Set and remove fields, in one write; returns the whole profile. A member without one gets one."""

    def remove(self, member: str) -> bool:
        """Remove a profile; whether there was one."""

    def profile(self, member: str) -> Profile | None:
        """Read a profile, strongly consistently; None if the member has none."""

    def profiles(self, members: Sequence[str]) -> dict[str, Profile]:
        """Read profiles, eventually consistently. A member without one is left out."""

    def matches(self, beginning: str, after: Match | None, limit: int) -> list[Match]:
        """Find names by the beginning of their search form, in its order. Fewer than `limit`: the last ones."""


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
    """An event for the queue. `at_filled_in`: we added its `at`. `board`: the first board it names, if valid."""

    body: str
    at_filled_in: bool
    board: str | None
