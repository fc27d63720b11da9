"""A sorted set of a real Redis: the usual leaderboard in memory."""

from itertools import islice
from typing import Any, Final

from benchmarks.harness.population import BOARD, member
from benchmarks.harness.shapes import Scores

_AT_ONCE: Final = 20_000


class SortedSet:
    """One sorted set; a 1224 rank takes `ZSCORE` and then `ZCOUNT` of the members ahead.

    It holds negated scores: so the highest comes first and equals are sorted by member, like ours.
    """

    name: Final = "Redis sorted set"
    exact: Final = True

    def __init__(self, client: Any) -> None:
        self._client = client

    def place(self, scores: Scores) -> None:
        """Load all members."""
        numbered = iter(enumerate(scores))
        while part := {member(number): -score for number, score in islice(numbered, _AT_ONCE)}:
            self._client.zadd(BOARD, part)

    def refresh(self) -> None:
        """Do nothing: this method has no job."""

    def change(self, name: str, old: int, new: int) -> None:
        """Write a score."""
        del old
        self._client.zadd(BOARD, {name: -new})

    def rank(self, name: str) -> int:
        """Return a member's rank."""
        return 1 + int(self._client.zcount(BOARD, "-inf", f"({self._client.zscore(BOARD, name):.0f}"))

    def page(self, first: int, count: int) -> list[tuple[str, int]]:
        """Read a part of the list from a position on, and in the same round trip the total."""
        pipe = self._client.pipeline(transaction=False)
        pipe.zrange(BOARD, first - 1, first + count - 2, withscores=True)
        pipe.zcard(BOARD)
        lines, _ = pipe.execute()
        return [(name, -int(score)) for name, score in lines]

    def around(self, name: str, radius: int) -> list[tuple[str, int]]:
        """Read a member and its neighbours."""
        position = int(self._client.zrank(BOARD, name)) + 1
        first = max(1, position - radius)
        return self.page(first, position + radius - first + 1)
