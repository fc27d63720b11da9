"""What one call of an audit finds, the limits of the call, and the method of all its checks."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

from standings.aws.dynamodb.scores import DamagedItem
from standings.domain.members import Image
from standings.rankings.audit_reads import AuditReads
from standings.runtime.clock import RETRIED_FOR_S, Clock
from standings.stores import StoreUnavailableError

MAX_EXAMPLES: Final = 20
LOOKED_AT: Final = ("members", "rows", "list_items", "rankings", "entries", "nodes")
T = TypeVar("T")


class Kind(StrEnum):
    """What an audit reports. BEHIND and UNSETTLED are not differences."""

    MISSING = "missing"  # Scores rank a member that has no entry
    WRONG = "wrong"  # an entry with another sort key than Scores give
    MISPLACED = "misplaced"  # an entry with the right sort key in the wrong partition of the index
    PHANTOM = "phantom"  # an entry of a member that Scores do not rank
    VERSION = "version"  # a row with a higher version than the member's item: it rejects valid moves
    LISTED = "wrong-list-item"  # an item of a rolling window's list that is not what the member's row says
    DAMAGED = "damaged"  # an item of Scores that cannot be read: its member is ranked as before, and gets no events
    LOG = "log"  # a log of a rolling window that cannot be read: the window's tiers are not compared
    COUNTER = "counter"  # a leaf's counter differs from its entries, or a node's counter from its child
    BEHIND = "behind"  # the stream has not brought the member's last change yet
    UNSETTLED = "unsettled"  # changed too often to be compared


NO_DIFFERENCE: Final = frozenset({Kind.BEHIND, Kind.UNSETTLED})
Difference = tuple[Kind, dict[str, Any]]
"""A finding and where it is: `(Kind.COUNTER, {"ranking": "b#G0Pa", "node": "41", "digit": 7, "counted": 2, …})`."""


@dataclass(slots=True)
class Findings:
    """The findings of one call of an audit of a board, and what the call may use.

    `deadline` is in seconds of the monotonic clock, `grace` in milliseconds. `most_units` are the read units of `reads`
    at which the call ends; None: it has no such end. `looked_at` counts what was compared, `found` the findings by
    kind. `examples` holds the first differences with their keys.
    """

    board: str
    reads: AuditReads
    clock: Clock
    deadline: float
    grace: int
    most_units: float | None = None
    looked_at: Counter[str] = field(default_factory=Counter)
    found: Counter[Kind] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)

    def check(self, cheap: T, read: Callable[[], T], differences: Callable[[T], Iterable[Difference]]) -> None:
        """The method of every check: read cheaply, doubt what differs, read it at one moment, report what still does.

        `cheap` was read at different moments. At one moment every legal change is either complete or absent.
        """
        if any(differences(cheap)):
            self.recheck(read, differences)

    def recheck(self, read: Callable[[], T], differences: Callable[[T], Iterable[Difference]]) -> None:
        """Read what is in doubt at one moment, and report how it differs.

        A damaged item of Scores is not reported here, but once: where the members are listed.
        """
        try:
            moment = self.at_one_moment(read)
        except DamagedItem:
            return
        if moment is None:
            self.add(Kind.UNSETTLED)
        else:
            self.add_all(differences(moment))

    def at_one_moment(self, read: Callable[[], T]) -> T | None:
        """Read in a transaction; None if writes conflict for `RETRIED_FOR_S` or until the deadline."""
        backoff = self.clock.backoff(min(self.deadline, self.clock.after(RETRIED_FOR_S)))
        try:
            return backoff.retry(read)
        except StoreUnavailableError:
            return None

    def kind_of(self, image: Image | None, version: int | None, expected: str | None, found: str | None) -> Kind | None:
        """The difference between an item and a row of some version (None: no row), by the sort keys of both.

        A row older than its item is BEHIND for up to `grace` after the item's last change. The entry of an item that is
        gone is a PHANTOM at once: nothing says when the item went.
        """
        if image is not None and version is not None and version > image.version:
            return Kind.VERSION
        if found == expected:
            return None
        if image is not None and (version is None or version < image.version) and self.is_recent(image):
            return Kind.BEHIND
        if expected is None:
            return Kind.PHANTOM
        return Kind.MISSING if found is None else Kind.WRONG

    def is_recent(self, image: Image) -> bool:
        """Whether the stream may not have brought an item's last change yet."""
        return self.clock.now() - image.written_at_ms < self.grace

    def is_over(self, reserve: float = 0.0) -> bool:
        """Whether the call must end: in `reserve` seconds its time is over, or its read units are used up."""
        is_spent = self.most_units is not None and self.reads.units >= self.most_units
        return is_spent or self.clock.monotonic() >= self.deadline - reserve

    def add(self, kind: Kind, **where: Any) -> None:
        """Count a finding; keep the first differences as examples."""
        self.found[kind] += 1
        if kind not in NO_DIFFERENCE and len(self.examples) < MAX_EXAMPLES:
            self.examples.append({"kind": kind.value, **where})

    def add_all(self, differences: Iterable[Difference]) -> None:
        """Count some differences."""
        for kind, where in differences:
            self.add(kind, **where)

    def drop(self) -> None:
        """Drop the findings. What was looked at stays counted."""
        self.found.clear()
        self.examples.clear()

    def report(self, cursor: dict[str, Any] | None, units: float) -> dict[str, Any]:
        """The report as JSON: `{"done": True, "cursor": None, "board": "b", "drift": 2, "found": {…}, …}`.

        `cursor` is None once the board is done; `units` are read units, approximately.
        """
        return {
            "done": cursor is None,
            "cursor": cursor,
            "board": self.board,
            "drift": sum(count for kind, count in self.found.items() if kind not in NO_DIFFERENCE),
            "found": {kind.value: self.found[kind] for kind in Kind},
            "examples": self.examples,
            "looked_at": {name: self.looked_at[name] for name in LOOKED_AT},
            "read_units": round(units),
        }


def row_difference(
    kind: Kind | None,
    ranking: str,
    member: str,
    sort_keys: tuple[str | None, str | None],
    image: Image | None,
    version: int | None,
) -> Iterator[Difference]:
    """The difference of a member's row, or list item: none without a kind.

    `sort_keys` are the one that is expected and the one that is there, `version` is the row's.
    """
    if kind is not None:
        where = {"ranking": ranking, "member": member, "expected": sort_keys[0], "found": sort_keys[1]}
        item_version = image.version if image is not None else None
        yield kind, {**where, "item_version": item_version, "row_version": version}
