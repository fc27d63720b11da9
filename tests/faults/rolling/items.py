"""What is stored: images of members, rows, logs, nodes and list items.

All times are whole periods. A window has WINDOW buckets, each one period long. A member's place in a period is the sum
of the buckets of the window that ends with the period.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

WINDOW: Final = 3
MARGIN: Final = 1
"""How far two clocks are apart at most."""
SLAB: Final = 4
"""How many periods a slab has. No list item goes beyond the end of a slab."""
TIER: Final = 4
"""How many places share a tier."""
MOST_LOGS: Final = 3
MOST_ENTRIES: Final = 6
"""A log with this many entries takes no more."""

Steps = dict[int, int]  # the place in each period that has one
Entry = dict[tuple[int, int], int]  # changes of count, by period and place
NodeKey = tuple[int, int | None]  # period and tier; None is the root
ItemKey = tuple[int, int]  # member and first period


@dataclass(frozen=True)
class Image:
    """A member's item. `stamp` is the writer's clock, which never goes back on an item."""

    version: int
    stamp: int
    sums: Mapping[int, int]
    hidden: bool = False
    removed: bool = False

    def place(self, period: int) -> int | None:
        """Return the place in a period, or None if the member has none."""
        if self.hidden or self.removed:
            return None
        found = [self.sums[bucket] for bucket in range(period - WINDOW + 1, period + 1) if bucket in self.sums]
        return sum(found) if found else None

    def steps(self, low: int) -> Steps:
        """Return the places in all periods from `low` on."""
        periods = range(low, self.stamp + MARGIN + WINDOW + 1)
        return {period: place for period in periods if (place := self.place(period)) is not None}


class Change(NamedTuple):
    """A record of the stream: a member's item before and after a write."""

    member: int
    old: Image | None
    new: Image


@dataclass(frozen=True)
class Row:
    """A member's row. Its steps are complete from the period `low` on."""

    version: int
    low: int
    steps: Steps
    expires: int
    """From this period on it may be deleted."""


@dataclass(frozen=True)
class ListItem:
    """A list item. Without a place it only keeps its version."""

    version: int
    expires: int
    """From this period on it may be deleted."""
    until: int | None = None
    place: int | None = None


@dataclass
class Log:
    """A log. The position of an entry is the base plus its index."""

    base: int
    entries: list[Entry] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.base + len(self.entries)


@dataclass
class Node:
    """A tier node: counts by place, and for each log the position up to which they are complete."""

    counts: Counter[int] = field(default_factory=Counter)
    at: dict[int, int] = field(default_factory=dict)
    expires: int = 0
    """From this period on it may be deleted."""


@dataclass
class Generation:
    """One copy of everything that a rebuild makes anew."""

    rows: dict[int, Row] = field(default_factory=dict)
    logs: dict[int, Log] = field(default_factory=lambda: {0: Log(1)})
    named: int = 1
    """How many logs the first log names."""
    nodes: dict[NodeKey, Node] = field(default_factory=dict)
    items: dict[ItemKey, ListItem] = field(default_factory=dict)
    index: dict[ItemKey, ListItem] = field(default_factory=dict)
    """The list items as the index shows them."""
    pending: dict[ItemKey, list[ListItem | None]] = field(default_factory=dict)
    """What the index does not show yet."""
    ledger: defaultdict[tuple[int, int], Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    """Everything that a log was ever given, by log and period. No process can read it."""

    def list(self, key: ItemKey, item: ListItem | None) -> None:
        """Store a list item, or delete it. The index follows later."""
        if item is None:
            self.items.pop(key, None)
        else:
            self.items[key] = item
        self.pending.setdefault(key, []).append(item)

    def index_next(self, key: ItemKey) -> None:
        """Bring the index one step further for one key."""
        item = self.pending[key].pop(0)
        if not self.pending[key]:
            del self.pending[key]
        if item is None:
            self.index.pop(key, None)
        else:
            self.index[key] = item


def tier_of(place: int) -> int:
    return place // TIER


def spans(steps: Steps, *, slabs: bool) -> dict[int, tuple[int, int]]:
    """Return the list items of steps: first period -> period in which it ends, and place."""
    found: dict[int, tuple[int, int]] = {}
    first = 0
    for period in sorted(steps):
        if found.get(first) == (period, steps[period]) and not (slabs and period % SLAB == 0):
            found[first] = (period + 1, steps[period])
        else:
            first = period
            found[first] = (period + 1, steps[period])
    return found


def slab_end(period: int) -> int:
    """Return the first period after the slab of a period."""
    return (period // SLAB + 1) * SLAB


def bounded(counts: Mapping[tuple[int, int], int]) -> Entry:
    """Return the changes that are not zero."""
    return {key: change for key, change in counts.items() if change}
