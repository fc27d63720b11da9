"""Rankings, as the projector writes them."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from standings.domain.boards.ranking import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place
from standings.domain.tiers.tier_path import Path
from standings.ports.errors import CancelReason

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
    """Rankings."""

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
