"""What an audit reads from the store: cheap reads, and consistent reads of one moment."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.scoring.sort_order import Place
from standings.domain.tiers.tier_path import Path


class StoredRow(NamedTuple):
    """A member's row in a ranking.

    `key` is the sort key of its entry (None: no entry). `at_home` says whether the entry is in an allowed shard.
    """

    key: str | None
    version: int
    at_home: bool = True


class Root(NamedTuple):
    """The number of lanes and shards that a ranking's root names."""

    lanes: int = 1
    shards: int = 1


class Snapshot(NamedTuple):
    """A node at one moment: its counters, summed over the lanes that the root names.

    Two snapshots with an equal `state` mean that nobody wrote the node in between.
    """

    root: Root
    counters: Mapping[int, int]
    state: object


class Pair(NamedTuple):
    """A member's item and its row in a ranking at one moment; None where there is none."""

    image: Image | None
    row: StoredRow | None


class ParentChild(NamedTuple):
    """A node's counter for a child, and the sum of the child's own counters, at one moment."""

    counted: int
    below: int


class Listed(NamedTuple):
    """An entry of a ranking's sorted index; `place` is None if its key cannot be decoded."""

    key: str
    member: str
    place: Place | None


class AuditReads(Protocol):
    """Reads Scores and Rankings.

    `pair`, `edge` and `picture` read one moment; they raise StoreUnavailableError on a conflict with a write. The other
    reads may be a moment old.
    """

    units: float
    """Read units used so far, approximately."""

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image]:
        """As `ports.scores.Scores.members`."""

    def images(self, board: str, members: Sequence[str]) -> dict[str, Image]:
        """The items of members; a member without an item is left out."""

    def rows(self, keys: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], StoredRow]:
        """The rows of members, with or without an entry. Only the shard of the current definition is allowed."""

    def pair(self, ranking: Ranking, member: str) -> Pair:
        """A member's item and row. Every shard that was ever in use is allowed."""

    def root(self, ranking: Ranking) -> Root:
        """The lanes and shards of a ranking."""

    def nodes(self, ranking: Ranking, paths: Sequence[Path], lanes: int) -> dict[Path, Mapping[int, int]]:
        """The counters of nodes, summed over lanes; a node that does not exist is left out."""

    def picture(self, ranking: Ranking, path: Path) -> Snapshot:
        """A node at one moment."""

    def edge(self, ranking: Ranking, path: Path, digit: int) -> ParentChild:
        """A node's counter and the child that it counts, at one moment."""

    def entries(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[Listed]:
        """Entries of one shard of the index, in order, between two keys, both excluded (None: up to the end)."""
