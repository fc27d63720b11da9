"""What an audit asks of a store: cheap looks, which may be of different moments, and pictures of one moment."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.scoring.sort_order import Place
from standings.domain.tiers.tier_path import Path
from standings.maintain.audit.differences import StoredRow


class Root(NamedTuple):
    """What the root of a ranking says of the whole: how many lanes and shards there are."""

    lanes: int = 1
    shards: int = 1


class Snapshot(NamedTuple):
    """A node at one moment: its counters, summed over the lanes that the root names, and its lanes as they lie.

    Two pictures whose `state` is the same are of a node that nobody has written in between.
    """

    root: Root
    counters: Mapping[int, int]
    state: object


class Pair(NamedTuple):
    """A member's item and its row in a ranking, of one moment; None where there is none."""

    image: Image | None
    row: StoredRow | None


class ParentChild(NamedTuple):
    """A node's counter, and the sum of the counters of the child that it counts, of one moment."""

    counted: int
    below: int


class Listed(NamedTuple):
    """An entry as a ranking's sorted index has it; `place` is None where its key cannot be read."""

    key: str
    member: str
    place: Place | None


class AuditReads(Protocol):
    """Scores and Rankings side by side.

    `pair`, `edge` and `picture` are of one moment; StoreUnavailableError where others are in the way. All else may be
    a moment old.
    """

    @property
    def units(self) -> float:
        """Read units that were used so far, roughly."""

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image]:
        """As `store.Scores.members`."""

    def images(self, board: str, members: Sequence[str]) -> dict[str, Image]:
        """The items of members; whoever has none is left out."""

    def rows(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], StoredRow]:
        """The rows of members, also those without an entry. Only the shard of today counts as home."""

    def pair(self, ranking: Ranking, member: str) -> Pair:
        """A member's item and row. The shards of all times count as home."""

    def root(self, ranking: Ranking) -> Root:
        """What a ranking's root says of the whole."""

    def nodes(self, ranking: Ranking, paths: Sequence[Path], lanes: int) -> dict[Path, Mapping[int, int]]:
        """The counters of nodes, summed over lanes; a node that is not there is left out."""

    def picture(self, ranking: Ranking, path: Path) -> Snapshot:
        """A node."""

    def edge(self, ranking: Ranking, path: Path, digit: int) -> ParentChild:
        """A node's counter beside the child that it counts."""

    def entries(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[Listed]:
        """Entries of a shard of the index in order, behind one key and ahead of another (None: up to the end)."""
