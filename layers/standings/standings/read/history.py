"""A member's history: its rank in every period of a window that can be read."""

from typing import Any

from standings.domain.boards import Ranking, check_member
from standings.domain.errors import no_such_member
from standings.read.member_ranks import Ranks, read_ranks
from standings.read.reader import Question, answer_head, score_at


def history(question: Question, *, member: str, periods: int) -> dict[str, Any]:
    """The member's rank and score in up to `periods` periods, newest first; None where it was not ranked.

    The newest is the question's period. `all` has one. NotFoundError if the board has no such member.
    """
    check_member("member", member)
    newest = question.ranking
    rankings = [newest]
    while len(rankings) < periods and (before := question.request.beside(rankings[-1], -1)) is not None:
        rankings.append(before)
    found = read_ranks(question.request, rankings, [member], question.method, shared=len(rankings))
    if not any(ranks.by_member for ranks in found.values()):
        image = question.request.read(question.request.store.image, newest.board, member)
        if image is None or image.removed:
            raise no_such_member(newest.board, member)
    by_member, nodes, total = found[newest]
    entries = [ranked.entry for ranked in by_member.values()]
    return {
        **answer_head(question, nodes.values(), entries),
        "total": total,
        "member": member,
        "periods": [_period(question, ranking, found[ranking], member) for ranking in rankings],
    }


def _period(question: Question, ranking: Ranking, ranks: Ranks, member: str) -> dict[str, Any]:
    ranked = ranks.by_member.get(member)
    return {
        "period": question.request.period(ranking),
        "rank": None if ranked is None else ranked.rank,
        "score": None if ranked is None else score_at(ranked.entry.place.sort_value, ranking.metric),
        "total": ranks.total,
    }
