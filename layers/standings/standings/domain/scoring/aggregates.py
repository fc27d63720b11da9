"""Cells: what a member's events come to in one bucket, period or altogether, and how two of them make one.

An event is a cell of its own, so counting an event, summing up the buckets of a period and merging what a producer
said twice are the same operation. It does not matter in which order it is done: that is what makes a score, and who
of equals was first, independent of the order in which events arrive.
"""

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from standings.domain.boards.definitions import Metric
from standings.domain.scoring.sort_order import Place, sort_value
from standings.domain.scoring.ties import NO_TIE_KEY, tie_instant, tie_key_of_event


class Aggregate(NamedTuple):
    """A number, and the mark of the event that it goes by.

    A mark is text in the order of events: their `at`, and for `last` also their id.
    """

    value: int
    tie_key: str = NO_TIE_KEY


def aggregate_of_event(metric: Metric, units: int, at: int, event_id: str) -> Aggregate:
    """The cell that one event is."""
    return Aggregate(units, tie_key_of_event(metric, at, event_id))


def merge(metric: Metric, one: Aggregate, other: Aggregate) -> Aggregate:
    """What two cells of a metric come to.

    A sum is as old as its latest event. A best is as old as the first event that reached it: one that does not
    improve on it changes nothing. `last` is the event of the latest `at`, of several such the one of the greatest id.
    """
    if metric.aggregate == "sum":
        return Aggregate(one.value + other.value, max(one.tie_key, other.tie_key))
    if metric.aggregate == "last":
        return max(one, other, key=lambda cell: cell.tie_key)
    if one.value == other.value:
        return min(one, other, key=lambda cell: cell.tie_key)
    return max(one, other) if metric.aggregate == "max" else min(one, other)


def merge_all(metric: Metric, cells: Iterable[Aggregate]) -> Aggregate | None:
    """What all cells come to; None where there are none."""
    there = list(cells)
    return reduce(lambda one, other: merge(metric, one, other), there) if there else None


def place_of(metric: Metric, cell: Aggregate) -> Place:
    """Where a member with that cell stands in the metric's lists."""
    return Place(sort_value(cell.value, descending=metric.descending), tie_instant(metric, cell.tie_key))
