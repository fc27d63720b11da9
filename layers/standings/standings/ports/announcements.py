"""What announcements need: a queue of rankings to look at, the last top that was announced, and the top of today."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from standings.domain.boards.definitions import Ranking
from standings.domain.tiers.tier_path import Path
from standings.domain.tiers.tier_tree import Counters


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
