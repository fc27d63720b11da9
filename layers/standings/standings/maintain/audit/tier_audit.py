"""Compares a ranking's tier tree with its entries: walks the tree and the sorted index side by side, in order.

Two things are compared:

- A leaf's counter with the entries that have its score. The index lags behind its table, so a leaf that disagrees is
  read again until it rests (`_settle`).
- Another node's counter with the sum of its child's counters. Both are read at one moment.

In a rolling window, a node's counters are those it has and those of the log's entries that it lacks. Its entries are
the items of the lists of all blocks that contain the period. They are written before the rows and the log. So before a
leaf is reported, members that have changed lately are counted where their rows are (`_confirm`).

The walk visits every counter, also those that are 0, and the leaf of every entry, also where no counter leads to it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from standings.domain.boards.definitions import Ranking
from standings.domain.scoring.sort_order import Place, encode_sortable
from standings.domain.tiers.tier_path import ROOT, Path, depth, path
from standings.domain.tiers.tier_tree import span
from standings.maintain.audit.ranking_entries import RankingEntries
from standings.maintain.audit.report import AuditCall, Kind, Listed, Snapshot

SETTLING: Final = 10.0  # Seconds after which the sorted index shows what its table has: usually well under one
ROUNDS: Final = 4  # How often a leaf is read that does not come to rest, `SETTLING` seconds apart
MAX_DOUBTS: Final = 64  # Leaves that wait together to be read again
MAX_PASSED: Final = 100  # Entries that are compared together


Moving = Callable[[], Mapping[str, Place | None] | None]


class _Odd(NamedTuple):
    """A leaf that differs between equal snapshots: what its counters say and how many entries there are, by digit."""

    leaf: Path
    digits: Mapping[int, tuple[int, int]]


class TierAudit:
    """Audits those tiers of one ranking whose leaves follow the leaf `after` (None: all of them).

    `compare` is called with all entries, some at a time. `moving` says where rows have the members whose list items may
    be newer, or not in the index yet; None if it had no time. A wrong log of a rolling window raises DamagedLog.
    """

    def __init__(
        self,
        call: AuditCall,
        ranking: Ranking,
        compare: Callable[[Sequence[Listed]], None],
        moving: Moving,
        after: str | None,
    ) -> None:
        self._call = call
        self._ranking = ranking
        self._compare = compare
        self._moving = moving
        self._entries = RankingEntries(call, ranking)
        self._root = call.reads.root(ranking)
        self._passed: list[Listed] = []
        self._doubts: list[Path] = []
        self._odd: list[_Odd] = []
        self._start = ROOT if after is None else tuple(bytes.fromhex(after))
        self._paths = self._entry_paths(" " if after is None else encode_sortable(span(self._start)[1] + 1))
        self._next = next(self._paths, None)

    def run(self) -> str | None:
        """Returns the last leaf that was audited if the call was over, None when the ranking is done."""
        # Settling takes a few rounds: keep their time free.
        for leaf in self._node(ROOT, self._nodes([ROOT]).get(ROOT, {})):
            if self._call.is_over(ROUNDS * SETTLING):
                self._settle()
                return bytes(leaf).hex()
            if len(self._doubts) >= MAX_DOUBTS:
                self._settle()
        self._settle()
        return None

    def _node(self, node: Path, counters: Mapping[int, int]) -> Iterator[Path]:
        """Compare a node with its children, and those with theirs; yield each leaf once it was compared."""
        ahead = [digit for digit in sorted(counters) if self._is_left((*node, digit))]
        children = self._nodes([(*node, digit) for digit in ahead])
        while True:
            digit = min([*ahead[:1], *self._digit_of_next(node)], default=None)
            if digit is None:
                return
            ahead = [other for other in ahead if other > digit]
            child = (*node, digit)
            if child not in children:
                children |= self._nodes([child])
            below = children.get(child, {})
            if not self._has_begun(child) and counters.get(digit, 0) != sum(below.values()):
                self._compare_pair(node, digit)
            if len(child) == depth(child[0]):
                self._leaf(child, below)
                yield child
            elif len(child) < depth(child[0]):
                yield from self._node(child, below)

    def _is_left(self, child: Path) -> bool:
        return child > self._start or self._has_begun(child)

    def _has_begun(self, child: Path) -> bool:
        """Whether an earlier call stopped below this node: it has compared the node's counter already."""
        return len(child) < len(self._start) and self._start[: len(child)] == child

    def _digit_of_next(self, node: Path) -> list[int]:
        """The child of a node that holds the next entry; empty if that is below another node."""
        entry = self._next
        return [entry[len(node)]] if entry is not None and entry[: len(node)] == node else []

    def _leaf(self, leaf: Path, counters: Mapping[int, int]) -> None:
        """Pass the entries of a leaf, and compare their number with its counters."""
        entries: Counter[int] = Counter()
        while self._next is not None and self._next[:-1] <= leaf:
            entries[self._next[-1]] += 1
            self._next = next(self._paths, None)
        if _different(counters, entries):
            self._doubts.append(leaf)

    def _compare_pair(self, node: Path, digit: int) -> None:
        pair = self._call.moment(lambda: self._call.store.edge(self._ranking, node, digit))
        if pair is not None and pair[0] != pair[1]:
            self._report(node, digit, *pair)

    def _settle(self) -> None:
        """Read the leaves in doubt until each counts its entries, or rests and is reported."""
        clock = self._call.clock
        doubts: dict[Path, Snapshot | None] = dict.fromkeys(self._doubts)
        for round_ in range(ROUNDS):
            if round_:
                if not doubts or clock.monotonic() + SETTLING >= self._call.deadline:
                    break
                clock.sleep(SETTLING)
            read = {leaf: self._read_again(leaf, before) for leaf, before in doubts.items()}
            doubts = {leaf: snapshot for leaf, (snapshot, is_settled) in read.items() if not is_settled}
        for _ in doubts:
            self._call.add(Kind.UNSETTLED)
        self._doubts = []
        self._confirm()
        self._compare_passed()

    def _read_again(self, leaf: Path, before: Snapshot | None) -> tuple[Snapshot | None, bool]:
        """A leaf as it is now, and whether it is settled. `before` is its snapshot of the round before.

        Between equal snapshots the index has caught up, so what differs is kept for `_confirm`.
        """
        shards = self._root.shards if before is None else before.root.shards
        entries = Counter(digit for _, digit in self._entries.within(leaf, shards))
        now = self._call.consistent(lambda: self._call.store.picture(self._ranking, leaf))
        different = [] if now is None else _different(now.counters, entries)
        if now is None or (different and now != before):
            return now, False
        if different:
            self._odd.append(_Odd(leaf, {digit: (now.counters.get(digit, 0), entries[digit]) for digit in different}))
        return now, True

    def _confirm(self) -> None:
        """Report the leaves that differ. In a rolling window, members that changed lately may explain it."""
        odd, self._odd = self._odd, []
        if not self._ranking.window.rolling:
            for leaf, digits in odd:
                for digit, (counted, there) in digits.items():
                    self._report(leaf, digit, counted, there)
            return
        moving = self._moving() if odd else None
        for each in odd:
            if moving is None:
                self._call.add(Kind.UNSETTLED)
            else:
                self._confirm_leaf(each, moving)

    def _confirm_leaf(self, odd: _Odd, moving: Mapping[str, Place | None]) -> None:
        """Report a leaf that still differs if the members that changed lately are counted where their rows are."""
        listed: Counter[int] = Counter()
        paths = [path(place.sort_value) for place in moving.values() if place is not None]
        rows = Counter(way[-1] for way in paths if way[:-1] == odd.leaf)
        for member, digit in self._entries.within(odd.leaf, self._root.shards):
            listed[digit] += 1
            rows[digit] += member not in moving
        now = self._call.consistent(partial(self._call.store.picture, self._ranking, odd.leaf))
        for digit, (counted, there) in odd.digits.items():
            if now is None or (now.counters.get(digit, 0), listed[digit]) != (counted, there):
                self._call.add(Kind.UNSETTLED)
            elif rows[digit] == counted:
                self._call.add(Kind.BEHIND)
            else:
                self._report(odd.leaf, digit, counted, rows[digit])

    def _report(self, node: Path, digit: int, counted: int, below: int) -> None:
        self._call.add(
            Kind.COUNTER,
            ranking=self._ranking.key,
            node=bytes(node).hex(),
            digit=digit,
            counted=counted,
            there=below,
        )

    def _nodes(self, paths: Sequence[Path]) -> dict[Path, Mapping[int, int]]:
        nodes = self._call.reads.nodes(self._ranking, paths, self._root.lanes)
        self._call.read["nodes"] += len(nodes)
        return nodes

    def _entry_paths(self, beyond: str) -> Iterator[Path]:
        """The paths of the entries that follow a key. Entries that were passed are handed over."""
        for entry in self._entries.following(beyond, self._root.shards):
            if entry.place is not None:
                yield path(entry.place.sort_value)
            self._call.read["entries"] += 1
            self._passed.append(entry)
            if len(self._passed) >= MAX_PASSED:
                self._compare_passed()

    def _compare_passed(self) -> None:
        self._compare(self._passed)
        self._passed = []


def _different(counters: Mapping[int, int], entries: Counter[int]) -> list[int]:
    """The digits whose counters are not the number of entries."""
    return [digit for digit in sorted(counters.keys() | entries.keys()) if counters.get(digit, 0) != entries[digit]]
