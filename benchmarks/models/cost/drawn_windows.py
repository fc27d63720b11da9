"""Rolling windows: what the shifts of randomly drawn members write, by the product's own rules."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import exp
from random import Random
from typing import Final

from benchmarks.harness import population
from benchmarks.harness.capacity_units import TRANSACTIONAL, read, written
from benchmarks.models.cost.drawn_batches import DrawnBatches
from benchmarks.models.cost.load_inputs import Traffic
from standings.aws.dynamodb.rankings.rolling_items import list_item, row_item
from standings.aws.dynamodb.rankings.rolling_windows import LONG
from standings.domain.boards.definitions import Metric
from standings.domain.members.member_item import Image
from standings.domain.rolling.count_log import Entry, encode_entry, fold_deltas
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.rolling.shifts import Shift
from standings.domain.rolling.steps import CountChange, Steps, steps_of
from standings.domain.scoring.sort_order import encode_sortable
from standings.domain.windows.calendar import DAY, HOUR
from standings.domain.windows.window import Window
from standings.ports.rankings import MAX_ACTIONS
from standings.ports.rolling import ListItem, RollingRow, RowChange
from standings.project.shift_members import MAX_ENTRY, ROOM
from tests.support.dynamodb.items import item_size

EMPTY_LOG: Final = 80  # Bytes of a log without entries
LOG_ENTRY: Final = 4  # Bytes that a list adds to each entry
ALL_PERIODS: Final = range(10**6)
BEFORE: Final = 30  # Buckets before the window whose steps may still be there


@dataclass(slots=True)
class WindowUse:
    """What the shifts of some events use: write units by kind, read units, rows and transactions."""

    rows: float = 0.0
    items: float = 0.0
    index: float = 0.0
    logs: float = 0.0
    nodes: float = 0.0
    reads: float = 0.0
    shifts: float = 0.0
    transactions: float = 0.0


@dataclass(slots=True)
class _Log:
    bytes: int = 0
    entries: list[Entry] = field(default_factory=list)


class DrawnWindow:
    """Randomly drawn members with a history of buckets in one rolling window."""

    def __init__(self, metric: Metric, window: Window, traffic: Traffic, seed: int, days: range | None = None) -> None:
        self._rankings = RollingRankings(population.BOARD, metric, window)
        self._traffic = traffic
        self._rng = Random(seed)
        # How many steps an event changes depends on how far its slab is: days of a slab, or hours, take turns.
        self._days = days or range(len(window.slab_of(0)))
        self._now = population.NOW
        self._used = WindowUse()
        self._log = _Log()

    def of(self, drawn: DrawnBatches) -> WindowUse:
        """Return what an event uses, averaged over the drawn batches."""
        for turn, batch in enumerate(drawn.batches):
            length = HOUR if self._rankings.unit == "h" else DAY
            self._now = population.NOW + self._days[turn % len(self._days)] * length
            shifts = [self._shift(number, old, new) for number, (old, new) in batch.items()]
            for group in _groups([(shift, shift.count_changes(shift.passed[0])) for shift in shifts]):
                self._commit(group)
            if self._log.bytes > ROOM:
                self._fold()
        self._fold()
        events = len(drawn.batches) * self._traffic.batch
        used = self._used
        return WindowUse(*(getattr(used, name) / events for name in WindowUse.__slots__))

    def steps(self, score: int, now: int = population.NOW) -> Steps:
        """Return the steps of a member that has come to a score in the buckets before."""
        return steps_of(self._image(0, self._history(score)), self._rankings, now)

    def _history(self, score: int) -> dict[int, int]:
        """Return the amounts of a member's active buckets; the present one is among them."""
        unit = self._rankings.unit
        now = self._rankings.metric.timetable.index(unit, self._now)
        if self._traffic.daily is None:
            return {now: score}
        active = 1 - exp(-self._traffic.daily * (HOUR if unit == "h" else DAY) / DAY)
        earlier = range(now - self._rankings.window.size - BEFORE, now)
        buckets = [bucket for bucket in earlier if self._rng.random() < active]
        if self._rng.random() < active:
            buckets.append(now)
        return dict.fromkeys(buckets, max(1, score // max(1, len(buckets))))

    def _image(self, number: int, amounts: dict[int, int]) -> Image:
        metric, unit = self._rankings.metric, self._rankings.unit
        values = {metric.bucket(unit, bucket): amount for bucket, amount in amounts.items()}
        marks = dict.fromkeys(values, encode_sortable(population.NOW)) if metric.has_tie_keys else {}
        name = population.member(number)
        return Image(population.BOARD, name, 2, self._now, 0, hidden=False, values=values, tie_keys=marks)

    def _shift(self, number: int, old: int, new: int) -> Shift:
        amounts = {} if self._traffic.fresh else self._history(old)
        unit = self._rankings.unit
        today = self._rankings.metric.timetable.index(unit, self._now)
        before = steps_of(self._image(number, amounts), self._rankings, self._now)
        after = self._image(number, {**amounts, today: amounts.get(today, 0) + new - old})
        steps = steps_of(after, self._rankings, self._now)
        return Shift(self._rankings, after.member, (before,), steps, 3, self._now)

    def _commit(self, group: Sequence[tuple[Shift, list[CountChange]]]) -> None:
        used, log = self._used, self._log
        entry = Entry(self._now, [change for _, changes in group for change in changes])
        size = len(encode_entry(entry))
        if log.bytes + size > LONG:
            self._fold()
        log.bytes += size + LOG_ENTRY
        log.entries.append(entry)
        used.logs += TRANSACTIONAL * written(EMPTY_LOG + log.bytes)
        used.reads += read(EMPTY_LOG + log.bytes, consistent=True)
        used.transactions += 1
        used.shifts += len(group)
        for shift, _ in group:
            row = RowChange(shift.member, RollingRow(shift.version, shift.steps), shift.written_at_ms, 2)
            size = item_size(row_item(self._rankings, row))
            used.rows += TRANSACTIONAL * written(size)
            used.reads += read(size, consistent=True)
            self._list(shift)

    def _list(self, shift: Shift) -> None:
        before, after = shift.passed[0].by_first(0), shift.steps.by_first(0)
        for first in shift.firsts(shift.passed[0]):
            new, old = after.get(first), before.get(first)
            item = list_item(self._rankings, ListItem(shift.member, first, new, shift.version, shift.written_at_ms))
            units = written(item_size(item))
            self._used.items += units
            moved = old is not None and new is not None and old.place != new.place
            self._used.index += units * (2 if moved else 1)

    def _fold(self) -> None:
        if self._log.entries:
            self._used.nodes += len(fold_deltas(self._log.entries, ALL_PERIODS))
            self._used.logs += written(EMPTY_LOG + self._log.bytes)
            self._used.reads += read(EMPTY_LOG + self._log.bytes, consistent=True)
            self._log = _Log()


def _groups(
    shifts: Sequence[tuple[Shift, list[CountChange]]],
) -> Iterator[list[tuple[Shift, list[CountChange]]]]:
    """Yield shifts that go into one transaction with the log."""
    group: list[tuple[Shift, list[CountChange]]] = []
    size = 0
    for shift, changes in shifts:
        size += len(encode_entry(Entry(0, changes)))
        if group and (len(group) == MAX_ACTIONS - 1 or size > MAX_ENTRY):
            yield group
            group, size = [], len(encode_entry(Entry(0, changes)))
        group.append((shift, changes))
    if group:
        yield group
