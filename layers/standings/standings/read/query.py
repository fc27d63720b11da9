"""Answers every question about one ranking."""

from typing import Final

from standings.read import member_ranks, pages, score_statistics
from standings.read.reader import Question, Reader, method_of

MAX_MEMBERS: Final = 100  # Members of a group


class Query:
    """Answers are dicts ready for JSON. A question without an answer raises RequestError."""

    page = staticmethod(pages.page)
    page_at = staticmethod(pages.page_at)
    page_around = staticmethod(pages.page_around)
    rank = staticmethod(member_ranks.rank)
    group = staticmethod(member_ranks.group)
    score_rank = staticmethod(score_statistics.score_rank)
    percentile = staticmethod(score_statistics.percentile)
    distribution = staticmethod(score_statistics.distribution)

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def asked(
        self, board: str, metric: str, window: str, *, period: str | None = None, method: str | None = None
    ) -> Question:
        """A question about a ranking, by the names that the client gives. None: the current period, competition."""
        numbering = method_of(method)
        request = self._reader.request()
        reads = request.ranking(board, metric, window, period)
        return Question(request, reads, numbering, period is not None, method is not None)
