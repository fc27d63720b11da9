"""One member in every metric and window of a board."""

from typing import Any

from standings.domain.boards.definitions import Metric
from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.rolling_sum import aggregate_in_period
from standings.read import json_values
from standings.read.member_ranks import Ranks


def total_score(image: Image, metric: Metric) -> Any:
    """A member's score over all time; None where it has none."""
    cell = image.cell(metric.total())
    return None if cell is None else json_values.score_of(cell.value, metric)


def score_in_window(image: Image, ranking: Ranking, member: str, found: dict[Ranking, Ranks] | None) -> dict[str, Any]:
    """A member's score in one window, and its rank if ranks were read."""
    cell = aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
    answer: dict[str, Any] = {
        "window": ranking.window.name,
        "period": json_values.period(ranking),
        "score": None if cell is None else json_values.score_of(cell.value, ranking.metric),
    }
    if found is None:
        return answer
    ranked = found[ranking].of.get(member) if ranking in found else None
    if ranked is None:
        return {**answer, "rank": None, "percentile": None, "total": None}
    percentile = json_values.percentile(ranked.total - ranked.ahead, ranked.total)
    return {**answer, "rank": ranked.rank, "percentile": percentile, "total": ranked.total}
