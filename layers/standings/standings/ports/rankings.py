"""Rankings, as the projector writes them and readers see them."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from standings.domain.boards.definitions import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place
from standings.domain.tiers.tier_path import Path
from standings.ports.board_records import BoardRecord
from standings.ports.errors import CancelReason
from standings.ports.rolling import RollingWindows

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
