"""Compares a ranking's tier tree with its entries: tree and sorted index are walked side by side, in their order.

A counter is right if it is the number of entries below it. That cannot be seen at once for a large part of a tree, and
need not: moves change an entry and all counters above it together, so how far each counter is *off* does not change by
them, and may be learned piece by piece. A leaf's counter is off by what it counts beside the entries with that score
(`_settle`); the counter of a child is off by what it counts beside the child's own counters, and by what those are off.
So a counter that was tampered with is named alone, not also those above and below that no longer fit it.

A tree is walked from its root down whatever its counters say, also those of 0, and to the leaves of all entries that
the index has, also where no counter leads there: what a lost counter hides is found.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import merge
from typing import Any, Final

from standings.domain.boards.ranking import Ranking
from standings.domain.scoring.sort_order import encode_sortable
from standings.domain.tiers.tier_path import ROOT, Path, depth, path
from standings.domain.tiers.tier_tree import span
from standings.maintain.audit.audit_reads import Listed, Root, Snapshot
from standings.maintain.audit.differences import Kind
from standings.maintain.audit.report import AuditRun

SETTLING: Final = 10.0
"""Seconds within which the sorted index shows what its table has: usually it takes well under one."""

ROUNDS: Final = 4
"""How often a leaf is looked at that does not come to rest, `SETTLING` apart."""

MAX_DOUBTS: Final = 64
"""Leaves in doubt that are settled together: they wait together."""

PAGE: Final = 500
AT_ONCE: Final = 100

_Counted = tuple[Path, int]
"""A counter: its node, and its digit."""


@dataclass(slots=True)
class _Doubt:
    """A leaf that does not count what the index has: its latest picture, and since when it has been like that."""

    leaf: Path
    picture: Snapshot | None = None
    since: float = 0.0


@dataclass(slots=True)
class _Errors:
    """How far counters are off: what is learned of one is carried to all above it."""

    off: Counter[_Counted] = field(default_factory=Counter)
    # Counters that could not be compared with what they count, and those below which a leaf did not come to rest.
    unknown: set[_Counted] = field(default_factory=set)
    unsettled: set[_Counted] = field(default_factory=set)

    def add(self, node: Path, digit: int, by: int) -> None:
        self.off[node, digit] += by
        while node != ROOT and (node, digit) not in self.unsettled:
            node, digit = node[:-1], node[-1]
            if (node, digit) in self.unknown:
                return
            self.off[node, digit] += by


class TierAudit:
    """Audits the tiers of one ranking. `strangers` is given the members of whom there are entries, some at a time."""

    def __init__(
        self, look: AuditRun, ranking: Ranking, strangers: Callable[[Sequence[str]], None], settling: float
    ) -> None:
        self._look = look
        self._ranking = ranking
        self._strangers = strangers
        self._settling = settling
        self._root = Root()
        self._start: Path | None = None
        self._entries: Iterator[Listed] = iter(())
        self._next: Listed | None = None
        self._passed: list[str] = []
        self._doubts: list[_Doubt] = []
        # What edges are off, before it is known which leaves below them are at rest.
        self._edges: list[tuple[Path, int, int]] = []
        self._errors = _Errors()

    def run(self, within: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Audit from a place on (None: from the beginning): where to go on if the time was over, None when done."""
        look = self._look
        self._root = look.read(lambda: look.evidence.root(self._ranking))
        beyond = " "
        if within is not None:
            self._start = tuple(bytes.fromhex(within["leaf"]))
            beyond = encode_sortable(span(self._start)[1] + 1)
            for counter, off in within["off"].items():
                way = tuple(bytes.fromhex(counter))
                self._errors.off[way[:-1], way[-1]] = off
        shards = [self._shard(shard, beyond) for shard in range(self._root.shards)]
        self._entries = merge(*shards, key=lambda entry: entry.key)
        self._advance()
        # What is left in doubt takes a few looks: their time is kept free.
        reserve = ROUNDS * self._settling
        for leaf in self._node(ROOT, self._nodes([ROOT]).get(ROOT, {})):
            if look.pacing.monotonic() >= look.deadline - reserve:
                self._settle()
                return {"leaf": bytes(leaf).hex(), "off": self._tell(leaf)}
            if len(self._doubts) >= MAX_DOUBTS:
                self._settle()
                self._tell(leaf)
        while self._next is not None:
            self._advance()
        self._settle()
        self._tell(None)
        return None

    def _node(self, node: Path, counters: Mapping[int, int]) -> Iterator[Path]:
        """Compare a node's counters with its children, and those with theirs: each leaf once it has been looked at."""
        children = self._nodes([(*node, digit) for digit in sorted(counters) if self._is_open((*node, digit))])
        ahead = [digit for digit in sorted(counters) if self._is_open((*node, digit))]
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
                self._edge(node, digit)
            if len(child) == depth(child[0]):
                self._leaf(child, below)
                yield child
            elif len(child) < depth(child[0]):
                yield from self._node(child, below)

    def _is_open(self, child: Path) -> bool:
        return self._start is None or child > self._start or self._has_begun(child)

    def _has_begun(self, child: Path) -> bool:
        """Whether an earlier call was below a node, and not yet done."""
        return self._start is not None and len(child) < len(self._start) and self._start[: len(child)] == child

    def _digit_of_next(self, node: Path) -> list[int]:
        """The child of a node that the next entry is below; none where it is below another node."""
        while self._next is not None and self._next.place is None:
            self._advance()
        if self._next is None or self._next.place is None:
            return []
        way = path(self._next.place.sort_value)
        return [way[len(node)]] if way[: len(node)] == node else []

    def _leaf(self, leaf: Path, counters: Mapping[int, int]) -> None:
        there: Counter[int] = Counter()
        last = span(leaf)[1]
        while self._next is not None and (self._next.place is None or self._next.place.sort_value <= last):
            if self._next.place is not None:
                there[path(self._next.place.sort_value)[-1]] += 1
            self._advance()
        if any(counters.get(digit, 0) != there[digit] for digit in counters.keys() | there.keys()):
            self._doubts.append(_Doubt(leaf))

    def _edge(self, node: Path, digit: int) -> None:
        look = self._look
        edge = look.picture(lambda: look.evidence.edge(self._ranking, node, digit))
        if edge is None:
            look.report.add(Kind.UNSETTLED)
            self._errors.unknown.add((node, digit))
        elif edge.counted != edge.below:
            self._edges.append((node, digit, edge.counted - edge.below))

    def _settle(self) -> None:
        """Find out which leaves in doubt do not count their entries, and make up the errors of all counters above."""
        look = self._look
        doubts, self._doubts = self._doubts, []
        off: list[tuple[Path, int, int]] = []
        for round_ in range(ROUNDS):
            if round_ and doubts and look.pacing.monotonic() + self._settling < look.deadline:
                look.pacing.sleep(self._settling)
            doubts = [doubt for doubt in doubts if not self._is_settled(doubt, off)]
        for doubt in doubts:
            look.report.add(Kind.UNSETTLED)
            self._errors.unsettled.add((doubt.leaf[:-1], doubt.leaf[-1]))
        for node, digit, by in [*off, *self._edges]:
            self._errors.add(node, digit, by)
        self._edges = []

    def _is_settled(self, doubt: _Doubt, off: list[tuple[Path, int, int]]) -> bool:
        """Whether it is known what a leaf counts beside its entries; what it counts too many or too few is added."""
        look = self._look
        began = look.pacing.monotonic()
        before = look.picture(lambda: look.evidence.picture(self._ranking, doubt.leaf))
        if before is None:
            return False
        there = self._count(doubt.leaf, before.root.shards)
        wrong = {
            digit: before.counters.get(digit, 0) - there[digit]
            for digit in sorted(before.counters.keys() | there.keys())
            if before.counters.get(digit, 0) != there[digit]
        }
        if not wrong:
            return True
        if doubt.picture is None or doubt.picture.state != before.state:
            doubt.picture, doubt.since = before, began
            return False
        after = look.picture(lambda: look.evidence.picture(self._ranking, doubt.leaf))
        if after is None or after.state != before.state or began - doubt.since < self._settling:
            return False
        off.extend((doubt.leaf, digit, by) for digit, by in wrong.items())
        return True

    def _count(self, leaf: Path, shards: int) -> Counter[int]:
        """How many entries the index has now for each score of a leaf."""
        first, last = span(leaf)
        there: Counter[int] = Counter()
        for shard in range(shards):
            for entry in self._shard(shard, encode_sortable(first), encode_sortable(last + 1)):
                if entry.place is not None:
                    there[path(entry.place.sort_value)[-1]] += 1
        return there

    def _tell(self, leaf: Path | None) -> dict[str, int]:
        """Report the counters that are off and have nothing left below them after a leaf; give back the others."""
        if self._passed:
            self._strangers(self._passed)
            self._passed = []
        carried: dict[str, int] = {}
        for (node, digit), by in sorted(self._errors.off.items()):
            way = (*node, digit)
            if not by:
                continue
            if leaf is not None and len(way) < len(leaf) and leaf[: len(way)] == way:
                carried[bytes(way).hex()] = by
                continue
            self._report(node, digit, by)
        off = {tuple(bytes.fromhex(way)): by for way, by in carried.items()}
        self._errors = _Errors(Counter({(way[:-1], way[-1]): by for way, by in off.items()}))
        return carried

    def _report(self, node: Path, digit: int, by: int) -> None:
        look = self._look
        picture = look.picture(lambda: look.evidence.picture(self._ranking, node))
        counted = picture.counters.get(digit, 0) if picture is not None else None
        look.report.add(
            Kind.COUNTER,
            ranking=self._ranking.key,
            node=bytes(node).hex(),
            digit=digit,
            counted=counted,
            there=counted - by if counted is not None else None,
        )

    def _nodes(self, paths: Sequence[Path]) -> dict[Path, Mapping[int, int]]:
        look = self._look
        found = look.read(lambda: look.evidence.nodes(self._ranking, paths, self._root.lanes)) if paths else {}
        look.report.nodes += len(found)
        return found

    def _shard(self, shard: int, beyond: str, before: str | None = None) -> Iterator[Listed]:
        look = self._look
        while True:
            page = look.read(partial(look.evidence.entries, self._ranking, shard, beyond, before, PAGE))
            yield from page
            if len(page) < PAGE:
                return
            beyond = page[-1].key

    def _advance(self) -> None:
        """Step to the next entry; those that were passed are looked at as members."""
        if self._next is not None:
            self._look.report.entries += 1
            self._passed.append(self._next.member)
            if len(self._passed) >= AT_ONCE:
                self._strangers(self._passed)
                self._passed = []
        self._next = next(self._entries, None)
