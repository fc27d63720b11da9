"""What the projector needs of Rankings."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from standings.domain.boards.ranking import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place
from standings.domain.tiers.tier_path import Path
from standings.ports.errors import CancelReason

MAX_ACTIONS = 100
"""Actions of one DynamoDB transaction."""


class RankingRow(NamedTuple):
    """A member's row in a ranking: where it is counted (None: no place), and the version that this came from."""

    place: Place | None
    version: int


class MoveConflict(NamedTuple):
    """A move in a transaction's way; `found` is the row as it is (None: there is none).

    Without a position it is a tier that is in the way, which can only be busy.
    """

    position: int | None
    reason: CancelReason
    found: RankingRow | None
    message: str


class Rankings(Protocol):
    """The read model, as the projector writes it."""

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveConflict]:
        """Move entries and tiers of one ranking, all or nothing: what stood in the way, or an empty list."""


class Lane(NamedTuple):
    """One lane of a node as it is now: its counters by digit, its version, and the latest stamp that it knows of.

    A member counts in any lane, so that a counter of one alone may be less than 0. Version 0 is one without.
    """

    counters: Mapping[int, int]
    version: int
    written_at_ms: int | None


Lanes = Mapping[int, Lane]
"""The lanes of a node by number; one that is not there is left out."""


class Removal(NamedTuple):
    """Takes counters out of a node, in each of its lanes on condition that they are still as they were read."""

    path: Path
    digits: Collection[int]
    lanes: Lanes


class Trees(Protocol):
    """Tier trees lane by lane, for those who look after them."""

    def lanes(self, ranking: Ranking, paths: Sequence[Path]) -> dict[Path, Lanes]:
        """Lanes of nodes as they are now; a node without any is left out."""

    def remove(self, ranking: Ranking, nodes: Mapping[Path, Lanes], counters: Sequence[Removal]) -> list[CancelReason]:
        """Remove nodes and, out of others, counters, all or nothing: what stood in the way, or an empty list.

        A node goes on condition that its lanes have the versions that were read.
        """
