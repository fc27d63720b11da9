"""Compares one ranking with what follows from members' items: entries, tiers and steps. Reports each difference."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, partial
from heapq import merge
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from standings.aws.dynamodb.scores import DamagedItem
from standings.domain.boards import Ranking
from standings.domain.coverage import Coverage
from standings.domain.members import Image, place
from standings.domain.scoring import Place, encode_sortable, sort_key
from standings.domain.tiers import ROOT, Path, depth, path, span
from standings.rankings.checking import Listed, Snapshot, StoredRow, StoredSteps
from standings.rankings.rolling.steps import Block, RollingRankings, Steps, list_key, lists_of, steps_of
from standings.runtime.clock import RETRIED_FOR_S, Clock
from standings.stores import SLOTS, Partition, StoreUnavailableError

if TYPE_CHECKING:
    from standings.rankings.audit_reads import AuditReads


# One call of an audit: what it reads, and the differences that it reports.

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


@dataclass(slots=True)
class AuditCall:
    """One call of an audit of a board. `deadline` is of the monotonic clock, `grace` in milliseconds.

    `most_units` are the read units of the store (`store.units`) at which the call ends; None: it has no such end.
    `looked_at` counts what was compared, `found` the findings by kind. `examples` holds the first differences with
    their keys.
    """

    board: str
    store: "AuditReads"
    clock: Clock
    deadline: float
    grace: int
    most_units: float | None = None
    looked_at: Counter[str] = field(default_factory=Counter)
    found: Counter[Kind] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)

    def is_over(self, reserve: float = 0.0) -> bool:
        """Whether the call must end: in `reserve` seconds its time is over, or its read units are used up."""
        is_spent = self.most_units is not None and self.store.units >= self.most_units
        return is_spent or self.clock.monotonic() >= self.deadline - reserve

    def consistent(self, read: Callable[[], T]) -> T | None:
        """Read one moment; None if writes conflict for `RETRIED_FOR_S` or until the deadline."""
        backoff = self.clock.backoff(min(self.deadline, self.clock.monotonic() + RETRIED_FOR_S))
        try:
            return backoff.retry(read)
        except StoreUnavailableError:
            return None

    def at_one_moment(self, read: Callable[[], T]) -> T | None:
        """Read one moment. None if writes conflict for too long, which is reported, or if an item is damaged.

        A damaged item is reported once: where the members are listed.
        """
        try:
            found = self.consistent(read)
        except DamagedItem:
            return None
        if found is None:
            self.add(Kind.UNSETTLED)
        return found

    def compare(self, ranking: Ranking, member: str) -> None:
        """Compare a member's item and row at one moment, and report a difference."""
        pair = self.at_one_moment(lambda: self.store.pair(ranking, member))
        if pair is None:
            return
        image, row = pair
        kind = self.difference(image, row, ranking, member)
        if kind is not None:
            self.add(
                kind,
                ranking=ranking.key,
                member=member,
                expected=_expected_key(image, ranking, member),
                found=row.key if row is not None else None,
                item_version=image.version if image is not None else None,
                row_version=row.version if row is not None else None,
            )

    def difference(self, image: Image | None, row: StoredRow | None, ranking: Ranking, member: str) -> Kind | None:
        """The difference between a row and its item; None if they agree.

        A row older than its item is BEHIND for up to `grace` after the item's last change. The entry of an item that is
        gone is a PHANTOM at once: nothing says when the item went.
        """
        expected = _expected_key(image, ranking, member)
        key = row.key if row is not None else None
        kind = self.kind(image, row.version if row is not None else None, expected, key)
        if kind is None and row is not None and expected is not None and not row.at_home:
            return Kind.MISPLACED
        return kind

    def kind(self, image: Image | None, version: int | None, expected: str | None, found: str | None) -> Kind | None:
        """The difference between an item and a row of some version (None: no row), by the sort keys of both."""
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

    def add(self, kind: Kind, **keys: Any) -> None:
        """Count a finding; keep the first differences as examples."""
        self.found[kind] += 1
        if kind not in NO_DIFFERENCE and len(self.examples) < MAX_EXAMPLES:
            self.examples.append({"kind": kind.value, **keys})

    def drop_findings(self) -> None:
        """Drop the findings. What was looked at stays counted."""
        self.found.clear()
        self.examples.clear()

    def answer(self, cursor: dict[str, Any] | None, units: float) -> dict[str, Any]:
        """The report as JSON. `cursor` is None once the board is done; `units` are read units, approximately."""
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


def _expected_key(image: Image | None, ranking: Ranking, member: str) -> str | None:
    expected = place(image, ranking)
    return None if expected is None else sort_key(expected, member)


# The entries of a ranking as the sorted index has them, in all lists and shards.

PAGE: Final = 500


class RankingEntries:
    """Reads the entries of one ranking."""

    def __init__(self, call: AuditCall, ranking: Ranking) -> None:
        self._call = call
        self._ranking = ranking

    def following(self, beyond: str, shards: int) -> Iterator[Listed]:
        """The entries after a sort key, in order."""
        return merge(
            *(self._partition(partition, beyond) for partition in self._partitions(shards)),
            key=lambda entry: entry.key,
        )

    def within(self, leaf: Path, shards: int) -> Iterator[tuple[str, int]]:
        """The members of the entries of a leaf, each with its digit."""
        first, last = span(leaf)
        beyond, before = encode_sortable(first), encode_sortable(last + 1)
        for partition in self._partitions(shards):
            for entry in self._partition(partition, beyond, before):
                if entry.place is not None:
                    yield entry.member, path(entry.place.sort_value)[-1]

    def _partitions(self, shards: int) -> list[Partition]:
        return [Partition(key, shard) for key in lists_of(self._ranking) for shard in range(shards)]

    def _partition(self, partition: Partition, beyond: str, before: str | None = None) -> Iterator[Listed]:
        while True:
            page = self._call.clock.retry(self._call.store.entries, self._ranking, partition, beyond, before, PAGE)
            yield from page
            if len(page) < PAGE:
                return
            beyond = page[-1].key


# A member in a rolling window: its item, row and list items, and how they differ.
#
# A row follows from the member's item, and its items in the lists of blocks follow from the row. List items are
# written before the row, and a row is written after its item. So a list item is right if it is what the row says, or
# what the member's item says. One that is newer than the row may be on its way.


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


# Compares a ranking's tier tree with its entries: walks the tree and the sorted index side by side, in order.
#
# Two things are compared:
#
# - A leaf's counter with the entries that have its score. The index lags behind its table, so a leaf that disagrees is
#   read again until it rests (`_settle`).
# - Another node's counter with the sum of its child's counters. Both are read at one moment.
#
# In a rolling window, a node's counters are those it has and those of the log's entries that it lacks. Its entries
# are the items of the lists of all blocks that contain the period. They are written before the rows and the log. So
# before a leaf is reported, members that have changed lately are counted where their rows are (`_confirm`).
#
# The walk visits every counter, also those that are 0, and the leaf of every entry, also where no counter leads to
# it.

SETTLING: Final = 10.0  # Seconds after which the sorted index shows what its table has: usually well under one
ROUNDS: Final = 4  # How often a leaf is read that does not come to rest, `SETTLING` seconds apart
MAX_DOUBTS: Final = 64  # Leaves that wait together to be read again
MAX_PASSED: Final = 100  # Entries that are compared together


class _Mismatch(NamedTuple):
    """A leaf that differs between equal snapshots: what its counters say and how many entries there are, by digit."""

    leaf: Path
    digits: Mapping[int, tuple[int, int]]


class TierAudit:
    """Audits those tiers of one ranking whose leaves follow the leaf `after` (None: all of them).

    `compare` is called with all entries, some at a time.
    """

    def __init__(
        self,
        call: AuditCall,
        ranking: Ranking,
        compare: Callable[[Sequence[Listed]], None],
        after: str | None,
    ) -> None:
        self._call = call
        self._ranking = ranking
        self._compare = compare
        self._entries = RankingEntries(call, ranking)
        self._tree = call.store.tree(ranking)
        self._root = call.clock.retry(self._tree.root, ranking)
        self._passed: list[Listed] = []
        self._doubts: list[Path] = []
        self._mismatches: list[_Mismatch] = []
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
        pair = self._call.at_one_moment(lambda: self._tree.edge(self._ranking, node, digit))
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
        now = self._call.consistent(lambda: self._tree.snapshot(self._ranking, leaf))
        different = [] if now is None else _different(now.counters, entries)
        if now is None or (different and now != before):
            return now, False
        if different:
            self._mismatches.append(
                _Mismatch(leaf, {digit: (now.counters.get(digit, 0), entries[digit]) for digit in different})
            )
        return now, True

    def _confirm(self) -> None:
        """Report the leaves that differ."""
        mismatches, self._mismatches = self._mismatches, []
        for leaf, digits in mismatches:
            for digit, (counted, there) in digits.items():
                self._report(leaf, digit, counted, there)

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
        nodes = self._call.clock.retry(self._tree.nodes, self._ranking, paths, self._root.lanes)
        self._call.looked_at["nodes"] += len(nodes)
        return nodes

    def _entry_paths(self, beyond: str) -> Iterator[Path]:
        """The paths of the entries that follow a key. Entries that were passed are handed over."""
        for entry in self._entries.following(beyond, self._root.shards):
            if entry.place is not None:
                yield path(entry.place.sort_value)
            self._call.looked_at["entries"] += 1
            self._passed.append(entry)
            if len(self._passed) >= MAX_PASSED:
                self._compare_passed()

    def _compare_passed(self) -> None:
        self._compare(self._passed)
        self._passed = []


def _different(counters: Mapping[int, int], entries: Counter[int]) -> list[int]:
    """The digits whose counters are not the number of entries."""
    return [digit for digit in sorted(counters.keys() | entries.keys()) if counters.get(digit, 0) != entries[digit]]


# Compares the rows and the lists of a rolling window with members' items.

MAX_ITEMS: Final = 90  # List items that are read at one moment, in addition to the member's item, its row and a log
PAGE_SIZE: Final = 1000  # Members that are listed together to find those that have changed lately
NO_STEPS: Final = Steps(0)


class StepAudit:
    """Audits the rows and the lists of one rolling window. The board is complete for `coverage`."""

    def __init__(self, call: AuditCall, rankings: RollingRankings, coverage: Coverage) -> None:
        self._call = call
        self._rankings = rankings
        self._coverage = coverage

    def members(self, images: Sequence[Image]) -> None:
        """Compare the rows of members with their items, and the list items that both lead to."""
        call = self._call
        rows = call.clock.retry(call.store.rolling.steps, self._rankings, [image.member for image in images])
        members = [self._member(image.member, image, rows.get(image.member)) for image in images]
        keys = [(block, member.member) for member in members for block in sorted(member.blocks)]
        items = call.clock.retry(call.store.rolling.listed, self._rankings, keys)
        call.looked_at["rows"] += len(images)
        call.looked_at["list_items"] += len(keys)
        doubts: dict[str, list[Block]] = {}
        by_name = {member.member: member for member in members}
        for block, name in keys:
            if by_name[name].of_item(call, block, items.get((block, name))) is not None:
                doubts.setdefault(name, []).append(block)
        for name, member in by_name.items():
            if name in doubts or member.of_row(call) is not None:
                self._compare(name, doubts.get(name, []))

    def surplus(self, period: int, entries: Iterable[Listed]) -> None:
        """Compare list items to which no row and no item leads. `entries` are those of a period.

        Each is compared in the first of its periods that can be read. The others are compared with their rows
        (`members`).
        """
        now, low = self._call.clock.now(), self._readable()
        new = [
            (entry.block, entry.member)
            for entry in entries
            if entry.block is not None and period == max(entry.block.first, low)
        ]
        names = list(dict.fromkeys(member for _, member in new))
        images = self._call.clock.retry(self._call.store.images, self._rankings.board, names)
        window = self._rankings.window
        expected = {name: steps_of(images.get(name), self._rankings, now).by_block(window, low) for name in names}
        for block, name in new:
            if name not in images or block not in expected[name]:
                self._compare(name, [block], surplus=True)

    def moving(self, period: int) -> dict[str, Place | None] | None:
        """Where rows have the members in a period whose items have changed within `grace`; None if the time was over.

        For these members list, row and index may disagree for a moment.
        """
        places: dict[str, Place | None] = {}
        for images in self._recent():
            names = [image.member for image in images]
            rows = self._call.clock.retry(self._call.store.rolling.steps, self._rankings, names)
            found = {name: rows[name].steps if name in rows else NO_STEPS for name in names}
            places |= {name: steps.place(period) for name, steps in found.items() if steps is not None}
            if self._call.clock.monotonic() >= self._call.deadline:
                return None
        return places

    def _recent(self) -> Iterator[list[Image]]:
        """The members of the board whose items have changed within `grace`, a part at a time."""
        for slot in range(SLOTS):
            page: list[Image | DamagedItem] = []
            while not page or len(page) == PAGE_SIZE:
                after = page[-1].member if page else None
                page = self._call.clock.retry(self._call.store.members, self._rankings.board, slot, after, PAGE_SIZE)
                yield [image for image in page if isinstance(image, Image) and self._call.is_recent(image)]
                if not page:
                    break

    def _compare(self, name: str, blocks: Sequence[Block], *, surplus: bool = False) -> None:
        """Compare a member's row and list items at one moment, and report differences. `surplus`: only the items."""
        call = self._call
        for start in range(0, max(1, len(blocks)), MAX_ITEMS):
            some = blocks[start : start + MAX_ITEMS]
            moment = call.at_one_moment(partial(call.store.rolling.member_snapshot, self._rankings, name, some))
            if moment is None:
                continue
            image, row, items = moment
            member = self._member(name, image, row)
            if start == 0 and not surplus:
                self._report(member, member.of_row(call))
            for block in some:
                if not surplus or image is None or block not in member.blocks:
                    self._report(member, member.of_item(call, block, items.get(block)))

    def _report(self, member: MemberSteps, finding: Finding | None) -> None:
        if finding is not None:
            image, row = member.image, member.row
            self._call.add(
                finding.kind,
                ranking=finding.ranking,
                member=member.member,
                expected=finding.expected,
                found=finding.found,
                item_version=image.version if image is not None else None,
                row_version=row.version if row is not None else None,
            )

    def _member(self, name: str, image: Image | None, row: StoredSteps | None) -> MemberSteps:
        expected = steps_of(image, self._rankings, self._call.clock.now())
        return MemberSteps(self._rankings, name, image, row, expected, self._readable())

    def _readable(self) -> int:
        """The first period that can be read now."""
        now = self._call.clock.now()
        period = self._rankings.first_open(now)
        while now >= (self._coverage.readable_until(self._rankings.at(period)) or 0):
            period += 1
        return period


class RollingTierAudit(TierAudit):
    """The same of a rolling window's ranking, whose entries `steps` compares. A wrong log raises DamagedLog."""

    def __init__(self, call: AuditCall, ranking: Ranking, steps: StepAudit, after: str | None) -> None:
        super().__init__(call, ranking, partial(steps.surplus, ranking.period), after)
        self._steps = steps

    def _confirm(self) -> None:
        """Report the leaves that differ, unless members that changed lately explain it."""
        mismatches, self._mismatches = self._mismatches, []
        moving = self._steps.moving(self._ranking.period) if mismatches else None
        for each in mismatches:
            if moving is None:
                self._call.add(Kind.UNSETTLED)
            else:
                self._confirm_leaf(each, moving)

    def _confirm_leaf(self, mismatch: _Mismatch, moving: Mapping[str, Place | None]) -> None:
        """Report a leaf that still differs if the members that changed lately are counted where their rows are."""
        listed: Counter[int] = Counter()
        paths = [path(place.sort_value) for place in moving.values() if place is not None]
        rows = Counter(way[-1] for way in paths if way[:-1] == mismatch.leaf)
        for member, digit in self._entries.within(mismatch.leaf, self._root.shards):
            listed[digit] += 1
            rows[digit] += member not in moving
        now = self._call.consistent(lambda: self._tree.snapshot(self._ranking, mismatch.leaf))
        for digit, (counted, there) in mismatch.digits.items():
            if now is None or (now.counters.get(digit, 0), listed[digit]) != (counted, there):
                self._call.add(Kind.UNSETTLED)
            elif rows[digit] == counted:
                self._call.add(Kind.BEHIND)
            else:
                self._report(mismatch.leaf, digit, counted, rows[digit])
