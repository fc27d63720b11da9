"""Rankings, as readers see them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.scoring.sort_order import Place
from standings.domain.tiers.tier_path import Path
from standings.ports.board_records import BoardRecord


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


class Span(NamedTuple):
    """Up to `limit` entries of a shard that follow the key `beyond`, or with `forward` false precede it.

    The entries nearest to the key come first. Without a key the span starts at that end of the shard.
    """

    shard: int
    beyond: str | None
    limit: int
    forward: bool = True


class RankingsReader(Protocol):
    """Rankings, and the items of Scores that a read needs. Each call reads all its items in parallel."""

    def entries(self, wanted: Sequence[tuple[Ranking, str]]) -> dict[tuple[Ranking, str], Entry]:
        """Read entries of members. A member without a place is left out."""

    def nodes(self, wanted: Sequence[tuple[Ranking, Path]]) -> dict[tuple[Ranking, Path], Node]:
        """Read nodes of tier trees. A node that does not exist is left out."""

    def spans(
        self, ranking: Ranking, spans: Sequence[Span], paths: Sequence[Path]
    ) -> tuple[list[list[Entry]], dict[Path, Node]]:
        """Read the entries of each span, and nodes."""

    def counts(self, ranking: Ranking, shards: int, ranges: Sequence[tuple[str, str]], most: int) -> list[int]:
        """Count the entries in each range of keys, both ends included, and in each shard up to `most`."""

    def record(self, board: str) -> BoardRecord | None:
        """Read a board's record, strongly consistently; None for a board without events."""

    def boards(self, prefix: str, after: str | None, limit: int) -> list[str]:
        """List the names of boards that start with a prefix and sort after `after`, in order."""

    def image(self, board: str, member: str) -> Image | None:
        """Read a member's item, strongly consistently; None if it does not exist."""
