"""A member's item: its accumulators, what an event changes in them, and the places that follow from one image."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from standings.domain.boards.definitions import MAX_UNITS, Accumulator, Family, Metric, Ranking
from standings.domain.scoring import aggregates
from standings.domain.scoring.aggregates import Cell
from standings.domain.scoring.sort_order import Place
from standings.domain.windows.late_and_keep import DAY, HOUR, Window

REMOVAL_MARGIN: Final = DAY
"""An accumulator goes this long after reading of it has ended: longer than any clock is wrong."""

SKIP_MARGIN: Final = HOUR
"""A period that ended being read this long before an image's stamp is moved no more. Below `REMOVAL_MARGIN`, so that a
removed accumulator is never taken for a score that fell."""

AHEAD_MARGIN: Final = HOUR
"""No event counts in a bucket that begins later than this after any clock's now."""


@dataclass(frozen=True, slots=True)
class Image:
    """One state of a member's item, from which its score in every ranking follows.

    `version` is one more at every write. `stamp` is the writer's clock in milliseconds, which never goes back on an
    item. `magnitude` bounds every sum of accumulators. `values` holds the accumulators by attribute name, `marks` the
    marks of those that have one. A member that was `removed` leaves an image with its version and no scores.
    """

    board: str
    member: str
    version: int
    stamp: int
    magnitude: int
    hidden: bool
    values: Mapping[str, int]
    marks: Mapping[str, str] = field(default_factory=dict)
    removed: bool = False

    def without_scores(self) -> "Image":
        """The image after the item was deleted: a version more, and no scores."""
        return replace(self, version=self.version + 1, magnitude=0, values={}, marks={}, removed=True)

    def cell(self, name: str) -> Cell | None:
        """What an accumulator holds; None where it is not there."""
        value = self.values.get(name)
        return None if value is None else Cell(value, self.marks.get(name, aggregates.UNMARKED))


class Counted(NamedTuple):
    """What one event brings to one item: units by metric."""

    event_id: str
    at: int
    amounts: Mapping[str, int]


def additions(family: Family, counted: Iterable[Counted], now: int) -> dict[str, int]:
    """What events add to an item's attributes, decided at the instant `now`, where all metrics add up.

    An amount of 0 is an addition too: it makes the member take part.
    """
    adds: dict[str, int] = {}
    for event in counted:
        for metric, name in _accumulators(family, event, now):
            adds[name] = adds.get(name, 0) + event.amounts[metric.name]
    return adds


def counting(family: Family, image: Image, event: Counted, now: int) -> tuple[Image, list[str]]:
    """The image with one event counted in it, and the accumulators that it changed: none where nothing improves."""
    values, marks = dict(image.values), dict(image.marks)
    changed = []
    for metric, name in _accumulators(family, event, now):
        mine = aggregates.of_event(metric, event.amounts[metric.name], event.at, event.event_id)
        before = image.cell(name)
        after = mine if before is None else aggregates.combined(metric, before, mine)
        if after != before:
            changed.append(name)
            values[name] = after.value
            marks[name] = after.mark
    return replace(image, values=values, marks={name: mark for name, mark in marks.items() if mark}), changed


def _accumulators(family: Family, event: Counted, now: int) -> Iterator[tuple[Metric, str]]:
    """The accumulators in which an event counts.

    Always a metric's total; a bucket or calendar period that some window needs, if it still takes events.
    """
    for metric_name in event.amounts:
        metric = family.metrics[metric_name]
        yield metric, metric.total()
        for unit in metric.bucket_codes:
            index = family.timetable.takes(unit, event.at, now)
            if index is not None:
                yield metric, metric.bucket(unit, index)


def new_image(board: str, member: str, stamp: int) -> Image:
    """An item that is not there yet: its version starts at the clock, above whatever was there under its key."""
    return Image(board, member, stamp, stamp, 0, hidden=False, values={})


def rewritten(image: Image, stamp: int, gone: Iterable[str] = ()) -> Image:
    """The image as its next version, without some accumulators."""
    dropped = frozenset(gone)
    values = {name: value for name, value in image.values.items() if name not in dropped}
    return replace(
        image,
        version=image.version + 1,
        stamp=stamp,
        magnitude=sum(map(abs, values.values())),
        values=values,
        marks={name: mark for name, mark in image.marks.items() if name in values},
        removed=False,
    )


def registered(family: Family, image: Image) -> Image:
    """The image of a member that is registered: on a board of registered members it begins with 0 in every sum."""
    values = dict(image.values)
    if family.members == "registered":
        for metric in family.metrics.values():
            if metric.aggregate == "sum":
                values.setdefault(metric.total(), 0)
    return replace(image, values=values, removed=False)


def removed(image: Image, stamp: int) -> Image:
    """The image of a member that is removed: its next version, and no scores."""
    return replace(rewritten(replace(image, hidden=False, values={}, marks={}), stamp), removed=True)


def expired(family: Family, image: Image, now: int) -> list[str]:
    """The accumulators of an item that no readable period contains any more, by more than a clock can be wrong."""
    return [attribute for attribute in image.values if family.has_expired(attribute, now - REMOVAL_MARGIN)]


def beyond_bounds(family: Family, image: Image, changed: Iterable[str]) -> str | None:
    """The window in which a changed attribute takes a score beyond ±(2^53 - 1) units; None where all is well."""
    for attribute in changed:
        accumulator = family.accumulator(attribute)
        if accumulator is None:
            continue
        metric, unit, bucket = accumulator
        if abs(image.values[attribute]) > MAX_UNITS:
            return f"{metric.name} in {'all' if unit is None else 'one ' + unit}"
        for window in metric.windows:
            if window.unit == unit and window.rolling:
                for period in range(bucket, bucket + window.size):
                    cell = cell_of(image, metric, window, period)
                    if cell is not None and abs(cell.value) > MAX_UNITS:
                        return f"{metric.name} in {window.name}"
    return None


def place(image: Image | None, ranking: Ranking) -> Place | None:
    """A member's place in a ranking; None where it is not ranked: hidden, gone, or without an event in the period."""
    if image is None or image.hidden:
        return None
    cell = cell_of(image, ranking.metric, ranking.window, ranking.period)
    return None if cell is None else aggregates.place_of(ranking.metric, cell)


def cell_of(image: Image, metric: Metric, window: Window, period: int) -> Cell | None:
    """What a member's events come to in a period, hidden or not; None where there are none."""
    if window.unit is None:
        return image.cell(metric.total())
    prefix = metric.bucket_codes[window.unit] + window.unit
    if window.size == 1:
        return image.cell(f"{prefix}{period}")
    buckets = [image.cell(f"{prefix}{bucket}") for bucket in range(period - window.size + 1, period + 1)]
    return aggregates.total(metric, [cell for cell in buckets if cell is not None])


def touched(family: Family, old: Image | None, new: Image) -> Iterator[Ranking]:
    """The rankings in which the place can differ between two images, told from the images alone.

    A rolling window is looked forward: a bucket is part of today's period and of those that have not begun. Periods
    that the new image's stamp puts beyond reading are left out.
    """
    before: Mapping[str, int] = old.values if old is not None else {}
    marks: Mapping[str, str] = old.marks if old is not None else {}
    # Whoever is hidden or comes back moves in every ranking.
    all_of_them = old is not None and old.hidden != new.hidden
    seen: set[Ranking] = set()
    for attribute in before.keys() | new.values.keys():
        same = before.get(attribute) == new.values.get(attribute)
        if same and not all_of_them and marks.get(attribute) == new.marks.get(attribute):
            continue
        accumulator = family.accumulator(attribute)
        if accumulator is None:
            continue
        if same and not all_of_them and not accumulator.metric.dated:
            continue
        for ranking in _holding(new.board, accumulator):
            until = ranking.readable_until
            if ranking not in seen and (until is None or new.stamp < until + SKIP_MARGIN):
                seen.add(ranking)
                yield ranking


def _holding(board: str, accumulator: Accumulator) -> Iterator[Ranking]:
    """The rankings that an accumulator is part of: a bucket is in every rolling period that contains it."""
    metric, unit, bucket = accumulator
    for window in metric.windows:
        if window.unit == unit:
            for period in range(bucket, bucket + window.size):
                yield Ranking(board, metric, window, period)


def kept(family: Family, image: Image, now: int) -> Iterator[Ranking]:
    """The rankings that an image's accumulators are part of and that can be read at `now` or later."""
    for attribute in image.values:
        accumulator = family.accumulator(attribute)
        if accumulator is None:
            continue
        for ranking in _holding(image.board, accumulator):
            until = ranking.readable_until
            if until is None or now < until + SKIP_MARGIN:
                yield ranking


def open_rankings(family: Family, board: str, now: int) -> Iterator[Ranking]:
    """Every ranking of a board that can be read at `now`, or that events have moved already and that can be later."""
    for metric in family.metrics.values():
        for window in metric.windows:
            if window.unit is None:
                yield Ranking(board, metric, window, 0)
                continue
            # Whatever clocks say it is now, and as far ahead as a rolling window is looked forward.
            last = family.timetable.index(window.unit, now + AHEAD_MARGIN) + window.size - 1
            for period in range(last, -1, -1):
                ranking = Ranking(board, metric, window, period)
                until = ranking.readable_until
                if until is not None and now >= until + SKIP_MARGIN:
                    break
                yield ranking
