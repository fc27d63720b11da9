"""The rolling sum: a member's score in a period is the sum of its buckets (or their max, min or last)."""

from collections.abc import Iterable

from standings.domain.boards.definitions import Metric, Ranking
from standings.domain.members.member_item import Image
from standings.domain.scoring.aggregates import Aggregate, merge_all, place_of
from standings.domain.scoring.sort_order import Place
from standings.domain.windows.window import Unit, Window


def aggregate_in_period(image: Image, metric: Metric, window: Window, period: int) -> Aggregate | None:
    """Merge the buckets of a period, ignoring `hidden`; None if the member has no event in it."""
    if window.unit is None:
        return image.cell(metric.total())
    return aggregate_of_buckets(image, metric, window.unit, window.buckets(period))


def aggregate_of_buckets(image: Image, metric: Metric, unit: Unit, buckets: Iterable[int]) -> Aggregate | None:
    """Merge some buckets; None if the member has no event in them."""
    prefix = metric.bucket_codes[unit]
    cells = [image.cell(f"{prefix}{bucket}") for bucket in buckets]
    return merge_all(metric, [cell for cell in cells if cell is not None])


def place(image: Image | None, ranking: Ranking) -> Place | None:
    """A member's place in a ranking; None if the member is hidden, gone, or has no event in the period."""
    if image is None or image.hidden:
        return None
    aggregate = aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
    return None if aggregate is None else place_of(ranking.metric, aggregate)
