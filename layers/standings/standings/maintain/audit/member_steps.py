"""What the tables say of a member in a rolling window, and how that differs.

A row follows from the member's item, and its items in the lists of blocks follow from the row. List items are written
before the row, and a row is written after its item. So a list item is right if it is what the row says, or what the
member's item says. One that is newer than the row may be on its way.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from standings.domain.members.member_item import Image
from standings.domain.rolling.blocks import Block, list_key
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.rolling.steps import Steps
from standings.domain.scoring.sort_order import Place, sort_key
from standings.maintain.audit.report import AuditCall, Kind, StoredRow, StoredSteps


class Finding(NamedTuple):
    """A difference in a list, by its key: that of a period's ranking, or of a block. The others are sort keys."""

    kind: Kind
    ranking: str
    expected: str | None
    found: str | None


@dataclass(frozen=True)
class MemberSteps:
    """A member in a rolling window: its item and row, and the steps that follow from the item.

    Periods before `readable` are not compared, and neither are those for which the row is not complete.
    """

    rankings: RollingRankings
    member: str
    image: Image | None
    row: StoredSteps | None
    expected: Steps
    readable: int

    @property
    def _stored(self) -> Steps:
        return (self.row and self.row.steps) or Steps(self.readable)

    @property
    def low(self) -> int:
        """The first period that is compared."""
        return max(self.readable, self._stored.low)

    @cached_property
    def blocks(self) -> set[Block]:
        """The blocks of the list items that a row and an item lead to."""
        return self._by_row.keys() | self._by_item.keys()

    @cached_property
    def _by_row(self) -> dict[Block, str]:
        return self._listed(self._stored)

    @cached_property
    def _by_item(self) -> dict[Block, str]:
        return self._listed(self.expected)

    def of_row(self, call: AuditCall) -> Finding | None:
        """The first difference between the row and the member's item."""
        at = _first_difference(self.expected, self._stored, self.low)
        ranking, expected = self.rankings.at(at).key, self._key(self.expected.place(at))
        if self.row is not None and self.row.steps is None:
            return Finding(Kind.WRONG, ranking, expected, "damaged")
        found = self._key(self._stored.place(at))
        kind = call.kind(self.image, self.row.version if self.row is not None else None, expected, found)
        return None if kind is None else Finding(kind, ranking, expected, found)

    def of_item(self, call: AuditCall, block: Block, item: StoredRow | None) -> Finding | None:
        """The difference between a list item and the row. `item` is None if there is none for this block."""
        found = item.key if item is not None else None
        by_row = self._by_row.get(block)
        kind = self._kind_of_item(call, block, item, found)
        return None if kind is None else Finding(kind, list_key(self.rankings, block), by_row, found)

    def _kind_of_item(self, call: AuditCall, block: Block, item: StoredRow | None, found: str | None) -> Kind | None:
        by_row = self._by_row.get(block)
        if block.until <= self.low or (self.image is None and found is None):
            return None
        if self.image is None:
            return Kind.PHANTOM if found == by_row else Kind.LISTED
        if item is not None and item.version > self.image.version:
            return Kind.LISTED
        if found in {by_row, self._by_item.get(block)}:
            return None if item is None or found is None or item.at_home else Kind.MISPLACED
        is_newer = item is not None and (self.row is None or item.version > self.row.version)
        return Kind.BEHIND if is_newer and call.is_recent(self.image) else Kind.LISTED

    def _listed(self, steps: Steps) -> dict[Block, str]:
        """The sort keys that steps lead to, by block."""
        places = steps.by_block(self.rankings.window, self.low)
        return {block: sort_key(place, self.member) for block, place in places.items()}

    def _key(self, place: Place | None) -> str | None:
        return None if place is None else sort_key(place, self.member)


def _first_difference(one: Steps, other: Steps, low: int) -> int:
    """The first period from `low` on in which places differ; `low` if there is none."""
    edges = {max(edge, low) for step in (*one.steps, *other.steps) for edge in (step.first, step.until)}
    return next((period for period in sorted(edges) if one.place(period) != other.place(period)), low)
