"""One ranking as the judge has it: a sorted list."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

METHODS = ("competition", "ordinal", "dense")
Line = tuple[int, str, int]
"""Rank, member, score."""


@dataclass(frozen=True)
class Metric:
    """How the values of one metric are combined and ranked. Scores are integers, in units of 10 ** -precision."""

    aggregate: str = "sum"
    precision: int = 0
    descending: bool = True
    ties: str = "member"
    windows: tuple[str, ...] = ("all",)
    notes: bool = False


class Placed(NamedTuple):
    """A ranked member, its score, and since when it has that score (milliseconds since 1970)."""

    member: str
    score: int
    since: float


class AroundScore(NamedTuple):
    """The rank of a score, and how many members are ahead of it, equal to it and behind it."""

    rank: int
    above: int
    at: int
    below: int


@dataclass(frozen=True)
class Listing:
    """The ranked members of one period, best first."""

    placed: Sequence[Placed]
    descending: bool

    @property
    def total(self) -> int:
        return len(self.placed)

    def lines(self, method: str = "competition") -> list[Line]:
        """Return the whole list with ranks: competition 1224, ordinal 1234, dense 1223."""
        lines: list[Line] = []
        competition = dense = 0
        for position, (member, score, _) in enumerate(self.placed, start=1):
            if not lines or lines[-1][2] != score:
                competition, dense = position, dense + 1
            rank = {"competition": competition, "ordinal": position, "dense": dense}[method]
            lines.append((rank, member, score))
        return lines

    def page(self, position: int, limit: int, method: str = "competition") -> list[Line]:
        """Return `limit` lines from a position on. The first position is 1."""
        return self.lines(method)[position - 1 : position - 1 + limit]

    def line(self, member: str, method: str = "competition") -> Line | None:
        """Return a member's line, or None if it is not ranked."""
        return next((line for line in self.lines(method) if line[1] == member), None)

    def around(self, member: str, radius: int, method: str = "competition") -> list[Line]:
        """Return a member's line with up to `radius` lines before and after it."""
        position = next(number for number, one in enumerate(self.placed) if one.member == member)
        return self.lines(method)[max(0, position - radius) : position + radius + 1]

    def among(self, members: Collection[str], method: str = "competition") -> dict[str, int]:
        """Return the rank of each ranked member of a group within that group."""
        group = Listing([one for one in self.placed if one.member in members], self.descending)
        return {member: rank for rank, member, _ in group.lines(method)}

    def of_score(self, score: int, method: str = "competition") -> AroundScore:
        """Return the rank that a new member with that score would get. By `ordinal` it comes after its equals."""
        ahead = [one.score for one in self.placed if self._is_ahead(one.score, score)]
        equal = [one.score for one in self.placed if one.score == score]
        before = {"competition": len(ahead), "ordinal": len(ahead) + len(equal), "dense": len(set(ahead))}[method]
        return AroundScore(1 + before, len(ahead), len(equal), self.total - len(ahead) - len(equal))

    def percentile(self, score: int) -> Decimal:
        """Return 100 × members at or behind a score ÷ all members, rounded half up to two decimals."""
        hundredths = Fraction(10_000 * self._at_or_behind(score), self.total)
        return Decimal((hundredths + Fraction(1, 2)).__floor__()).scaleb(-2)

    def score_at(self, p: Decimal) -> int | None:
        """Return the worst score whose unrounded percentile is at least p, or None for an empty list."""
        for one in reversed(self.placed):
            if Fraction(100 * self._at_or_behind(one.score), self.total) >= Fraction(p):
                return one.score
        return None

    def between(self, low: int, high: int) -> int:
        """Return how many members have a score from `low` to `high`, both included."""
        return sum(low <= one.score <= high for one in self.placed)

    def _is_ahead(self, one: int, other: int) -> bool:
        return one > other if self.descending else one < other

    def _at_or_behind(self, score: int) -> int:
        return sum(not self._is_ahead(one.score, score) for one in self.placed)
