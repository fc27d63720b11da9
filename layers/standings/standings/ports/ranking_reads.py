"""What readers need of Rankings."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.scoring.sort_order import Place
from standings.domain.tiers.tier_path import Path
from standings.ports.board_records import BoardRecord


class Node(NamedTuple):
    """A node of a tier tree: its counters by digit, and the latest stamp that it knows of (None: empty).

    A root also says over how many shards entries were ever spread.
    """

    counters: Mapping[int, int]
    written_at_ms: int | None
    shards: int = 1


class Entry(NamedTuple):
    """A member's place in a ranking, the key that it is sorted by, and the stamp of the change that put it there."""

    key: str
    place: Place
    member: str
    written_at_ms: int


class Span(NamedTuple):
    """A part of one shard of a sorted index: at most `limit` entries that follow a key (`forward` false: precede it).

    The nearest come first. Without a key it begins at the end of the list that it reads away from.
    """

    shard: int
    beyond: str | None
    limit: int
    forward: bool = True


class RankingsReader(Protocol):
    """The read model, as readers see it. Of a list that is asked for at once, all is read side by side."""

    def entries(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        """Entries of members; whoever has no place is left out."""

    def nodes(self, wanted: Sequence[tuple[Ranking, Path]]) -> dict[tuple[Ranking, Path], Node]:
        """Nodes of tier trees; one that is not there is left out."""

    def spans(
        self, ranking: Ranking, spans: Sequence[Span], paths: Sequence[Path]
    ) -> tuple[list[list[Entry]], dict[Path, Node]]:
        """Entries of each span in the order that it is read in, and nodes, side by side."""

    def counts(self, ranking: Ranking, shards: int, ranges: Sequence[tuple[str, str]], most: int) -> list[int]:
        """How many entries stand from one key to another, both included: each shard's counted up to `most`."""

    def record(self, board: str) -> BoardRecord | None:
        """The record of a board as of now; None for a board without events."""

    def boards(self, prefix: str, after: str | None, limit: int) -> list[str]:
        """The names of boards that begin with a prefix and follow a name, in order."""

    def image(self, board: str, member: str) -> Image | None:
        """A member's item as it is now; None where there is none."""
