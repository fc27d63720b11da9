"""One call of an audit: what it reads, and the differences that it reports."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from standings.domain.boards.definitions import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.rolling_sum import place
from standings.domain.rolling.blocks import Block
from standings.domain.rolling.steps import Steps
from standings.domain.scoring.sort_order import Place, sort_key
from standings.ports.errors import StoreUnavailableError
from standings.ports.scores import DamagedItemError
from standings.runtime.retry import READ_TIMEOUT_S, Clock, retrying, with_retry

if TYPE_CHECKING:
    from standings.aws.dynamodb.rankings.audit_reads import DynamoAuditReads

MAX_EXAMPLES: Final = 20
LOOKED_AT: Final = ("members", "rows", "list_items", "rankings", "entries", "nodes")

T = TypeVar("T")


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


class Kind(StrEnum):
    """What an audit reports. BEHIND and UNSETTLED are not differences."""

    MISSING = "missing"  # Scores rank a member that has no entry
    WRONG = "wrong"  # an entry with another sort key than Scores give
    MISPLACED = "misplaced"  # an entry with the right sort key in the wrong partition of the index
    PHANTOM = "phantom"  # an entry of a member that Scores do not rank
    VERSION = "version"  # a row with a higher version than the member's item: it rejects valid moves
    LISTED = "listed"  # an item of a rolling window's list that is not what the member's row says
    DAMAGED = "damaged"  # an item of Scores that cannot be read: its member is ranked as before, and gets no events
    LOG = "log"  # a log of a rolling window that cannot be read: the window's tiers are not compared
    COUNTER = "counter"  # a leaf's counter differs from its entries, or a node's counter from its child
    BEHIND = "behind"  # the stream has not brought the member's last change yet
    UNSETTLED = "unsettled"  # changed too often to be compared


NO_DIFFERENCE: Final = frozenset({Kind.BEHIND, Kind.UNSETTLED})


@dataclass(slots=True)
class AuditCall:
    """One call of an audit of a board. `deadline` is of the monotonic clock, `grace` in milliseconds.

    `most_units` are the read units of the store (`store.units`) at which the call ends; None: it has no such end.
    `read` counts what was compared, `found` the findings by kind. `examples` holds the first differences with their
    keys.
    """

    board: str
    store: "DynamoAuditReads"
    clock: Clock
    deadline: float
    grace: int
    most_units: float | None = None
    read: Counter[str] = field(default_factory=Counter)
    found: Counter[Kind] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)

    @property
    def reads(self) -> "DynamoAuditReads":
        """The store, for cheap reads: each is retried for up to `READ_TIMEOUT_S`."""
        return retrying(self.store, lambda: self.clock.backoff_for(READ_TIMEOUT_S))

    def is_over(self, reserve: float = 0.0) -> bool:
        """Whether the call must end: in `reserve` seconds its time is over, or its read units are used up."""
        is_spent = self.most_units is not None and self.store.units >= self.most_units
        return is_spent or self.clock.monotonic() >= self.deadline - reserve

    def consistent(self, read: Callable[[], T]) -> T | None:
        """Read one moment; None if writes conflict for `READ_TIMEOUT_S` or until the deadline."""
        backoff = self.clock.backoff(min(self.deadline, self.clock.monotonic() + READ_TIMEOUT_S))
        try:
            return with_retry(read, backoff)
        except StoreUnavailableError:
            return None

    def moment(self, read: Callable[[], T]) -> T | None:
        """Read one moment. None if writes conflict for too long, which is reported, or if an item is damaged.

        A damaged item is reported once: where the members are listed.
        """
        try:
            found = self.consistent(read)
        except DamagedItemError:
            return None
        if found is None:
            self.add(Kind.UNSETTLED)
        return found

    def compare(self, ranking: Ranking, member: str) -> None:
        """Compare a member's item and row at one moment, and report a difference."""
        pair = self.moment(lambda: self.store.pair(ranking, member))
        if pair is None:
            return
        image, row = pair
        kind = self.difference(image, row, ranking, member)
        if kind is not None:
            self.add(
                kind,
                ranking=ranking.key,
                member=member,
                expected=_expected_key(image, ranking, member),
                found=row.key if row is not None else None,
                item_version=image.version if image is not None else None,
                row_version=row.version if row is not None else None,
            )

    def difference(self, image: Image | None, row: StoredRow | None, ranking: Ranking, member: str) -> Kind | None:
        """The difference between a row and its item; None if they agree.

        A row older than its item is BEHIND for up to `grace` after the item's last change. The entry of an item that is
        gone is a PHANTOM at once: nothing says when the item went.
        """
        expected = _expected_key(image, ranking, member)
        key = row.key if row is not None else None
        kind = self.kind(image, row.version if row is not None else None, expected, key)
        if kind is None and row is not None and expected is not None and not row.at_home:
            return Kind.MISPLACED
        return kind

    def kind(self, image: Image | None, version: int | None, expected: str | None, found: str | None) -> Kind | None:
        """The difference between an item and a row of some version (None: no row), by the sort keys of both."""
        if image is not None and version is not None and version > image.version:
            return Kind.VERSION
        if found == expected:
            return None
        if image is not None and (version is None or version < image.version) and self.is_recent(image):
            return Kind.BEHIND
        if expected is None:
            return Kind.PHANTOM
        return Kind.MISSING if found is None else Kind.WRONG

    def is_recent(self, image: Image) -> bool:
        """Whether the stream may not have brought an item's last change yet."""
        return self.clock.now() - image.written_at_ms < self.grace

    def add(self, kind: Kind, **keys: Any) -> None:
        """Count a finding; keep the first differences as examples."""
        self.found[kind] += 1
        if kind not in NO_DIFFERENCE and len(self.examples) < MAX_EXAMPLES:
            self.examples.append({"kind": kind.value, **keys})

    def answer(self, cursor: dict[str, Any] | None, units: float) -> dict[str, Any]:
        """The report as JSON. `cursor` is None once the board is done; `units` are read units, approximately."""
        return {
            "done": cursor is None,
            "cursor": cursor,
            "board": self.board,
            "drift": sum(count for kind, count in self.found.items() if kind not in NO_DIFFERENCE),
            "found": {kind.value: self.found[kind] for kind in Kind},
            "examples": self.examples,
            "looked_at": {name: self.read[name] for name in LOOKED_AT},
            "read_units": round(units),
        }


def _expected_key(image: Image | None, ranking: Ranking, member: str) -> str | None:
    expected = place(image, ranking)
    return None if expected is None else sort_key(expected, member)
