"""A list that was sorted once: what every read of a ranking has to answer, however many members there are."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

Line = tuple[int, str, int]
"""Rank, member, score."""


class Truth:
    """Members by score, the highest first, and equals by member."""

    def __init__(self, scores: Mapping[str, int]) -> None:
        self.scores = scores
        self.order = sorted(scores, key=lambda name: (-scores[name], name))
        self._behind = [-scores[name] for name in self.order]
        self._distinct = sorted(set(self._behind))

    @property
    def total(self) -> int:
        """How many members there are."""
        return len(self.order)

    def ahead(self, score: int) -> int:
        """How many members have more."""
        return bisect_left(self._behind, -score)

    def at_or_ahead(self, score: int) -> int:
        """How many members have as much or more."""
        return bisect_right(self._behind, -score)

    def position(self, member: str) -> int:
        """Where a member stands in the list; the first is 1."""
        score = self.scores[member]
        group = self.order[self.ahead(score) : self.at_or_ahead(score)]
        return self.ahead(score) + bisect_left(group, member) + 1

    def rank(self, member: str, method: str = "competition") -> int:
        """A member's rank."""
        if method == "ordinal":
            return self.position(member)
        score = self.scores[member]
        return 1 + (self.distinct_ahead(score) if method == "dense" else self.ahead(score))

    def distinct_ahead(self, score: int) -> int:
        """How many different scores are above one."""
        return bisect_left(self._distinct, -score)

    def with_distinct_ahead(self, count: int) -> str | None:
        """The first member with so many different scores ahead."""
        if count >= len(self._distinct):
            return None
        return self.order[self.ahead(-self._distinct[count])]

    def lines(self, first: int, count: int) -> list[Line]:
        """So many lines from a position on."""
        names = self.order[max(0, first - 1) : first - 1 + count]
        return [(self.ahead(self.scores[name]) + 1, name, self.scores[name]) for name in names]

    def shows(self, page: Mapping[str, Any], first: int, count: int) -> bool:
        """Whether a page is that part of the list."""
        shown = [(entry["rank"], entry["member"], entry["score"]) for entry in page["entries"]]
        return shown == self.lines(first, count) and page["total"] == self.total

    def is_score_at(self, p: int, score: int) -> bool:
        """Whether a score is the furthest behind whose percentile is at least p."""
        at_or_behind = self.total - self.ahead(score)
        behind = self.total - self.at_or_ahead(score)
        return 100 * at_or_behind >= p * self.total > 100 * behind

    def is_histogram(self, buckets: Sequence[Mapping[str, Any]]) -> bool:
        """Whether buckets count everyone, each between its bounds."""
        counted = [self.at_or_ahead(one["from"]) - self.ahead(one["to"]) for one in buckets]
        return counted == [one["members"] for one in buckets] and sum(counted) == self.total

    def group_ranks(self, members: Sequence[str]) -> list[int]:
        """The ranks of some members among themselves."""
        behind = sorted(-self.scores[name] for name in members)
        return [bisect_left(behind, -self.scores[name]) + 1 for name in members]
