"""The billed amounts of the same load with other ways to rank members in DynamoDB.

Each stores a member's score in one item, without a transaction, and some also have a sorted index. None of them counts
a redelivered event only once, or ranks a rolling window. Queue, functions and API cost the same as ours; an index row
has the size of our entry.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from benchmarks.harness.capacity_units import READ_BYTES
from benchmarks.models import assumed
from benchmarks.models.cost.prices import Bill
from benchmarks.models.cost.spending import GIGABYTE, Load, of_event, of_read, used_by

ENTRY: Final = 70.0
"""Bytes of a row in a sorted index: the keys, and a member's id of 20 bytes."""

TOP: Final = 100
"""Lines of the list that each computation writes."""


def _event(load: Load) -> Bill:
    """Return the amounts of an event: its score, and its rows in the index of every window."""
    ours = of_event(load)
    windows = load.settings.metrics * len(load.settings.windows)
    return replace(ours, write_units=1 + 2 * windows, read_units=0.0, gigabyte_seconds=ours.gigabyte_seconds / 2)


def _stored(load: Load, *, indexed: bool) -> Bill:
    members = load.boards * load.traffic.members
    bytes_each = used_by(load).member_bytes + indexed * 2 * (ENTRY + assumed.PER_ITEM)
    return Bill(stored_gigabytes=members * bytes_each / GIGABYTE)


def _index_units(load: Load, share: float) -> float:
    """Return the read units of reading this share of a board's index."""
    return load.traffic.members * share * ENTRY / READ_BYTES / 2


def _month(load: Load, event: Bill, read_units: float, rest: Bill) -> Bill:
    events = event.times(load.events_per_second * assumed.MONTH)
    return events + of_read(read_units).times(load.reads_per_second * assumed.MONTH) + rest


def counted(load: Load) -> Bill:
    """Return a month in which a rank counts the entries ahead: half of them, for the median member."""
    return _month(load, _event(load), _index_units(load, 1 / 2), _stored(load, indexed=True))


def recounted(load: Load) -> Bill:
    """Return a month with fixed tiers that are recounted every minute; a rank is an estimate up to a minute old."""
    minutes = assumed.MONTH / 60
    counts = load.boards * load.settings.metrics * len(load.settings.windows)
    recount = Bill(read_units=counts * _index_units(load, 1) * minutes)
    return _month(load, _event(load), 1.0, _stored(load, indexed=True) + recount)


def recomputed(load: Load) -> Bill:
    """Return a month in which each batch reads all members, sorts them and writes the top 100."""
    batches = load.events_per_second / load.traffic.batch * assumed.MONTH * min(load.boards, load.traffic.batch)
    windows = load.settings.metrics * len(load.settings.windows)
    computation = Bill(read_units=windows * _index_units(load, 1), write_units=windows * TOP)
    event = replace(_event(load), write_units=1)
    return _month(load, event, 0.5, _stored(load, indexed=False) + computation.times(batches))


ALTERNATIVES: Final[dict[str, Callable[[Load], Bill]]] = {
    "count on a sorted index": counted,
    "fixed tiers, recounted every minute": recounted,
    "all ranks again at each batch": recomputed,
}
