"""What the same load comes to where ranks are made in the other ways that are in use.

None of them counts an event once, or ranks a rolling window.

Each keeps a member's score in one item, written without a transaction, and its place in a sorted index where it has
one; queue, functions and API are taken to be ours. Sizes are those of our own entries.
"""

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Final

from benchmarks.harness.capacity_units import READ_BYTES
from benchmarks.models import assumed
from benchmarks.models.cost.prices import Bill
from benchmarks.models.cost.spending import GIGABYTE, Load, of_event, of_read
from benchmarks.models.cost.usage import storage

ENTRY: Final = 70.0
"""Bytes of a place in a sorted index: the keys, and a member's id of 20 bytes."""

TOP: Final = 100
"""Lines that are written anew where the list is made again."""

NODE: Final = 13.07 * 2**30 * 0.75
"""Bytes that one cache node has room for, a quarter being reserved.

https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/redis-memory-management.html
"""
CACHED: Final = 150.0
"""Bytes of one member in a sorted set of Redis: the id, the score, and the two structures that hold them."""


def _event(load: Load) -> Bill:
    """One event's score, and its places in the index of every window; queue and writer are as ours."""
    ours = of_event(load)
    windows = load.settings.metrics * len(load.settings.windows)
    return replace(ours, write_units=1 + 2 * windows, read_units=0.0, gigabyte_seconds=ours.gigabyte_seconds / 2)


def _kept(load: Load, *, indexed: bool) -> Bill:
    members = load.boards * load.traffic.members
    bytes_each = storage(load.settings, load.traffic).member + indexed * 2 * (ENTRY + assumed.PER_ITEM)
    return Bill(stored_gigabytes=members * bytes_each / GIGABYTE)


def _passed(load: Load, share: float) -> float:
    """The read units of passing that share of a board's index."""
    return load.traffic.members * share * ENTRY / READ_BYTES / 2


def _month(load: Load, event: Bill, read_units: float, rest: Bill) -> Bill:
    events = event.times(load.events_per_second * assumed.MONTH)
    return events + of_read(read_units).times(load.reads_per_second * assumed.MONTH) + rest


def counted(load: Load) -> Bill:
    """A rank is the number of entries ahead: half of them, for a member in the middle."""
    return _month(load, _event(load), _passed(load, 1 / 2), _kept(load, indexed=True))


def recounted(load: Load) -> Bill:
    """Tiers with fixed borders, counted anew every minute: a rank is an estimate of that age."""
    minutes = assumed.MONTH / 60
    counts = load.boards * load.settings.metrics * len(load.settings.windows)
    recount = Bill(read_units=counts * _passed(load, 1) * minutes)
    return _month(load, _event(load), 1.0, _kept(load, indexed=True) + recount)


def recomputed(load: Load) -> Bill:
    """Each batch reads everyone, sorts, and writes everyone's rank that has changed: here only the top 100."""
    batches = load.events_per_second / load.traffic.batch * assumed.MONTH * min(load.boards, load.traffic.batch)
    windows = load.settings.metrics * len(load.settings.windows)
    pass_over = Bill(read_units=windows * _passed(load, 1), write_units=windows * TOP)
    event = replace(_event(load), write_units=1)
    return _month(load, event, 0.5, _kept(load, indexed=False) + pass_over.times(batches))


def cached(load: Load) -> Bill:
    """Sorted sets in a Redis node and its replica, beside a table that keeps the scores."""
    sets = load.settings.metrics * len(load.settings.windows)
    pairs = ceil(load.boards * load.traffic.members * sets * CACHED / NODE)
    nodes = Bill(cache_node_hours=2 * pairs * assumed.MONTH / 3600)
    return _month(load, replace(_event(load), write_units=1), 0.0, _kept(load, indexed=False) + nodes)


ALTERNATIVES: Final[dict[str, Callable[[Load], Bill]]] = {
    "count on a sorted index": counted,
    "fixed tiers, recounted every minute": recounted,
    "all ranks again at each batch": recomputed,
    "Redis beside a table": cached,
}
