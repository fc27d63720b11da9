"""A member's item: its accumulators, what an event changes in them, and the scores that follow from one image."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from standings.domain.boards import MAX_UNITS, Family, Metric, Ranking
from standings.domain.windows import DAY, HOUR, Window

REMOVAL_MARGIN: Final = DAY
"""An accumulator goes this long after reading of it has ended: longer than any clock is wrong."""

SKIP_MARGIN: Final = HOUR
"""A period that ended being read this long before an image's stamp is moved no more. Below `REMOVAL_MARGIN`, so that a
removed accumulator is never taken for a score that fell."""


@dataclass(frozen=True, slots=True)
class Image:
    """One state of a member's item, from which its score in every ranking follows.

    `version` is one more at every write. `stamp` is the writer's clock in milliseconds, which never goes back on an
    item. `magnitude` bounds every sum of accumulators. `values` holds the accumulators by attribute name.
    """

    board: str
    member: str
    version: int
    stamp: int
    magnitude: int
    hidden: bool
    values: Mapping[str, int]

    def without_scores(self) -> "Image":
        """The image after the item was deleted: a version more, and no scores."""
        return Image(self.board, self.member, self.version + 1, self.stamp, 0, self.hidden, {})


def additions(family: Family, counted: Iterable[tuple[int, Mapping[str, int]]], now: int) -> dict[str, int]:
    """What events add to an item's attributes: (at, units by metric) of each, decided at the instant `now`.

    Always to a metric's total; to a bucket or calendar period that some window needs, if it still takes events. An
    amount of 0 is an addition too: it makes the member take part.
    """
    adds: dict[str, int] = {}
    for at, amounts in counted:
        for name, units in amounts.items():
            metric = family.metrics[name]
            total = metric.total()
            adds[total] = adds.get(total, 0) + units
            for unit in metric.bucket_codes:
                index = family.timetable.takes(unit, at, now)
                if index is not None:
                    bucket = metric.bucket(unit, index)
                    adds[bucket] = adds.get(bucket, 0) + units
    return adds


def expired(family: Family, image: Image, now: int) -> list[str]:
    """The accumulators of an item that no readable period contains any more, by more than a clock can be wrong."""
    gone = []
    for attribute in image.values:
        accumulator = family.accumulator(attribute)
        if accumulator is not None and accumulator.unit is not None:
            expires = accumulator.metric.expires(accumulator.unit, accumulator.bucket)
            if now >= expires + REMOVAL_MARGIN:
                gone.append(attribute)
    return gone


def beyond_bounds(family: Family, values: Mapping[str, int], changed: Iterable[str]) -> str | None:
    """The window in which a changed attribute takes a score beyond ±(2^53 - 1) units; None where all is well."""
    for attribute in changed:
        accumulator = family.accumulator(attribute)
        if accumulator is None:
            continue
        metric, unit, bucket = accumulator
        if abs(values[attribute]) > MAX_UNITS:
            return f"{metric.name} in {'all' if unit is None else 'one ' + unit}"
        for window in metric.windows:
            if window.unit == unit and window.rolling:
                for period in range(bucket, bucket + window.size):
                    if abs(_sum(metric, window, period, values) or 0) > MAX_UNITS:
                        return f"{metric.name} in {window.name}"
    return None


def score(image: Image | None, ranking: Ranking) -> int | None:
    """A member's score in a ranking; None where it is not ranked: hidden, gone, or without an event in the period."""
    if image is None or image.hidden:
        return None
    return _sum(ranking.metric, ranking.window, ranking.period, image.values)


def _sum(metric: Metric, window: Window, index: int, values: Mapping[str, int]) -> int | None:
    if window.unit is None:
        return values.get(metric.total())
    prefix = metric.bucket_codes[window.unit] + window.unit
    if window.size == 1:
        return values.get(f"{prefix}{index}")
    there = [
        value
        for bucket in range(index - window.size + 1, index + 1)
        if (value := values.get(f"{prefix}{bucket}")) is not None
    ]
    return sum(there) if there else None


def touched(family: Family, old: Image | None, new: Image) -> Iterator[Ranking]:
    """The rankings in which the score can differ between two images, told from the images alone.

    A rolling window is looked forward: a bucket is part of today's period and of those that have not begun. Periods
    that the new image's stamp puts beyond reading are left out.
    """
    before: Mapping[str, int] = old.values if old is not None else {}
    # Whoever is hidden or comes back moves in every ranking.
    all_of_them = old is not None and old.hidden != new.hidden
    seen: set[Ranking] = set()
    for attribute in before.keys() | new.values.keys():
        if not all_of_them and before.get(attribute) == new.values.get(attribute):
            continue
        accumulator = family.accumulator(attribute)
        if accumulator is None:
            continue
        metric, unit, bucket = accumulator
        for window in metric.windows:
            if window.unit != unit:
                continue
            for period in range(bucket, bucket + window.size):
                ranking = Ranking(new.board, metric, window, period)
                until = ranking.readable_until
                if ranking not in seen and (until is None or new.stamp < until + SKIP_MARGIN):
                    seen.add(ranking)
                    yield ranking
