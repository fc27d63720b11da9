"""The differences that an audit names, and the report of one call."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.rolling_sum import place
from standings.domain.scoring.sort_order import sort_key
from standings.maintain.audit.audit_reads import StoredRow

MAX_EXAMPLES: Final = 20


class Kind(StrEnum):
    """What an audit reports. BEHIND and UNSETTLED are not differences."""

    MISSING = "missing"  # Scores rank a member that has no entry
    WRONG = "wrong"  # an entry with another sort key than Scores give
    MISPLACED = "misplaced"  # an entry with the right sort key in the wrong partition of the index
    PHANTOM = "phantom"  # an entry of a member that Scores do not rank
    VERSION = "version"  # a row with a higher version than the member's item: it rejects valid moves
    COUNTER = "counter"  # a leaf's counter differs from its entries, or a node's counter from its child
    BEHIND = "behind"  # the stream has not brought the member's last change yet
    UNSETTLED = "unsettled"  # changed too often to be compared


NO_DIFFERENCE: Final = frozenset({Kind.BEHIND, Kind.UNSETTLED})


@dataclass(slots=True)
class Report:
    """What one call of an audit read and found.

    `examples` holds the first differences with their keys. `units` are read units, approximately. `cursor` says where
    the next call continues; None once the board is done.
    """

    board: str
    found: Counter[Kind] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)
    members: int = 0
    rows: int = 0
    rankings: int = 0
    entries: int = 0
    nodes: int = 0
    units: float = 0.0
    cursor: dict[str, Any] | None = None

    @property
    def drift(self) -> int:
        """The number of differences."""
        return sum(count for kind, count in self.found.items() if kind not in NO_DIFFERENCE)

    def add(self, kind: Kind, **keys: Any) -> None:
        """Count a finding; keep the first differences as examples."""
        self.found[kind] += 1
        if kind not in NO_DIFFERENCE and len(self.examples) < MAX_EXAMPLES:
            self.examples.append({"kind": kind.value, **keys})

    def answer(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "done": self.cursor is None,
            "cursor": self.cursor,
            "board": self.board,
            "drift": self.drift,
            "found": {kind.value: self.found[kind] for kind in Kind},
            "examples": self.examples,
            "looked_at": {name: getattr(self, name) for name in ("members", "rows", "rankings", "entries", "nodes")},
            "read_units": round(self.units),
        }


def expected_key(image: Image | None, ranking: Ranking, member: str) -> str | None:
    """The sort key that a member's entry should have, from its item; None if it is not ranked."""
    expected = place(image, ranking)
    return None if expected is None else sort_key(expected, member)


def difference(
    image: Image | None, row: StoredRow | None, ranking: Ranking, member: str, now: int, grace: int
) -> Kind | None:
    """The difference between a row and its item, both read at one moment; None if they agree.

    A row older than its item is BEHIND for up to `grace` milliseconds after the item's last change. The entry of an
    item that is gone is a PHANTOM at once: nothing says when the item went.
    """
    expected = expected_key(image, ranking, member)
    key = row.key if row is not None else None
    if image is not None and row is not None and row.version > image.version:
        return Kind.VERSION
    if key == expected:
        return Kind.MISPLACED if row is not None and expected is not None and not row.at_home else None
    if image is not None and (row is None or row.version < image.version) and now - image.written_at_ms < grace:
        return Kind.BEHIND
    if expected is None:
        return Kind.PHANTOM
    return Kind.MISSING if key is None else Kind.WRONG
