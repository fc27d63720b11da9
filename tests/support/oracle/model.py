"""Works out what a leaderboard should answer: it keeps all accepted events and adds and sorts them at each read.

It shares no code with the product.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.support.oracle.listing import METHODS, Line, Listing, Metric, Placed
from tests.support.oracle.periods import CALENDAR, Bucket, Calendar, unit

__all__ = ["CALENDAR", "METHODS", "BoardModel", "Line", "Listing", "Metric", "Model", "Placed", "standings"]
NO_NOTES: Mapping[str, Any] = MappingProxyType({})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Counted(NamedTuple):
    """One member's part of an accepted event, and the buckets in which it counts. `at` is in milliseconds."""

    id: str
    member: str
    at: int
    amounts: Mapping[str, int]
    buckets: Mapping[str, Bucket]
    note: Any = None


@dataclass
class BoardModel:
    """One board: its metrics, its members and every event that counts on it."""

    metrics: Mapping[str, Metric]
    calendar: Calendar = field(default_factory=Calendar)
    registered: bool = False
    """Whether a member must be registered before its first event."""
    members: dict[str, bool] = field(default_factory=dict)
    """Every existing member, and whether it is hidden."""
    removed: set[str] = field(default_factory=set)
    """Every member that was ever removed, even if it came back."""
    used: set[str] = field(default_factory=set)
    """The ids of all accepted events."""
    counted: list[Counted] = field(default_factory=list)

    def refuses(self, member: str) -> bool:
        """Whether the board would refuse an event for this member."""
        return self.registered and member not in self.members

    def add(self, event_id: str, member: str, at: datetime, amounts: Mapping[str, int], now: datetime) -> bool:
        """Apply an event at the instant `now`, once. Return whether it was accepted, now or earlier."""
        return self.add_all(event_id, at, {member: amounts}, now)

    def add_all(
        self,
        event_id: str,
        at: datetime,
        updates: Mapping[str, Mapping[str, int]],
        now: datetime,
        notes: Mapping[str, Any] = NO_NOTES,
    ) -> bool:
        """Apply an event with amounts for several members, like `add`. It counts for all of them or for none.

        `notes` are those of its members.
        """
        if event_id in self.used:
            return True
        if any(self.refuses(member) for member in updates):
            return False
        self.used.add(event_id)
        for member, amounts in updates.items():
            self.count(event_id, member, at, amounts, now, notes.get(member))
        return True

    def count(
        self, event_id: str, member: str, at: datetime, amounts: Mapping[str, int], now: datetime, note: Any = None
    ) -> None:
        """Count one member's part of an event at the instant `now`."""
        self.members.setdefault(member, False)
        buckets = self.calendar.takes(_whole_milliseconds(at), now)
        self.counted.append(Counted(event_id, member, _milliseconds(at), dict(amounts), buckets, note))

    def put(self, member: str, *, hidden: bool | None = None) -> None:
        """Register a member if it is new. Hide or show it if `hidden` is given."""
        was_hidden = self.members.setdefault(member, False)
        self.members[member] = was_hidden if hidden is None else hidden

    def remove(self, member: str) -> bool:
        """Remove a member and everything counted for it. Return whether it existed."""
        if member not in self.members:
            return False
        del self.members[member]
        self.removed.add(member)
        self.counted = [event for event in self.counted if event.member != member]
        return True

    def score(self, metric: str, window: str, on: datetime, member: str) -> Placed | None:
        """Return a member's score in the period that contains an instant, or None. Hidden members have scores too."""
        return self._scores(metric, window, on).get(member)

    def note(self, metric: str, window: str, on: datetime, member: str) -> Any:
        """Return the note of the event that a member's score came with; None if it had none."""
        events = self._events(metric, window, on)[member]
        if self.metrics[metric].aggregate == "last":
            return max(events, key=lambda event: (event.at, event.id.encode())).note
        best = {"max": max, "min": min}[self.metrics[metric].aggregate](event.amounts[metric] for event in events)
        equals = [event for event in events if event.amounts[metric] == best]
        return min(equals, key=lambda event: (event.at, event.id.encode())).note

    def listing(self, metric: str, window: str, on: datetime) -> Listing:
        """Return the ranking of the period of a window that contains an instant."""
        rules = self.metrics[metric]
        shown = [one for one in self._scores(metric, window, on).values() if not self.members[one.member]]
        shown.sort(key=lambda one: one.member.encode())
        if rules.ties == "first":
            shown.sort(key=lambda one: one.since)
        shown.sort(key=lambda one: -one.score if rules.descending else one.score)
        return Listing(shown, rules.descending)

    def _scores(self, metric: str, window: str, on: datetime) -> dict[str, Placed]:
        events = self._events(metric, window, on)
        scores = {member: self._placed(metric, member, theirs) for member, theirs in events.items()}
        if self.registered and window == "all" and self.metrics[metric].aggregate == "sum":
            for member in self.members:
                scores.setdefault(member, Placed(member, 0, -inf))
        return scores

    def _events(self, metric: str, window: str, on: datetime) -> dict[str, list[Counted]]:
        """The events that count in a period, by member."""
        held = self.calendar.held(window, on)
        kind = "" if window == "all" else unit(window)
        events: dict[str, list[Counted]] = {}
        for event in self.counted:
            if metric in event.amounts and (window == "all" or event.buckets.get(kind) in held):
                events.setdefault(event.member, []).append(event)
        return events

    def _placed(self, metric: str, member: str, events: Iterable[Counted]) -> Placed:
        """Combine events of a member into a score, and work out since when the member has it."""
        aggregate = self.metrics[metric].aggregate
        values = [(event.at, event.id.encode(), event.amounts[metric]) for event in events]
        if aggregate == "sum":
            return Placed(member, sum(amount for _, _, amount in values), max(at for at, _, _ in values))
        if aggregate == "last":
            at, _, amount = max(values)
            return Placed(member, amount, at)
        best = {"max": max, "min": min}[aggregate](amount for _, _, amount in values)
        return Placed(member, best, min(at for at, _, amount in values if amount == best))


@dataclass
class Model(Calendar):
    """A board with one metric that sums. Members need not be registered."""

    board: BoardModel = field(init=False)

    def __post_init__(self) -> None:
        self.board = BoardModel({"": Metric()}, self)

    def add(self, event_id: str, member: str, at: datetime, units: int, now: datetime) -> None:
        """Apply an event at the instant `now`, once."""
        self.board.add(event_id, member, at, {"": units}, now)

    def scores(self, window: str, on: datetime) -> dict[str, int]:
        """Return the scores of all ranked members in the period of a window that contains an instant."""
        return {one.member: one.score for one in self.board.listing("", window, on).placed}

    def standings(self, window: str, on: datetime, *, descending: bool = True) -> list[Line]:
        """Return the list of the period that contains an instant, like the function `standings`."""
        return standings(self.scores(window, on), descending=descending)


def standings(scores: dict[str, int], *, descending: bool = True) -> list[Line]:
    """Sort scores into (rank, member, score): by score, then by member. Equal scores share the best rank."""
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
