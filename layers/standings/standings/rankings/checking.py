r"""Compares the rankings of a board with members' items while events flow, and names each kind of difference.

Three things must agree, and each edge is a check:

                       Scores
          1. members  /      \  3. surplus
                     /        \
                  rows ------ entries of the sorted index ------ tree
                       (an entry is a row's)           2. tiers

1. Each member's item is compared with its row in each ranking; in a rolling window also with its items in the lists,
   which are the entries there.
2. The tree and the entries are walked side by side (`TreeCheck`): a leaf's counter is the number of entries with its
   score, another node's counter is the sum of the child's counters.
3. Each entry that this walk passes must lead back to a member whose item is part of the ranking.

Each check reads cheaply, at different moments, and reads what differs again at one moment, in a read transaction
(`Findings.check`). At one moment every legal change is either complete or absent, so what still differs is a
difference. Three cases need time:

- A row waits for the stream. For up to `grace` after its item's last change it is `behind`.
- An item of a rolling window's list is written before the row. It may be newer for up to `grace`.
- The sorted index lags behind its table. A leaf's entries are counted between two equal snapshots that are `SETTLING`
  seconds apart. A leaf that never rests for so long is `unsettled`.

So there are no false alarms, as long as the stream lags less than `grace` and the index less than `SETTLING`. A
difference may be missed while events flow, if moves between two cheap reads of a leaf make up for its wrong counter.
The next audit finds it. Nothing leads to the row of a member that has neither an item nor a place, and nothing to a
node that no counter and no entry reaches: these are not found.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Final

from standings.domain.boards import Family, Ranking
from standings.domain.coverage import Coverage
from standings.domain.members import Image, open_rankings, readable_rankings
from standings.domain.scoring import Place, behind
from standings.domain.tiers import ROOT, Counters, Path, is_leaf, path, span
from standings.rankings.calendar.checking import CalendarChecks, CalendarTree
from standings.rankings.findings import AuditReads, Difference, Findings, Kind, Listed, Snapshot, Tree
from standings.rankings.rolling.checking import DamagedLog, RollingChecks, RollingTree
from standings.rankings.rolling.steps import rolling_of, rolling_windows

SETTLING: Final = 10.0  # Seconds after which the sorted index shows what its table has: usually well under one
ROUNDS: Final = 4  # How often a leaf is read that does not come to rest, `SETTLING` seconds apart
RECHECK_S: Final = ROUNDS * SETTLING  # Seconds that leaves in doubt may take: what is begun with less stays undone
MAX_DOUBTS: Final = 64  # Leaves that wait together to be read again
MAX_PASSED: Final = 100  # Entries that are compared together


@dataclass(frozen=True)
class RankingChecks:
    """Checks the rankings of a board in one generation, which is complete for `coverage`.

    Rankings that can no longer be read are skipped, and windows that the board does not rank (a period that lacks
    events is compared: it holds what members' items say). With `only`, one ranking of a calendar window (named with
    generation 0, read in `generation`), the others are skipped too. `seen` is called with each member's image and each
    calendar ranking that it is part of.
    """

    findings: Findings
    family: Family
    generation: int
    coverage: Coverage
    only: Ranking | None = None
    seen: Callable[[Image, Ranking], None] | None = None
    _unreadable: set[str] = field(default_factory=set)
    """Rolling windows with a log that cannot be read."""

    def members(self, images: Sequence[Image]) -> None:
        """Compare members' items with their rows, and in rolling windows with their list items."""
        CalendarChecks(self.findings, self._ranked).members(images, self.seen)
        for rankings in rolling_windows(self.family, self.findings.board) if self.only is None else ():
            if self.coverage.ranks(rankings.at(0)):
                window = rankings._replace(generation=self.generation)
                RollingChecks(self.findings, window, self.coverage).members(images)

    def rankings(self, first: str) -> Iterator[Ranking]:
        """The rankings to check, in order, from the one with the code `first` on."""
        rankings = self._checked(open_rankings(self.family, self.findings.board, self.findings.clock.now()))
        for ranking in sorted(rankings, key=attrgetter("ranking_code")):
            if ranking.ranking_code >= first and rolling_of(ranking).key not in self._unreadable:
                yield ranking

    def tree(self, ranking: Ranking, after: str | None) -> str | None:
        """Compare a ranking's tree with its entries, and these with Scores, from behind the leaf `after` on.

        Returns the last leaf that was compared, such as `3e7d`, if the call was over; None when all are.
        """
        self.findings.looked_at["rankings"] += after is None
        try:
            tree = tree_of(self.findings.reads, ranking)
            if not ranking.window.rolling:
                calendar = CalendarChecks(self.findings, self._ranked)
                return TreeCheck(self.findings, tree, partial(calendar.surplus, ranking)).run(after)
            rolling, period = RollingChecks(self.findings, rolling_of(ranking), self.coverage), ranking.period
            surplus, moving = partial(rolling.surplus, period), partial(rolling.moving, period)
            return TreeCheck(self.findings, tree, surplus, moving).run(after)
        except DamagedLog as damage:
            window, (log, why) = rolling_of(ranking).key, damage.args
            self._unreadable.add(window)
            self.findings.add(Kind.LOG, ranking=window, log=log, found=why)
            return None

    def _ranked(self, image: Image) -> Iterator[Ranking]:
        """The calendar rankings that an item is part of, hidden or not."""
        return self._checked(readable_rankings(self.family, image, self.findings.clock.now()))

    def _checked(self, rankings: Iterable[Ranking]) -> Iterator[Ranking]:
        """The rankings that are checked, each once: those that can be read now and are complete."""
        now = self.findings.clock.now()
        for ranking in dict.fromkeys(rankings):
            until = self.coverage.readable_until(ranking)
            is_asked = self.only is None or ranking == self.only
            if is_asked and self.coverage.ranks(ranking) and (until is None or now < until):
                yield ranking._replace(generation=self.generation)


def tree_of(reads: AuditReads, ranking: Ranking) -> Tree:
    """A ranking's tree and entries, with the number of shards as it is now. May raise StoreUnavailableError."""
    return RollingTree(reads, ranking) if ranking.window.rolling else CalendarTree(reads, ranking)


@dataclass(slots=True)
class TreeCheck:
    """Compares the tiers of one ranking with its entries, and passes all entries to `surplus`, some at a time.

    - A leaf's counter is compared with the entries that have its score. The index lags behind its table, so a leaf
      that differs is read again until it rests (`_recheck_doubts`).
    - Another node's counter is compared with the sum of the child's counters.

    The walk visits every counter, also those that are 0, and the leaf of every entry, also where no counter leads to
    it. Where entries are written before the counters, `moving` returns the places in rows of the members that changed
    lately; None if the time was over.
    """

    findings: Findings
    tree: Tree
    surplus: Callable[[Sequence[Listed]], None]
    moving: Callable[[], Mapping[str, Place | None] | None] | None = None
    _passed: list[Listed] = field(default_factory=list)
    _doubts: list[Path] = field(default_factory=list)
    _start: Path = ROOT
    _paths: Iterator[Path] = field(init=False)
    _next: Path | None = None

    def run(self, after: str | None) -> str | None:
        """Compare the tiers whose leaves follow the leaf `after`, such as `3e7d` (None: all of them).

        Returns the last leaf that was compared if the call was over, None when the ranking is done.
        """
        beyond = " "  # No sort key begins with a space
        if after is not None:
            self._start = tuple(bytes.fromhex(after))
            beyond = behind(span(self._start)[1])
        self._paths = self._entry_paths(beyond)
        self._next = next(self._paths, None)
        for leaf in self._node(ROOT, self._nodes([ROOT]).get(ROOT, {})):
            is_over = self.findings.is_over(RECHECK_S)
            if is_over or len(self._doubts) >= MAX_DOUBTS:
                self._recheck_doubts()
            if is_over:
                return bytes(leaf).hex()
        self._recheck_doubts()
        return None

    def _node(self, node: Path, counters: Counters) -> Iterator[Path]:
        """Compare a node with its children, and those with theirs; yield each leaf once it was compared."""
        left = [
            child for digit in sorted(counters) if (child := (*node, digit)) > self._start or self._has_begun(child)
        ]
        ahead, children = [child[-1] for child in left], self._nodes(left)
        while True:
            digit = min([*ahead[:1], *self._digit_of_next(node)], default=None)
            if digit is None:
                return
            ahead = [other for other in ahead if other > digit]
            child = (*node, digit)
            if child not in children:
                children |= self._nodes([child])
            below = children.get(child, {})
            if not self._has_begun(child):
                pair = counters.get(digit, 0), sum(below.values())
                self.findings.check(pair, partial(self._pair, node, digit), partial(self._differences, node, digit))
            if is_leaf(child, self.tree.ranking.metric.components):
                self._leaf(child, below)
                yield child
            else:
                yield from self._node(child, below)

    def _has_begun(self, child: Path) -> bool:
        """Whether an earlier call stopped below this node: it has compared the node's counter already."""
        return len(child) < len(self._start) and self._start[: len(child)] == child

    def _digit_of_next(self, node: Path) -> list[int]:
        """The child of a node that holds the next entry; empty if that is below another node."""
        entry = self._next
        return [entry[len(node)]] if entry is not None and entry[: len(node)] == node else []

    def _pair(self, node: Path, digit: int) -> tuple[int, int]:
        above, below = self.tree.at_once(node, (*node, digit))
        return above.counters.get(digit, 0), sum(below.counters.values())

    def _differences(self, node: Path, digit: int, pair: tuple[int, int]) -> Iterator[Difference]:
        """The difference between a counter and what it counts, if there is one."""
        counted, there = pair
        if counted != there:
            where = {"ranking": self.tree.ranking.key, "node": bytes(node).hex(), "digit": digit}
            yield Kind.COUNTER, {**where, "counted": counted, "there": there}

    def _leaf(self, leaf: Path, counters: Counters) -> None:
        """Pass the entries of a leaf. The leaf is in doubt if they are not as many as its counters say."""
        entries: Counter[int] = Counter()
        while self._next is not None and self._next[:-1] <= leaf:
            entries[self._next[-1]] += 1
            self._next = next(self._paths, None)
        if _different(counters, entries):
            self._doubts.append(leaf)

    def _recheck_doubts(self) -> None:
        """Read the leaves in doubt until each counts its entries, or rests and is reported; compare what was passed.

        A leaf rests between two equal snapshots that are `SETTLING` seconds apart: then the index has caught up.
        """
        clock = self.findings.clock
        doubts: dict[Path, Snapshot | None] = dict.fromkeys(self._doubts)
        resting: dict[Path, dict[int, tuple[int, int]]] = {}
        for round_ in range(ROUNDS):
            if round_:
                if not doubts or clock.after(SETTLING) >= self.findings.deadline:
                    break
                clock.sleep(SETTLING)
            for leaf, before in list(doubts.items()):
                shards = before.shards if before is not None else self.tree.shards
                entries = Counter(digit for _, digit in self.tree.within(leaf, shards))
                now = doubts[leaf] = self._snapshot(leaf)
                different = _different(now.counters, entries) if now is not None else {}
                if now is not None and (not different or now == before):
                    del doubts[leaf]
                    if different:
                        resting[leaf] = different
        for _ in doubts:
            self.findings.add(Kind.UNSETTLED)
        self._doubts = []
        self._report(resting)
        self._compare_passed()

    def _report(self, leaves: Mapping[Path, Mapping[int, tuple[int, int]]]) -> None:
        """Report leaves that differ though they rest, unless members that moved lately explain it."""
        moving = self.moving() if leaves and self.moving is not None else None
        for leaf, pairs in leaves.items():
            if moving is not None:
                self._report_unless_moving(leaf, pairs, moving)
            elif self.moving is not None:
                self.findings.add(Kind.UNSETTLED)
            else:
                for digit, pair in pairs.items():
                    self.findings.add_all(self._differences(leaf, digit, pair))

    def _report_unless_moving(
        self, leaf: Path, pairs: Mapping[int, tuple[int, int]], moving: Mapping[str, Place | None]
    ) -> None:
        """Report a leaf that still differs if the members that changed lately are counted where their rows are."""
        listed: Counter[int] = Counter()
        paths = [path(place.values) for place in moving.values() if place is not None]
        rows = Counter(way[-1] for way in paths if way[:-1] == leaf)
        for member, digit in self.tree.within(leaf, self.tree.shards):
            listed[digit] += 1
            rows[digit] += member not in moving
        now = self._snapshot(leaf)
        for digit, (counted, there) in pairs.items():
            if now is None or (now.counters.get(digit, 0), listed[digit]) != (counted, there):
                self.findings.add(Kind.UNSETTLED)
            elif rows[digit] == counted:
                self.findings.add(Kind.BEHIND)
            else:
                self.findings.add_all(self._differences(leaf, digit, (counted, rows[digit])))

    def _snapshot(self, leaf: Path) -> "Snapshot | None":
        found = self.findings.at_one_moment(partial(self.tree.at_once, leaf))
        return found[0] if found is not None else None

    def _nodes(self, paths: Sequence[Path]) -> dict[Path, Counters]:
        nodes = self.tree.nodes(paths)
        self.findings.looked_at["nodes"] += len(nodes)
        return nodes

    def _entry_paths(self, beyond: str) -> Iterator[Path]:
        """The paths of the entries that follow a key. Entries that were passed are handed over."""
        for entry in self.tree.following(beyond):
            if entry.place is not None:
                yield path(entry.place.values)
            self.findings.looked_at["entries"] += 1
            self._passed.append(entry)
            if len(self._passed) >= MAX_PASSED:
                self._compare_passed()

    def _compare_passed(self) -> None:
        self.surplus(self._passed)
        self._passed = []


def _different(counters: Counters, entries: Counter[int]) -> dict[int, tuple[int, int]]:
    """The digits whose counters are not the number of entries, with both."""
    digits = sorted(counters.keys() | entries.keys())
    pairs = {digit: (counters.get(digit, 0), entries[digit]) for digit in digits}
    return {digit: pair for digit, pair in pairs.items() if pair[0] != pair[1]}
