"""Cells: what a member's events come to in one bucket, period or altogether, and how two of them make one.

An event is a cell of its own, so counting an event, summing up the buckets of a period and merging what a producer
said twice are the same operation. It does not matter in which order it is done: that is what makes a score, and who
of equals was first, independent of the order in which events arrive.
"""

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from standings.domain.boards.definitions import Metric
from standings.domain.scoring.sort_order import Place, ordinal
from standings.domain.scoring.ties import UNMARKED, mark_of, since_of


class Aggregate(NamedTuple):
    """A number, and the mark of the event that it goes by.

    A mark is text in the order of events: their `at`, and for `last` also their id.
    """

    value: int
    mark: str = UNMARKED


def of_event(metric: Metric, units: int, at: int, event_id: str) -> Aggregate:
    """The cell that one event is."""
    return Aggregate(units, mark_of(metric, at, event_id))


def combined(metric: Metric, one: Aggregate, other: Aggregate) -> Aggregate:
    """What two cells of a metric come to.

    A sum is as old as its latest event. A best is as old as the first event that reached it: one that does not
    improve on it changes nothing. `last` is the event of the latest `at`, of several such the one of the greatest id.
    """
    if metric.aggregate == "sum":
        return Aggregate(one.value + other.value, max(one.mark, other.mark))
    if metric.aggregate == "last":
        return max(one, other, key=lambda cell: cell.mark)
    if one.value == other.value:
        return min(one, other, key=lambda cell: cell.mark)
    return max(one, other) if metric.aggregate == "max" else min(one, other)


def total(metric: Metric, cells: Iterable[Aggregate]) -> Aggregate | None:
    """What all cells come to; None where there are none."""
    there = list(cells)
    return reduce(lambda one, other: combined(metric, one, other), there) if there else None


def place_of(metric: Metric, cell: Aggregate) -> Place:
    """Where a member with that cell stands in the metric's lists."""
    return Place(ordinal(cell.value, descending=metric.descending), since_of(metric, cell.mark))
