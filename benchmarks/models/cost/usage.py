"""What one event uses, from a board's settings: units of DynamoDB, transactions, and stored bytes.

This is a model; it writes nothing. The product's own builders make the items, so their sizes are real. The tiers and
transactions of a batch come from randomly drawn members (`drawn_batches`). All the rest is arithmetic with DynamoDB's
rules. `benchmarks/models/grid.py` counts the same over the real requests.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import exp
from typing import Final

from benchmarks.harness import population
from benchmarks.harness.capacity_units import TRANSACTIONAL, read, written
from benchmarks.models.assumed import PER_ITEM
from benchmarks.models.cost.drawn_batches import DrawnBatches, move_of, since
from benchmarks.models.cost.drawn_windows import DrawnWindow
from benchmarks.models.cost.load_inputs import Settings, Traffic
from standings.aws.dynamodb.rankings.rankings import entry_action
from standings.aws.dynamodb.rankings.rolling_items import EXPIRY_MARGIN, list_item, row_item
from standings.aws.dynamodb.scores.member_items import encode_image
from standings.aws.dynamodb.scores.scores import RECEIPT_LIFETIME
from standings.domain.boards.definitions import Family, Metric, Ranking
from standings.domain.members.counting import REMOVAL_MARGIN
from standings.domain.members.member_item import Image
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.scoring.sort_order import Place, sort_value
from standings.domain.scoring.sort_order import encode_sortable as sort_text
from standings.domain.windows.calendar import DAY, HOUR, SECOND
from standings.domain.windows.window import Window
from standings.ports.rolling import ListItem, RollingRow, RowChange
from tests.support.dynamodb.items import item_size

LENGTH: Final = {"h": HOUR, "d": DAY, "w": 7 * DAY, "m": 30 * DAY, "y": 365 * DAY}


@dataclass(frozen=True, slots=True)
class Usage:
    """Units, records, moves and transactions of an event, from the writer to the index."""

    receipts: float
    scores: float
    entries: float
    tiers: float
    index: float
    read_units: float
    records: float
    moves: float
    writer_transactions: float
    projector_transactions: float
    longest: float
    """Consecutive transactions in the ranking with the most of them, divided by the events of the batch."""
    single_writes: float
    """Writes outside transactions: list items of rolling windows."""

    @property
    def write_units(self) -> float:
        """The sum of all write units."""
        return self.receipts + self.scores + self.entries + self.tiers + self.index


@dataclass(frozen=True, slots=True)
class Storage:
    """Stored bytes, with the bytes that DynamoDB adds to each item."""

    member: float
    """Bytes of a member's item in Scores."""
    entries: float
    """Bytes of a member's entries, and of their rows in the index."""
    receipts: float
    """Byte-days of an event's receipt."""


@lru_cache(maxsize=256)
def usage(settings: Settings, traffic: Traffic, seed: int = 1, days: range | None = None) -> Usage:
    """Return the average usage of one event, on some days (0: that of `NOW`); by default on all days of a slab."""
    family = settings.family
    distinct = _distinct(traffic) / traffic.batch
    metric = family.metrics["points"]
    image = _image(family, traffic)
    seen = family.has_buckets or not family.adds_up
    receipts = TRANSACTIONAL * written(_receipt_size())
    scores = TRANSACTIONAL * written(item_size(encode_image(image))) * distinct
    reads = read(item_size(encode_image(image)), consistent=False) * distinct if seen else 0.0
    drawn = DrawnBatches(metric, settings.metrics, traffic, seed)
    entries = tiers = index = moves = transactions = longest = single = 0.0
    for window in metric.windows:
        if window.rolling:
            used = DrawnWindow(metric, window, traffic, seed, days).of(drawn)
            moves += used.shifts
            entries += used.rows + used.items
            single += used.items
            index += used.index
            tiers += used.logs + used.nodes
            reads += used.reads
            transactions += used.transactions
            longest = max(longest, used.transactions)
            continue
        ranking, first = _ranking(metric, window), _first(traffic, window)
        batch = drawn.of(ranking, first)
        entry = entry_action("", ranking, batch.example, 1)["Put"]["Item"]
        moves += batch.moves
        entries += batch.moves * TRANSACTIONAL * written(item_size(entry))
        index += batch.moves * (2 - first) * written(item_size(entry))
        tiers += batch.nodes * TRANSACTIONAL + batch.removal
        reads += batch.reads
        transactions += batch.transactions
        longest = max(longest, batch.transactions)
    return Usage(
        receipts,
        scores,
        settings.metrics * entries,
        settings.metrics * tiers,
        settings.metrics * index,
        reads,
        drawn.changed,
        settings.metrics * moves,
        (1 + distinct) / 100,
        settings.metrics * transactions,
        longest,
        settings.metrics * single,
    )


def storage(settings: Settings, traffic: Traffic) -> Storage:
    """Return the bytes that a board's members and events leave in the tables."""
    family = settings.family
    image = _image(family, traffic)
    metric = family.metrics["points"]
    entries = 0.0
    for window in metric.windows:
        if window.rolling:
            entries += settings.metrics * _rolling_bytes(metric, window, traffic)
            continue
        ranking = _ranking(metric, window)
        place = Place(sort_value(round(traffic.median), descending=True), since(metric))
        entry = entry_action("", ranking, move_of(ranking, None, place), 1)["Put"]["Item"]
        entries += settings.metrics * _kept(metric, window, traffic) * 2 * (item_size(entry) + PER_ITEM)
    days = RECEIPT_LIFETIME / DAY
    return Storage(item_size(encode_image(image)) + PER_ITEM, entries, days * (_receipt_size() + PER_ITEM))


def _distinct(traffic: Traffic) -> float:
    """Return the expected number of different members of a batch."""
    if traffic.active is None:
        return traffic.batch
    return traffic.active * (1 - (1 - 1 / traffic.active) ** traffic.batch)


def _first(traffic: Traffic, window: Window) -> float:
    """Return the share of events that are their member's first in the period of a calendar window.

    Events come at random. With k events of a member per period, a share of (1 - e^-k) / k is first.
    """
    if traffic.fresh:
        return 1.0
    if traffic.daily is None or window.unit is None:
        return 0.0
    rate = traffic.daily * LENGTH[window.unit] / DAY
    return min(1.0, (1 - exp(-rate)) / rate) if rate else 1.0


def _ranking(metric: Metric, window: Window) -> Ranking:
    """Return the ranking of a window in which an event now moves its member."""
    return Ranking(population.BOARD, metric, window, metric.timetable.current(window, population.NOW))


def _rolling_bytes(metric: Metric, window: Window, traffic: Traffic) -> float:
    """Return the bytes of a member's row in a rolling window, and of its list items with their index entries."""
    rankings = RollingRankings(population.BOARD, metric, window)
    steps = DrawnWindow(metric, window, traffic, seed=1).steps(round(traffic.median), population.NOW - EXPIRY_MARGIN)
    name = population.member(0)
    row = row_item(rankings, RowChange(name, RollingRow(1, steps), population.NOW, None))
    items = [list_item(rankings, ListItem(name, step.first, step, 1, population.NOW)) for step in steps.steps]
    return item_size(row) + PER_ITEM + sum(2 * (item_size(item) + PER_ITEM) for item in items)


def _receipt_size() -> int:
    """Return the bytes of a receipt: an id of 26 bytes, a digest of 12, an expiry."""
    expiry = {"N": str(population.NOW // SECOND)}
    return item_size({"pk": {"S": "e" * 26}, "d": {"B": b"d" * 12}, "e": expiry})


def _image(family: Family, traffic: Traffic) -> Image:
    """Return a member's item, with an accumulator for each active bucket that is not removed yet."""
    values: dict[str, int] = {}
    marks: dict[str, str] = {}
    for metric in family.metrics.values():
        names = [metric.total()]
        for unit in metric.bucket_codes:
            now = metric.timetable.index(unit, population.NOW)
            removed = now
            while metric.expires(unit, removed) + REMOVAL_MARGIN > population.NOW:
                removed -= 1
            rate = (traffic.daily or 0.0) * LENGTH[unit] / DAY
            active = 1 if traffic.daily is None else max(1, round((now - removed) * (1 - exp(-rate))))
            names += [metric.bucket(unit, now - before) for before in range(active)]
        values.update(dict.fromkeys(names, round(traffic.median)))
        if metric.has_tie_keys:
            mark = sort_text(population.NOW) + ("e" * 26 if metric.aggregate == "last" else "")
            marks.update(dict.fromkeys(names, mark))
    now, total = population.NOW, sum(values.values())
    return Image(population.BOARD, population.member(0), now, now, total, hidden=False, values=values, tie_keys=marks)


def _kept(metric: Metric, window: Window, traffic: Traffic) -> float:
    """Return the expected number of a member's entries in a calendar window: of open and not yet removed periods."""
    if window.unit is None:
        return 1.0
    first = last = metric.timetable.current(window, population.NOW)
    while True:
        until = metric.timetable.readable_until(window, first - 1)
        if until is None or until + EXPIRY_MARGIN <= population.NOW:
            break
        first -= 1
    rate = (traffic.daily or 1.0) * LENGTH[window.unit] / DAY
    return (last - first + 1) * (1 - exp(-rate))
