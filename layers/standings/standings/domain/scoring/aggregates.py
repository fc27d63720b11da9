"""Aggregates: combine events into one number, by sum, max, min or last.

One event is an aggregate too. So counting an event and adding up the buckets of a period are the same operation,
`merge`. It is associative and commutative: the order in which events arrive changes neither scores nor ties.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Final, NamedTuple

from standings.domain.boards.definitions import Metric
from standings.domain.scoring.sort_order import Place, sort_value
from standings.domain.scoring.ties import NO_TIE_KEY, tie_instant, tie_key_of_event

NO_NOTE: Final = ""


class Aggregate(NamedTuple):
    """What events come to: a value in units of the metric, and the event that decides between equals.

    Of that event it has the tie key and the note, as JSON.
    """

    value: int
    tie_key: str = NO_TIE_KEY
    note: str = NO_NOTE


def aggregate_of_event(metric: Metric, units: int, at: int, event_id: str, note: str = NO_NOTE) -> Aggregate:
    """The aggregate of one event."""
    return Aggregate(units, tie_key_of_event(metric, at, event_id), note)


def merge(metric: Metric, one: Aggregate, other: Aggregate) -> Aggregate:
    """Merge two aggregates of a metric. `ties` says which event's tie key is kept."""
    if metric.aggregate == "sum":
        return Aggregate(one.value + other.value, max(one.tie_key, other.tie_key))
    if metric.aggregate == "last":
        return max(one, other, key=lambda aggregate: aggregate.tie_key)
    if one.value == other.value:
        return min(one, other, key=lambda aggregate: aggregate.tie_key)
    return max(one, other) if metric.aggregate == "max" else min(one, other)


def merge_all(metric: Metric, aggregates: Iterable[Aggregate]) -> Aggregate | None:
    """Merge any number of aggregates; None for none."""
    listed = list(aggregates)
    return reduce(lambda one, other: merge(metric, one, other), listed) if listed else None


def place_of(metric: Metric, aggregate: Aggregate) -> Place:
    """The place in the metric's rankings of a member with this aggregate."""
    since = tie_instant(metric, aggregate.tie_key)
    return Place(sort_value(aggregate.value, descending=metric.descending), since)
