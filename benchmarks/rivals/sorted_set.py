"""A sorted set of a real Redis: what a leaderboard in memory is."""

from itertools import islice
from typing import Any, Final

from benchmarks.harness.population import BOARD, member
from benchmarks.harness.shapes import Scores

_AT_ONCE: Final = 20_000


class SortedSet:
    """One sorted set, asked for 1224 ranks: `ZSCORE`, then `ZCOUNT` of what is ahead.

    It holds negated scores, so that the highest leads and equals go by member, as with ours.
    """

    name: Final = "Redis sorted set"
    exact: Final = True

    def __init__(self, client: Any) -> None:
        self._client = client

    def place(self, scores: Scores) -> None:
        """Put in place all members."""
        numbered = iter(enumerate(scores))
        while part := {member(number): -score for number, score in islice(numbered, _AT_ONCE)}:
            self._client.zadd(BOARD, part)

    def refresh(self) -> None:
        """Nothing has to be."""

    def change(self, name: str, old: int, new: int) -> None:
        """Write a score."""
        del old
        self._client.zadd(BOARD, {name: -new})

    def rank(self, name: str) -> int:
        """A member's rank."""
        return 1 + int(self._client.zcount(BOARD, "-inf", f"({self._client.zscore(BOARD, name):.0f}"))

    def page(self, first: int, count: int) -> list[tuple[str, int]]:
        """A part of the list from a position on, and the total with it."""
        pipe = self._client.pipeline(transaction=False)
        pipe.zrange(BOARD, first - 1, first + count - 2, withscores=True)
        pipe.zcard(BOARD)
        lines, _ = pipe.execute()
        return [(name, -int(score)) for name, score in lines]

    def around(self, name: str, radius: int) -> list[tuple[str, int]]:
        """A member and its neighbours."""
        position = int(self._client.zrank(BOARD, name)) + 1
        first = max(1, position - radius)
        return self.page(first, position + radius - first + 1)
