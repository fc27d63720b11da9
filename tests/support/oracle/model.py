"""What a leaderboard should say: all that was accepted, counted by hand and sorted. It knows nothing of the design."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import NamedTuple

from tests.support.oracle.periods import CALENDAR, Bucket, Calendar, unit

__all__ = ["CALENDAR", "METHODS", "BoardModel", "Line", "Listing", "Metric", "Model", "Placed", "standings"]

METHODS = ("competition", "ordinal", "dense")
Line = tuple[int, str, int]
"""Rank, member, score."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Metric:
    """How one number of a member adds up and ranks. Scores are whole units of 10 to the power of -precision."""

    aggregate: str = "sum"
    precision: int = 0
    descending: bool = True
    ties: str = "member"
    windows: tuple[str, ...] = ("all",)


class Counted(NamedTuple):
    """An event that was accepted, and the bucket of each kind in which it counts."""

    id: str
    member: str
    at: int
    amounts: Mapping[str, int]
    buckets: Mapping[str, Bucket]


class Placed(NamedTuple):
    """A member in a list, its score, and since when it stands there (milliseconds since 1970)."""

    member: str
    score: int
    since: float


class AroundScore(NamedTuple):
    """Where a score stands or would stand: the members ahead of it, equal to it, behind it."""

    rank: int
    above: int
    at: int
    below: int


@dataclass(frozen=True)
class Listing:
    """The members ranked in one period, in the order of the list."""

    placed: Sequence[Placed]
    descending: bool

    @property
    def total(self) -> int:
        return len(self.placed)

    def lines(self, method: str = "competition") -> list[Line]:
        """The whole list, numbered: competition 1224, ordinal 1234, dense 1223."""
        lines: list[Line] = []
        competition = dense = 0
        for position, (member, score, _) in enumerate(self.placed, start=1):
            if not lines or lines[-1][2] != score:
                competition, dense = position, dense + 1
            rank = {"competition": competition, "ordinal": position, "dense": dense}[method]
            lines.append((rank, member, score))
        return lines

    def page(self, position: int, limit: int, method: str = "competition") -> list[Line]:
        """So many lines from a position on; the first is 1."""
        return self.lines(method)[position - 1 : position - 1 + limit]

    def line(self, member: str, method: str = "competition") -> Line | None:
        """A member's line; None where it is not ranked."""
        return next((line for line in self.lines(method) if line[1] == member), None)

    def around(self, member: str, radius: int, method: str = "competition") -> list[Line]:
        """A member with so many neighbours on both sides, as far as there are."""
        position = next(number for number, one in enumerate(self.placed) if one.member == member)
        return self.lines(method)[max(0, position - radius) : position + radius + 1]

    def among(self, members: Collection[str], method: str = "competition") -> dict[str, int]:
        """The rank of each ranked member of a group within it."""
        group = Listing([one for one in self.placed if one.member in members], self.descending)
        return {member: rank for rank, member, _ in group.lines(method)}

    def of_score(self, score: int, method: str = "competition") -> AroundScore:
        """Where a newcomer with that score would stand: by `ordinal` behind its equals."""
        ahead = [one.score for one in self.placed if self._is_ahead(one.score, score)]
        equal = [one.score for one in self.placed if one.score == score]
        before = {"competition": len(ahead), "ordinal": len(ahead) + len(equal), "dense": len(set(ahead))}[method]
        return AroundScore(1 + before, len(ahead), len(equal), self.total - len(ahead) - len(equal))

    def percentile(self, score: int) -> Decimal:
        """100 × members at or behind a score ÷ all, half up to two decimals."""
        hundredths = Fraction(10_000 * self._at_or_behind(score), self.total)
        return Decimal((hundredths + Fraction(1, 2)).__floor__()).scaleb(-2)

    def score_at(self, p: Decimal) -> int | None:
        """The score furthest behind whose percentile, unrounded, is at least p; None where nobody is ranked."""
        for one in reversed(self.placed):
            if Fraction(100 * self._at_or_behind(one.score), self.total) >= Fraction(p):
                return one.score
        return None

    def between(self, low: int, high: int) -> int:
        """The members with scores from one to another, both included."""
        return sum(low <= one.score <= high for one in self.placed)

    def _is_ahead(self, one: int, other: int) -> bool:
        return one > other if self.descending else one < other

    def _at_or_behind(self, score: int) -> int:
        return sum(not self._is_ahead(one.score, score) for one in self.placed)


@dataclass
class BoardModel:
    """One board: its metrics, its members, and every event that counts on it."""

    metrics: Mapping[str, Metric]
    calendar: Calendar = field(default_factory=Calendar)
    registered: bool = False
    """Whether members must be there before their first event."""
    members: dict[str, bool] = field(default_factory=dict)
    """Every member there is, and whether it is hidden."""
    removed: set[str] = field(default_factory=set)
    """Every member that ever was removed, also where it is back."""
    used: set[str] = field(default_factory=set)
    counted: list[Counted] = field(default_factory=list)

    def refuses(self, member: str) -> bool:
        """Whether an event for a member would be refused now."""
        return self.registered and member not in self.members

    def add(self, event_id: str, member: str, at: datetime, amounts: Mapping[str, int], now: datetime) -> bool:
        """An event that is applied at the instant `now`, once; whether it was accepted, now or before."""
        return self.add_all(event_id, at, {member: amounts}, now)

    def add_all(self, event_id: str, at: datetime, updates: Mapping[str, Mapping[str, int]], now: datetime) -> bool:
        """The same for an event with amounts for several members: it counts for all of them or for none."""
        if event_id in self.used:
            return True
        if any(self.refuses(member) for member in updates):
            return False
        self.used.add(event_id)
        for member, amounts in updates.items():
            self.count(event_id, member, at, amounts, now)
        return True

    def count(self, event_id: str, member: str, at: datetime, amounts: Mapping[str, int], now: datetime) -> None:
        """What an event says of one member, as counted at the instant `now`."""
        self.members.setdefault(member, False)
        buckets = self.calendar.takes(_whole_milliseconds(at), now)
        self.counted.append(Counted(event_id, member, _milliseconds(at), dict(amounts), buckets))

    def put(self, member: str, *, hidden: bool | None = None) -> None:
        """Register a member that is not there; hide it or show it again if that is said."""
        there = self.members.setdefault(member, False)
        self.members[member] = there if hidden is None else hidden

    def remove(self, member: str) -> bool:
        """Forget a member and all that was counted for it; whether there was one."""
        if member not in self.members:
            return False
        del self.members[member]
        self.removed.add(member)
        self.counted = [event for event in self.counted if event.member != member]
        return True

    def score(self, metric: str, window: str, on: datetime, member: str) -> Placed | None:
        """A member's score in the period that holds an instant, hidden or not; None where it has none."""
        return self._scores(metric, window, on).get(member)

    def listing(self, metric: str, window: str, on: datetime) -> Listing:
        """The list of the period of a window that holds an instant."""
        rules = self.metrics[metric]
        shown = [one for one in self._scores(metric, window, on).values() if not self.members[one.member]]
        shown.sort(key=lambda one: one.member.encode())
        if rules.ties == "first":
            shown.sort(key=lambda one: one.since)
        shown.sort(key=lambda one: -one.score if rules.descending else one.score)
        return Listing(shown, rules.descending)

    def _scores(self, metric: str, window: str, on: datetime) -> dict[str, Placed]:
        held = self.calendar.held(window, on)
        kind = "" if window == "all" else unit(window)
        events: dict[str, list[Counted]] = {}
        for event in self.counted:
            if metric in event.amounts and (window == "all" or event.buckets.get(kind) in held):
                events.setdefault(event.member, []).append(event)
        scores = {member: self._placed(metric, member, theirs) for member, theirs in events.items()}
        if self.registered and window == "all" and self.metrics[metric].aggregate == "sum":
            for member in self.members:
                scores.setdefault(member, Placed(member, 0, -inf))
        return scores

    def _placed(self, metric: str, member: str, events: Iterable[Counted]) -> Placed:
        """The score that some events of a member make, and since when it stands at it."""
        aggregate = self.metrics[metric].aggregate
        found = [(event.at, event.id.encode(), event.amounts[metric]) for event in events]
        if aggregate == "sum":
            return Placed(member, sum(amount for _, _, amount in found), max(at for at, _, _ in found))
        if aggregate == "last":
            at, _, amount = max(found)
            return Placed(member, amount, at)
        best = {"max": max, "min": min}[aggregate](amount for _, _, amount in found)
        return Placed(member, best, min(at for at, _, amount in found if amount == best))


@dataclass
class Model(Calendar):
    """One metric of one open board that adds up: the same judge with fewer words."""

    board: BoardModel = field(init=False)

    def __post_init__(self) -> None:
        self.board = BoardModel({"": Metric()}, self)

    def add(self, event_id: str, member: str, at: datetime, units: int, now: datetime) -> None:
        """An event that is applied at the instant `now`, once."""
        self.board.add(event_id, member, at, {"": units}, now)

    def scores(self, window: str, on: datetime) -> dict[str, int]:
        """The score of every ranked member in the period of a window that holds an instant."""
        return {one.member: one.score for one in self.board.listing("", window, on).placed}

    def standings(self, window: str, on: datetime, *, descending: bool = True) -> list[Line]:
        """The list as (rank, member, score): by score, then by member; equals share the best rank of theirs."""
        return standings(self.scores(window, on), descending=descending)


def standings(scores: dict[str, int], *, descending: bool = True) -> list[Line]:
    ordered = sorted(scores.items(), key=lambda line: (-line[1] if descending else line[1], line[0]))
    lines: list[Line] = []
    for position, (member, score) in enumerate(ordered, start=1):
        rank = lines[-1][0] if lines and lines[-1][2] == score else position
        lines.append((rank, member, score))
    return lines


def _milliseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)


def _whole_milliseconds(at: datetime) -> datetime:
    return _EPOCH + timedelta(milliseconds=_milliseconds(at))
