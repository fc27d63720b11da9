"""The card of one member: its scores and ranks in every metric and window of a board."""

from collections.abc import Mapping
from typing import Any

from standings.domain.boards.definitions import Metric
from standings.domain.boards.names import check_member
from standings.domain.boards.ranking import Ranking
from standings.domain.errors import no_such_member
from standings.domain.members.member_item import Image
from standings.domain.members.rolling_sum import aggregate_in_period
from standings.domain.scoring.aggregates import Aggregate
from standings.read import answer_fields
from standings.read.member_ranks import Ranks, read_ranks
from standings.read.reader import Method, Request


def member_card(request: Request, board: str, member: str, method: Method | None) -> dict[str, Any]:
    """A member's total and its score in each window's current period, also if it is hidden; ranks if a method is given.

    The error is NotFoundError if the board has no such member.
    """
    family = request.family(board)
    check_member("id", member)
    image = request.store.image(board, member)
    if image is None or image.removed:
        raise no_such_member(board, member)
    rankings = {
        metric.name: [request.current(board, metric, window) for window in metric.windows]
        for metric in family.metrics.values()
    }
    ranks = _read_ranks(request, [one for some in rankings.values() for one in some], member, method)
    return {
        "board": board,
        "member": member,
        "hidden": image.hidden,
        "metrics": [
            {
                "metric": metric.name,
                "score": _decimal(image.cell(metric.total()), metric),
                "windows": [
                    {**_score(image, ranking), **(_rank(ranks.get(ranking), member) if method else {})}
                    for ranking in rankings[metric.name]
                ],
            }
            for metric in family.metrics.values()
        ],
    }


def _read_ranks(
    request: Request, rankings: list[Ranking], member: str, method: Method | None
) -> Mapping[Ranking, Ranks]:
    """The ranks in those rankings that are readable; none without a method."""
    if method is None:
        return {}
    readable = {ranking: current for ranking in rankings if (current := request.readable(ranking)) is not None}
    if not readable:
        return {}
    ranks = read_ranks(request, list(readable.values()), [member], method)
    return {ranking: ranks[current] for ranking, current in readable.items()}


def _score(image: Image, ranking: Ranking) -> dict[str, Any]:
    aggregate = aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
    return {
        "window": ranking.window.name,
        "period": answer_fields.period(ranking),
        "score": _decimal(aggregate, ranking.metric),
    }


def _decimal(aggregate: Aggregate | None, metric: Metric) -> Any:
    return None if aggregate is None else answer_fields.decimal(aggregate.value, metric.precision)


def _rank(ranks: Ranks | None, member: str) -> dict[str, Any]:
    if ranks is None or member not in ranks.by_member:
        return {"rank": None, "percentile": None, "total": None}
    ranked = ranks.by_member[member]
    return {"rank": ranked.rank, "percentile": ranked.percentile, "total": ranks.total}
