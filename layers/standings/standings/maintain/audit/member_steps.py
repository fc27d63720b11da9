"""What the tables say of a member in a rolling window, and how that differs.

A row follows from the member's item, and the list's items follow from the row. List items are written before the row,
and a row is written after its item. So an item of the list is right if it is what the row says, or what the member's
item says. One that is newer than the row may be on its way.
"""

from typing import NamedTuple

from standings.domain.members.member_item import Image
from standings.domain.rolling.steps import Step, Steps
from standings.domain.scoring.sort_order import sort_key
from standings.maintain.audit.report import AuditCall, Kind, ListedStep, StoredItem, StoredSteps


class Finding(NamedTuple):
    """A difference in a period. `expected` and `found` are sort keys, or a list item's periods and sort key."""

    kind: Kind
    period: int
    expected: object
    found: object


class MemberSteps(NamedTuple):
    """A member in a rolling window: its item and row, and the steps that follow from the item.

    Periods before `readable` are not compared, and neither are those for which the row is not complete.
    """

    member: str
    image: Image | None
    row: StoredSteps | None
    expected: Steps
    readable: int

    @property
    def _stored(self) -> Steps:
        steps = self.row.steps if self.row is not None else None
        return steps if steps is not None else Steps(self.readable)

    @property
    def low(self) -> int:
        """The first period that is compared."""
        return max(self.readable, self._stored.low)

    def firsts(self) -> set[int]:
        """The first periods of the list items that a row and an item lead to."""
        return self._stored.by_first(self.low).keys() | self.expected.by_first(self.low).keys()

    def of_row(self, call: AuditCall) -> Finding | None:
        """The first difference between the row and the member's item."""
        if self.row is not None and self.row.steps is None:
            period = _first_difference(self.expected, Steps(self.low), self.low)
            at = self.low if period is None else period
            return Finding(Kind.WRONG, at, self._key(self.expected, at), "damaged")
        period = _first_difference(self.expected, self._stored, self.low)
        at = self.low if period is None else period
        expected, found = self._key(self.expected, at), self._key(self._stored, at)
        kind = call.kind(self.image, self.row.version if self.row is not None else None, expected, found)
        return None if kind is None else Finding(kind, at, expected, found)

    def of_item(self, call: AuditCall, first: int, item: StoredItem | None) -> Finding | None:
        """The difference between a list item and the row. `item` is None if there is none with this first period."""
        found = item.step if item is not None else None
        by_row = self._listed(self._stored.by_first(self.low).get(first))
        kind = self._kind_of_item(call, first, item, by_row)
        return None if kind is None else Finding(kind, first, by_row and list(by_row), found and list(found))

    def _kind_of_item(
        self, call: AuditCall, first: int, item: StoredItem | None, by_row: ListedStep | None
    ) -> Kind | None:
        found = item.step if item is not None else None
        by_item = self._listed(self.expected.by_first(self.low).get(first))
        if found is not None and by_row is None and by_item is None and 0 <= found.until <= self.low:
            return None
        if self.image is None:
            if found is None:
                return None
            return Kind.PHANTOM if found == by_row else Kind.LISTED
        if item is not None and item.version > self.image.version:
            return Kind.LISTED
        if found in {by_row, by_item}:
            return None if item is None or found is None or item.at_home else Kind.MISPLACED
        is_newer = item is not None and (self.row is None or item.version > self.row.version)
        return Kind.BEHIND if is_newer and call.is_recent(self.image) else Kind.LISTED

    def _key(self, steps: Steps, period: int) -> str | None:
        place = steps.place(period)
        return None if place is None else sort_key(place, self.member)

    def _listed(self, step: Step | None) -> ListedStep | None:
        return None if step is None else ListedStep(step.first, step.until, sort_key(step.place, self.member))


def _first_difference(one: Steps, other: Steps, low: int) -> int | None:
    """The first period from `low` on in which places differ."""
    edges = {max(edge, low) for step in (*one.steps, *other.steps) for edge in (step.first, step.until)}
    return next((period for period in sorted(edges) if one.place(period) != other.place(period)), None)
