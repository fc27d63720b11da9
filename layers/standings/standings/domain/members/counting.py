"""Count events in a member's item, and find the accumulators of an item that have expired."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from standings.domain.boards.definitions import MAX_UNITS, Family, Metric, late_name
from standings.domain.members.member_item import Image
from standings.domain.members.open_rankings import SKIP_MARGIN
from standings.domain.members.rolling_sum import aggregate_of, contributions
from standings.domain.scoring.aggregates import NO_NOTE, aggregate_of_event, merge
from standings.domain.windows.calendar import DAY

REMOVAL_MARGIN: Final = DAY
"""An accumulator is removed this long after its last period could be read: longer than any clock is wrong."""


class Counted(NamedTuple):
    """What one event adds to one item: units and notes by metric. `at` is in milliseconds."""

    event_id: str
    at: int
    amounts: Mapping[str, int]
    notes: Mapping[str, str] = MappingProxyType({})


def additions(family: Family, counted: Iterable[Counted], now: int) -> dict[str, int]:
    """What events add to an item's attributes at the instant `now`, for metrics that all add up. 0 is added too."""
    adds: dict[str, int] = {}
    for event in counted:
        for metric, name in _accumulators(family, event, now):
            adds[name] = adds.get(name, 0) + event.amounts[metric.name]
    return adds


def counting(family: Family, image: Image, event: Counted, now: int) -> tuple[Image, list[str]]:
    """Count one event: the new image, and the names of the accumulators that changed."""
    changed = []
    for metric, name in _accumulators(family, event, now):
        note = event.notes.get(metric.name, NO_NOTE)
        added = aggregate_of_event(metric, event.amounts[metric.name], event.at, event.event_id, note)
        before = image.cell(name)
        after = added if before is None else merge(metric, before, added)
        if after != before:
            changed.append(name)
            image = image.with_cell(name, after)
    return image, changed


def _accumulators(family: Family, event: Counted, now: int) -> Iterator[tuple[Metric, str]]:
    """The accumulators in which an event counts: each metric's total, and a bucket for each unit that accepts it."""
    for metric_name in event.amounts:
        metric = family.metrics[metric_name]
        yield metric, metric.total()
        for unit in metric.bucket_codes:
            index = family.timetable.accepts(unit, event.at, now)
            name = metric.late_bucket(unit, event.at, now) if index is None else metric.bucket(unit, index)
            if name is not None:
                yield metric, name


def expired(family: Family, image: Image, now: int) -> list[str]:
    """The accumulators of an item whose last period could be read until `REMOVAL_MARGIN` ago."""
    return [attribute for attribute in image.values if family.has_expired(attribute, now - REMOVAL_MARGIN)]


def late_merged(family: Family, image: Image, now: int) -> tuple[Image, list[str]]:
    """Merge late buckets that no longer need to name their first period: the new image, and the names that are gone.

    That is so once no earlier period can be read, nor could be an hour ago. Such a bucket is added to the one without a
    first period. So an item has at most three late buckets for each bucket.
    """
    gone = []
    for name in image.values:
        accumulator, cell = family.accumulator(name), image.cell(name)
        if accumulator is None or accumulator.unit is None or cell is None or not accumulator.names_first:
            continue
        metric, unit = accumulator.metric, accumulator.unit
        if now >= metric.timetable.rolling_until(unit, accumulator.first - 1) + SKIP_MARGIN:
            whole = late_name(metric.bucket(unit, accumulator.bucket))
            before = image.cell(whole)
            image = image.with_cell(whole, cell if before is None else merge(metric, before, cell))
            gone.append(name)
    return image, gone


def beyond_bounds(family: Family, image: Image, changed: Iterable[str]) -> str | None:
    """A window in which a changed attribute takes a score beyond ±(2^53 - 1) units; None if there is none."""
    for attribute in changed:
        accumulator = family.accumulator(attribute)
        if accumulator is None:
            continue
        metric, unit, _, bucket, first = accumulator
        if abs(image.values[attribute]) > MAX_UNITS:
            return f"{metric.name} in {'all' if unit is None else 'one ' + unit}"
        for window in metric.windows:
            if not window.rolling or window.unit != unit:
                continue
            parts = list(contributions(image, metric, window))
            for period in range(first, bucket + window.size):
                aggregate = aggregate_of(image, metric, parts, period)
                if aggregate is not None and abs(aggregate.value) > MAX_UNITS:
                    return f"{metric.name} in {window.name}"
    return None
