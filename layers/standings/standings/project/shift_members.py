"""Shifts members in a rolling window: list items first, then rows and log in transactions, then the log into tiers."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from standings.domain.rolling.count_log import LogEntry, encode_entry
from standings.domain.rolling.shifts import Shift
from standings.domain.rolling.steps import Steps
from standings.ports.errors import CancelReason, StoreRefusedError, StoreUnavailableError
from standings.ports.rankings import MAX_ACTIONS
from standings.ports.rolling import ListItem, RollingRow, RollingWindows, RowChange
from standings.project.outcome import AT_ONCE, Outcome
from standings.runtime.retry import Backoff

MAX_ENTRY: Final = 8 * 1024  # Bytes of a log's entry that a transaction stays below, unless it has one row alone
ROOM: Final = 3 * 1024  # Bytes of a log that wait for more changes: readers read a log of 4 KB for one unit


def shift_in_window(
    windows: RollingWindows, shifts: Sequence[Shift], backoff: Backoff, stopped: Callable[[], bool]
) -> Outcome:
    """Commit the shifts of one window until stopped or too late. Jobs for other rankings may run in parallel."""
    outcome = Outcome()
    most = MAX_ACTIONS - 1  # One action is the log's
    groups = deque(list(shifts[start : start + most]) for start in range(0, len(shifts), most))
    fruitless = 0
    while groups and outcome.failure is None:
        if stopped() or backoff.expired:
            outcome.failure = "the function ran out of time"
            break
        group = groups.popleft()
        try:
            left, why = _shift(windows, group, outcome)
        except StoreUnavailableError as error:
            groups.appendleft(group)
            if not backoff.wait(error.wait):
                outcome.failure = str(error)
            continue
        except StoreRefusedError as error:
            if middle := len(group) // 2:
                groups.extendleft((group[middle:], group[:middle]))
            else:
                outcome.refused.append((group[0], str(error)))
            continue
        if left:
            groups.appendleft(left)
        fruitless = fruitless + 1 if why else 0
        if why and fruitless > AT_ONCE and not backoff.wait():
            outcome.failure = why
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
            # The row is the newest state. An attempt that died may have left items of an older one all the same.
            items += _items(replace(shift, steps=row.steps, version=row.version), row.steps) if shift.thorough else ()
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
    """Fold the log, so that readers need not read a long one. What is committed is counted all the same."""
    while True:
        try:
            windows.fold(shift.ranking, ROOM)
        except StoreUnavailableError as error:
            if backoff.wait(error.wait):
                continue
            outcome.failure = str(error)
        except StoreRefusedError as error:
            # The batch is counted all the same. The audit names a damaged log.
            outcome.problem = f"the log of {shift.ranking.key} cannot be folded: {error}"
        return
