"""The rolling sum: a member's score in a period is the sum of its buckets (or their max, min or last)."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from standings.domain.boards.definitions import Metric, Ranking, attribute_name
from standings.domain.members.member_item import Image
from standings.domain.scoring.aggregates import Aggregate, merge_all, place_of
from standings.domain.scoring.sort_order import Place
from standings.domain.windows.window import Window


def aggregate_in_period(image: Image, metric: Metric, window: Window, period: int) -> Aggregate | None:
    """Merge the buckets of a period, ignoring `hidden`; None if the member has no event in it."""
    if window.unit is None:
        return image.cell(metric.total())
    if not window.rolling:
        return image.cell(metric.bucket(window.unit, period))
    return aggregate_of(image, metric, contributions(image, metric, window), period)


class Contribution(NamedTuple):
    """An accumulator, and the periods of a rolling window in which it counts: those from `first` to before `until`."""

    first: int
    until: int
    name: str


def contributions(image: Image, metric: Metric, window: Window) -> Iterator[Contribution]:
    """The accumulators that count in some period of a rolling window."""
    code = metric.bucket_codes[window.unit] if window.unit is not None else ""
    for name in image.values:
        of = attribute_name(name)
        if of is not None and of.code == code and of.first < of.bucket + window.size:
            yield Contribution(of.first, of.bucket + window.size, name)


def aggregate_of(image: Image, metric: Metric, parts: Iterable[Contribution], period: int) -> Aggregate | None:
    """Merge the accumulators that count in a period; None if there are none."""
    cells = (image.cell(one.name) for one in parts if one.first <= period < one.until)
    return merge_all(metric, [cell for cell in cells if cell is not None])


def place(image: Image | None, ranking: Ranking) -> Place | None:
    """A member's place in a ranking; None if the member is hidden, gone, or has no event in the period."""
    if image is None or image.hidden:
        return None
    aggregate = aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
    return None if aggregate is None else place_of(ranking.metric, aggregate)
