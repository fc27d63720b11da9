"""The right answer of every read of a ranking, from a list that is sorted once."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.harness.population import member

Line = tuple[int, str, int]
"""Rank, member, score."""


class Truth:
    """The members of a ranking: the highest score first, equal scores by member."""

    def __init__(self, scores: Mapping[str, int]) -> None:
        self.scores = scores
        self.order: Sequence[str] = sorted(scores, key=lambda name: (-scores[name], name))
        self._behind: Sequence[int] = [-scores[name] for name in self.order]
        self._distinct = sorted(set(self._behind))

    @property
    def total(self) -> int:
        return len(self.order)

    def ahead(self, score: int) -> int:
        return bisect_left(self._behind, -score)

    def at_or_ahead(self, score: int) -> int:
        return bisect_right(self._behind, -score)

    def position(self, member: str) -> int:
        """Return a member's position in the list; the first is 1."""
        score = self.scores[member]
        return bisect_left(self.order, member, self.ahead(score), self.at_or_ahead(score)) + 1

    def rank(self, member: str, method: str = "competition") -> int:
        if method == "ordinal":
            return self.position(member)
        score = self.scores[member]
        return 1 + (self.distinct_ahead(score) if method == "dense" else self.ahead(score))

    def equals_ahead(self, members: Iterable[str]) -> int:
        """How many members are counted for ordinal ranks: of each score, as far as the last of these members."""
        furthest = {self.scores[name]: self.position(name) for name in sorted(members, key=self.position)}
        return sum(position - self.ahead(score) for score, position in furthest.items())

    def distinct_ahead(self, score: int) -> int:
        return bisect_left(self._distinct, -score)

    def with_distinct_ahead(self, count: int) -> str | None:
        """Return the first member with so many different scores ahead, None if there is none."""
        if count >= len(self._distinct):
            return None
        return self.order[self.ahead(-self._distinct[count])]

    def lines(self, first: int, count: int) -> list[Line]:
        places = range(max(0, first - 1), min(first - 1 + count, self.total))
        names = (self.order[place] for place in places)
        return [(self.ahead(self.scores[name]) + 1, name, self.scores[name]) for name in names]

    def shows(self, page: Mapping[str, Any], first: int, count: int) -> bool:
        shown = [(entry["rank"], entry["member"], entry["score"]) for entry in page["entries"]]
        return shown == self.lines(first, count) and page["total"] == self.total

    def is_score_at(self, p: int, score: int) -> bool:
        """Check that a score is the last of the list whose percentile is at least p."""
        at_or_behind = self.total - self.ahead(score)
        behind = self.total - self.at_or_ahead(score)
        return 100 * at_or_behind >= p * self.total > 100 * behind

    def is_histogram(self, buckets: Sequence[Mapping[str, Any]]) -> bool:
        """Check that each bucket counts the members between its bounds, and that together they count all members."""
        counted = [self.at_or_ahead(one["from"]) - self.ahead(one["to"]) for one in buckets]
        return counted == [one["members"] for one in buckets] and sum(counted) == self.total

    def group_ranks(self, members: Sequence[str]) -> list[int]:
        behind = sorted(-self.scores[name] for name in members)
        return [bisect_left(behind, -self.scores[name]) + 1 for name in members]


def number_of(name: str) -> int:
    """Return the number of a member; the inverse of `population.member`."""
    return int(name.removeprefix("member-"))


class MemberTruth(Truth):
    """The right answers (`Truth`) about the scores of members by number; those of 0 are not ranked."""

    def __init__(self, scores: Iterable[int]) -> None:
        self.by_number = array("q", scores)
        count = len(self.by_number)
        # The number of a member stands behind its score, so that whole numbers are all that is sorted.
        packed = sorted(number - score * count for number, score in enumerate(self.by_number) if score)
        self.scores = _Ranked(self.by_number)
        self._numbers = array("L", (one % count for one in packed))
        self.order = _Names(self._numbers)
        self._behind = array("q", (one // count for one in packed))
        self._distinct = []

    def numbers(self, first: int, last: int) -> Sequence[int]:
        """The numbers of the members at positions from `first` to `last`, as far as there are any; the first is 1."""
        return self._numbers[max(0, first - 1) : max(0, last)]


class _Names(Sequence[str]):
    """The names of numbered members, made when they are read."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: Any) -> Any:
        return member(self._numbers[index])


class _Ranked(Mapping[str, int]):
    """The scores of ranked members by name."""

    def __init__(self, scores: Sequence[int]) -> None:
        self._scores = scores

    def __getitem__(self, name: str) -> int:
        if score := self._scores[number_of(name)]:
            return score
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (member(number) for number, score in enumerate(self._scores) if score)

    def __len__(self) -> int:
        return sum(1 for score in self._scores if score)
