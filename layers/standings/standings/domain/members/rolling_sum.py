"""A member's score in one period, such as the sum of the last seven days."""

from standings.domain.boards.definitions import Metric
from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.scoring import aggregates
from standings.domain.scoring.aggregates import Aggregate
from standings.domain.scoring.sort_order import Place
from standings.domain.windows.window import Window


def place(image: Image | None, ranking: Ranking) -> Place | None:
    """A member's place in a ranking; None where it is not ranked: hidden, gone, or without an event in the period."""
    if image is None or image.hidden:
        return None
    cell = aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
    return None if cell is None else aggregates.place_of(ranking.metric, cell)


def aggregate_in_period(image: Image, metric: Metric, window: Window, period: int) -> Aggregate | None:
    """What a member's events come to in a period, hidden or not; None where there are none."""
    if window.unit is None:
        return image.cell(metric.total())
    prefix = metric.bucket_codes[window.unit] + window.unit
    if window.size == 1:
        return image.cell(f"{prefix}{period}")
    buckets = [image.cell(f"{prefix}{bucket}") for bucket in range(period - window.size + 1, period + 1)]
    return aggregates.merge_all(metric, [cell for cell in buckets if cell is not None])
