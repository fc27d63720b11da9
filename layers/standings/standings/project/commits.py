"""Commits moves and shifts to one ranking or window, and removes tiers that became empty.

A cancelled transaction is corrected, tried again later, or refused.
"""

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import call
from typing import Any, Final, NamedTuple, TypeVar

from standings.aws.dynamodb.ranking_reads import Trees
from standings.aws.dynamodb.rankings import Rankings
from standings.aws.dynamodb.rolling import RollingWindows
from standings.domain import tiers
from standings.domain.boards import Ranking
from standings.domain.members import Image, Move, place
from standings.domain.rolling import LogEntry, Shift, Steps, encode_entry
from standings.domain.tiers import ROOT, Path, path, prefixes
from standings.domain.windows import DAY
from standings.runtime.clock import OUT_OF_TIME, Backoff, Clock
from standings.stores import (
    MAX_ACTIONS,
    CancelReason,
    Lanes,
    ListItem,
    MoveConflict,
    RankingRow,
    Removal,
    RollingRow,
    RowChange,
    StoreRefusedError,
    StoreUnavailableError,
)

# The outcome of the moves or shifts in one ranking or window.

AT_ONCE: Final = 3  # How often moves are corrected and retried without waiting


@dataclass(slots=True)
class Outcome:
    """The result of the moves of one ranking, or the shifts of one window.

    `failure` is the reason why some are not done; None if all are. `problem` needs somebody to look. `tried` is the
    ranking if a commit was tried, also one that had nothing left to do. `prunes` are the checks for empty tiers.
    """

    done: list[Move | Shift] = field(default_factory=list)
    tried: Ranking | None = None
    prunes: list["PruneResult"] = field(default_factory=list)
    moves: int = 0
    stale_moves: int = 0
    gaps: int = 0
    conflicts: int = 0
    refused: list[tuple[Move | Shift, str]] = field(default_factory=list)
    failure: str | None = None
    problem: str | None = None


RunParallel = Callable[[Sequence[Callable[[], Outcome]]], Iterable[Outcome]]
one_by_one: Final[RunParallel] = partial(map, call)


# Works off the moves of a ranking, or the shifts of a window, in groups, until all are done or the time is over.

T = TypeVar("T", Move, Shift)


class _AttemptResult(NamedTuple):
    """The result of trying one group: what is left of it, in groups, and the first conflict, if any.

    `is_busy`: others use the items. `is_fruitless`: the next try may go like this one.
    """

    left: Sequence[Any] = ()
    conflict: str = ""
    is_busy: bool = False
    is_fruitless: bool = False


def _attempt_all(
    groups: "deque[list[T]]",
    attempt: Callable[[list[T]], _AttemptResult],
    backoff: Backoff,
    stopped: Callable[[], bool],
    outcome: Outcome,
) -> None:
    """Try each group. Halve a group that the store refuses, and retry one while the store is unavailable."""
    fruitless = 0
    why = OUT_OF_TIME
    while groups and outcome.failure is None:
        if stopped() or backoff.expired:
            outcome.failure = why
            break
        group = groups.popleft()
        try:
            tried = attempt(group)
        except StoreUnavailableError as error:
            groups.appendleft(group)
            why = str(error)
            if not backoff.wait(error.wait):
                outcome.failure = why
            continue
        except StoreRefusedError as error:
            if middle := len(group) // 2:
                groups.extendleft((group[middle:], group[:middle]))
            else:
                outcome.refused.append((group[0], str(error)))
            continue
        why = OUT_OF_TIME
        groups.extendleft(reversed(tried.left))
        fruitless = fruitless + 1 if tried.is_fruitless else 0
        if tried.conflict and (tried.is_busy or fruitless > AT_ONCE) and not backoff.wait():
            outcome.failure = tried.conflict


# Commits moves. If a transaction is cancelled: corrects the moves, waits, or refuses a move.

MAX_MOVES: Final = 5_000  # The most moves that are started before others are done: a few seconds of transactions


def move_in_ranking(
    rankings: Rankings,
    moves: Sequence[Move],
    backoff: Backoff,
    stopped: Callable[[], bool],
    pruning: "Pruning | None" = None,
) -> Outcome:
    """Commit the moves of one ranking until stopped or too late. Jobs for other rankings may run in parallel."""
    outcome = Outcome()

    def commit(chunk: list[Move]) -> _AttemptResult:
        outcome.tried = chunk[0].ranking
        conflicts = rankings.commit(chunk[0].ranking, chunk)
        if not conflicts:
            outcome.moves += len(chunk)
            outcome.done += chunk
            if pruning is not None and (pruned := pruning.prune_after(chunk)) is not None:
                outcome.prunes.append(pruned)
            return _AttemptResult()
        is_busy = any(conflict.reason is CancelReason.BUSY for conflict in conflicts)
        outcome.conflicts += is_busy
        left = _resolve(chunk, conflicts, outcome)
        # A corrected move succeeds at the next try, unless others keep moving its row.
        return _AttemptResult(
            list(chunks(left)), conflicts[0].message if left else "", is_busy, len(left) == len(chunk)
        )

    _attempt_all(deque(chunks(moves)), commit, backoff, stopped, outcome)
    return outcome


def _resolve(chunk: Sequence[Move], conflicts: Sequence[MoveConflict], outcome: Outcome) -> list[Move]:
    """Refuse, drop or correct the moves that conflicted. Return the moves to try again."""
    left = dict(enumerate(chunk))
    for conflict in conflicts:
        if conflict.reason is CancelReason.BUSY or conflict.position is None:
            continue
        move, row = chunk[conflict.position], conflict.found
        if conflict.reason is CancelReason.INVALID:
            del left[conflict.position]
            outcome.refused.append((move, conflict.message))
        elif row is not None and row.version >= move.version:
            del left[conflict.position]
            outcome.stale_moves += 1
            outcome.done.append(move)
        else:
            outcome.gaps += 1
            _start_from(move, row)
    return list(left.values())


def _start_from(move: Move, row: RankingRow | None) -> None:
    move.old = row.place if row is not None else None


def chunks(moves: Iterable[Move]) -> Iterator[list[Move]]:
    """Cut moves into chunks of one ranking, each small enough for one transaction with its tiers."""
    chunk: list[Move] = []
    tiers: set[Path] = set()
    for move in moves:
        nodes = _nodes(move)
        # If the ranking has shards and the moves count in another lane, the first lane's root may be written too.
        most = MAX_ACTIONS - (move.ranking.metric.shards > 1)
        if chunk and (chunk[0].ranking != move.ranking or len(chunk) + 1 + len(tiers | nodes) > most):
            yield chunk
            chunk, tiers = [], set()
        chunk.append(move)
        tiers |= nodes
    if chunk:
        yield chunk


def _nodes(move: Move) -> set[Path]:
    """The tree nodes that a move may write. With several shards the root, which names them, is always one."""
    nodes: set[Path] = {ROOT} if move.ranking.metric.shards > 1 else set()
    values = {each.sort_value if each is not None else None for each in (move.old, move.new)}
    if len(values) > 1:
        nodes.update(node for value in values if value is not None for node in prefixes(path(value)))
    return nodes


def placings(image: Image, rankings: Iterable[Ranking]) -> list[Move]:
    """The moves that bring a member to its place in each ranking, or out of it, wherever it is counted now.

    Rolling windows have shifts instead (`domain.rolling.placing_shifts`).
    """
    return [
        Move(ranking, image.member, None, place(image, ranking), image.version, image.written_at_ms)
        for ranking in rankings
    ]


# Shifts members in a rolling window: list items first, then rows and log in transactions, then the log into tiers.

MAX_ENTRY: Final = 8 * 1024  # Bytes of a log's entry that a transaction stays below, unless it has one row alone
ROOM: Final = 3 * 1024  # Bytes of a log that wait for more changes: readers read a log of 4 KB for one unit


def shift_in_window(
    windows: RollingWindows, shifts: Sequence[Shift], backoff: Backoff, stopped: Callable[[], bool]
) -> Outcome:
    """Commit the shifts of one window until stopped or too late. Jobs for other rankings may run in parallel."""
    outcome = Outcome()
    most = MAX_ACTIONS - 1  # One action is the log's
    groups = deque(list(shifts[start : start + most]) for start in range(0, len(shifts), most))

    def commit(group: list[Shift]) -> _AttemptResult:
        left, conflict = _shift(windows, group, outcome)
        return _AttemptResult([left] if left else [], conflict, is_fruitless=bool(conflict))

    _attempt_all(groups, commit, backoff, stopped, outcome)
    if outcome.moves and outcome.failure is None:
        _fold(windows, shifts[0], backoff, outcome)
    return outcome


def _shift(windows: RollingWindows, group: Sequence[Shift], outcome: Outcome) -> tuple[list[Shift], str]:
    """Commit as many shifts as fit into one entry. Returns those that are left, and why if there was a conflict."""
    rankings = group[0].ranking
    rows = windows.rows(rankings, [shift.member for shift in group])
    entry = LogEntry(0, [])
    changes: list[RowChange] = []
    items: list[ListItem] = []
    taken: list[Shift] = []
    size = 0
    left: list[Shift] = []
    for position, shift in enumerate(group):
        row = rows.get(shift.member)
        if isinstance(row, str):
            outcome.refused.append((shift, row))
            continue
        if row is not None and row.version >= shift.version:
            outcome.stale_moves += 1
            outcome.done.append(shift)
            # The row is the newest state. A failed attempt may still have left items of an older one.
            items += (
                _items(replace(shift, steps=row.steps, version=row.version), row.steps)
                if shift.rewrite_every_item
                else ()
            )
            continue
        seen = row.steps if row is not None else None
        counted = shift.count_changes(seen)
        size += len(encode_entry(LogEntry(0, counted)))
        if taken and size > MAX_ENTRY:
            left = list(group[position:])
            break
        taken.append(shift)
        entry = LogEntry(max(entry.written_at_ms, shift.written_at_ms), [*entry.changes, *counted])
        stored = RollingRow(shift.version, shift.stored(seen))
        changes.append(RowChange(shift.member, stored, shift.written_at_ms, row.version if row is not None else None))
        items += _items(shift, seen)
        outcome.gaps += _is_gap(shift, row)
    if items:
        windows.list(rankings, items)
    if not taken:
        return left, ""
    conflicts = windows.commit(rankings, changes, entry)
    if not conflicts:
        outcome.moves += len(taken)
        outcome.done += taken
        return left, ""
    outcome.conflicts += any(conflict.reason is CancelReason.BUSY for conflict in conflicts)
    invalid = {each.position: each.message for each in conflicts if each.reason is CancelReason.INVALID}
    outcome.refused += ((shift, invalid[at]) for at, shift in enumerate(taken) if at in invalid)
    return [*(shift for at, shift in enumerate(taken) if at not in invalid), *left], conflicts[0].message


def _items(shift: Shift, seen: Steps | None) -> Iterator[ListItem]:
    """The list items to write for a shift, if a row with these steps was read."""
    places = shift.steps.by_block(shift.ranking.window, shift.steps.low)
    for block in shift.blocks(seen):
        yield ListItem(shift.member, block, places.get(block), shift.version, shift.written_at_ms)


def _is_gap(shift: Shift, row: RollingRow | None) -> bool:
    """Whether the row is not where the first image says it should be."""
    if not shift.passed:
        return False
    window, low = shift.ranking.window, shift.steps.low
    found = row.steps.by_block(window, low) if row is not None else {}
    return found != shift.passed[0].by_block(window, low)


def _fold(windows: RollingWindows, shift: Shift, backoff: Backoff, outcome: Outcome) -> None:
    """Fold (compact) the log, so that readers need not read a long one. The commits count even if this fails."""
    while True:
        try:
            windows.fold(shift.ranking, ROOM)
        except StoreUnavailableError as error:
            if backoff.wait(error.wait):
                continue
            outcome.failure = str(error)
        except StoreRefusedError as error:
            # The batch counts nevertheless. The audit reports a damaged log.
            outcome.problem = f"the log of {shift.ranking.key} cannot be folded: {error}"
        return


# Removes empty nodes from tier trees: nodes that count no members any more.

CHANCE: Final = 1 / 16  # Probability that a move out of a leaf triggers a check of its path (docs/decisions/0009)
LOOKED_AT: Final = 4  # The most paths that are checked after one commit
READ_AT_ONCE: Final = 50  # The most nodes that are read on each level of a tree
WORTH: Final = 150 * DAY
"""Removing an empty node costs as much as keeping it this long: rankings that end sooner are left to their TTL."""


class PruneResult(NamedTuple):
    """How many nodes one check removed, or why it failed; `unexpected` if no later check will succeed either."""

    removed: int = 0
    reason: str | None = None
    unexpected: bool = False


@dataclass(slots=True)
class Pruning:
    """Keeps trees in proportion to their members.

    After some commits, chosen at random, it removes empty nodes on the paths that moves have left: in one transaction
    without a retry. It never fails. Tiers of rolling windows are left to their TTL: each holds its position in a log.
    """

    trees: Trees
    clock: Clock
    chance: float = CHANCE
    worth: int = WORTH

    def prune_after(self, moves: Sequence[Move]) -> PruneResult | None:
        """Check the paths that some moves of one ranking have left; None if no path was chosen."""
        ranking = moves[0].ranking
        until = ranking.kept_until
        if until is not None and until < self.clock.now() + self.worth:
            return None
        leaves = [leaf for move in moves if (leaf := _left_leaf(move)) and self.clock.random() < self.chance]
        return prune(self.trees, ranking, leaves[:LOOKED_AT]) if leaves else None


def _left_leaf(move: Move) -> Path | None:
    """The leaf that a member has left; None if it stayed in its leaf, or was in none."""
    if move.old is None:
        return None
    leaf = path(move.old.sort_value)[:-1]
    return leaf if move.new is None or path(move.new.sort_value)[:-1] != leaf else None


def prune(trees: Trees, ranking: Ranking, leaves: Sequence[Path]) -> PruneResult:
    """Remove empty nodes on and below the paths to some leaves, as many as fit in one transaction.

    Nodes and counters that are 0 over all lanes go on condition that they are still as they were read. A node goes
    together with the counter that leads to it, so that none is ever out of reach.
    """
    try:
        nodes = _read(trees, ranking, leaves)
        removable = _removable(nodes)
        parents = sorted({node[:-1] for node in removable} - set(removable))
        counters = [
            Removal(parent, [node[-1] for node in removable if node[:-1] == parent], nodes[parent])
            for parent in parents
        ]
        conflicts = trees.remove(ranking, {node: nodes[node] for node in removable}, counters)
    except (StoreRefusedError, StoreUnavailableError) as error:
        return PruneResult(reason=str(error), unexpected=isinstance(error, StoreRefusedError))
    if conflicts:
        return PruneResult(reason=conflicts[0].name)
    return PruneResult(removed=sum(1 for node in removable if nodes[node]))


def _read(trees: Trees, ranking: Ranking, leaves: Sequence[Path]) -> dict[Path, Lanes]:
    """Read the nodes on the paths to some leaves, and the nodes below them that counters of 0 lead to."""
    nodes: dict[Path, Lanes] = {}
    level = list(dict.fromkeys(node for leaf in leaves for node in prefixes(leaf)))
    while level:
        nodes |= {node: {} for node in level} | trees.lanes(ranking, level)
        empty = (
            (*node, digit)
            for node in level
            if not tiers.is_leaf(node)
            for digit, count in _sums(nodes[node]).items()
            if not count
        )
        level = [node for node in empty if node not in nodes][:READ_AT_ONCE]
    return nodes


def _removable(nodes: dict[Path, Lanes]) -> list[Path]:
    """The nodes to remove together, deepest first: they count no members, and nothing is left below them."""
    removable: list[Path] = []
    written: set[Path] = set()
    actions = 0
    for node in sorted(nodes, key=len, reverse=True):
        sums = _sums(nodes[node])
        if node == ROOT or any(sums.values()) or _is_counted(node, nodes[node[:-1]]):
            continue
        if _has_nodes_below(node, sums, removable):
            continue
        more = {node, node[:-1]} - written
        actions += sum(len(nodes[each]) for each in more)
        if actions > MAX_ACTIONS:
            break
        written |= more
        removable.append(node)
    return removable


def _is_counted(node: Path, parent: Lanes) -> bool:
    return bool(_sums(parent).get(node[-1]))


def _has_nodes_below(node: Path, digits: Iterable[int], removable: Container[Path]) -> bool:
    return not tiers.is_leaf(node) and any((*node, digit) not in removable for digit in digits)


def _sums(lanes: Lanes) -> dict[int, int]:
    return tiers.summed(lane.counters for lane in lanes.values())
