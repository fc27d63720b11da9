"""Answers questions about rankings, each in a handful of reads at any size."""

from collections.abc import Sequence
from typing import Any

from standings.domain import tiers
from standings.domain.boards import Boards, Ranking
from standings.domain.events import LONGEST_MEMBER
from standings.domain.places import Path, ordinal
from standings.services import answers
from standings.services.answers import Problem, bad_argument, not_found
from standings.services.pacing import Pacing
from standings.services.pages import ROOT, counters_of, cursor_at, read_page
from standings.services.reader import Reader
from standings.services.store import Entry, Node, Standing


class Query:
    """Answers as `dict`s that are ready for JSON; `Problem` for a question that has none."""

    def __init__(self, boards: Boards, standing: Standing, pacing: Pacing) -> None:
        self._reader = Reader(boards, standing, pacing)

    def page(
        self, board: str, metric: str, window: str, *, period: str | None, limit: int, cursor: str | None
    ) -> dict[str, Any]:
        """A page of the list: the first, or the one that a cursor leads to."""
        asked = self._reader.ranking(board, metric, window, period)
        page = read_page(self._reader, asked, limit, cursor, named=period is not None)
        ranking = page.ranking
        return {
            **_about(ranking, page.nodes, page.entries),
            "total": tiers.total(counters_of(page.nodes)[ROOT]),
            "entries": [
                {"rank": rank, "member": entry.member, "score": _score(entry, ranking)}
                for rank, entry in zip(page.ranks, page.entries, strict=True)
            ],
            "next": cursor_at(ranking, page.following, forward=True),
            "previous": cursor_at(ranking, page.previous, forward=False),
        }

    def rank(self, board: str, metric: str, window: str, *, period: str | None, member: str) -> dict[str, Any]:
        """A member's rank (1 + the members ahead), score and percentile: an entry, then the tiers on its path."""
        ranking = self._reader.ranking(board, metric, window, period)
        if not 1 <= len(member.encode()) <= LONGEST_MEMBER:
            raise bad_argument("member", f"must have 1 to {LONGEST_MEMBER} bytes of UTF-8")
        entry = self._reader.read(lambda: self._reader.standing.entry(ranking, member))
        if entry is None:
            raise self._unranked(ranking, member)
        nodes = self._reader.nodes(ranking, tiers.nodes_for(entry.ordinal))
        counters = counters_of(nodes)
        ahead = tiers.ahead(entry.ordinal, counters)
        # Entry and tiers are read one after the other: while they move, the member itself is there at least.
        total = max(tiers.total(counters[ROOT]), ahead + 1)
        return {
            **_about(ranking, nodes, [entry]),
            "total": total,
            "member": member,
            "rank": ahead + 1,
            "score": _score(entry, ranking),
            "percentile": answers.percentile(total - ahead, total),
        }

    def _unranked(self, ranking: Ranking, member: str) -> Problem:
        if self._reader.read(lambda: self._reader.standing.has_member(ranking.board, member)):
            detail = f"{member!r} has no event in this period of {ranking.window.name!r}, or is hidden"
            return not_found("not-ranked", "Not ranked in this period", detail)
        return not_found("no-such-member", "No such member", f"board {ranking.board!r} has no member {member!r}")


def _about(ranking: Ranking, nodes: dict[Path, Node], entries: Sequence[Entry]) -> dict[str, Any]:
    stamps = [node.stamp for node in nodes.values() if node.stamp is not None]
    stamps += [entry.stamp for entry in entries]
    return {
        "board": ranking.board,
        "metric": ranking.metric.name,
        "window": ranking.window.name,
        "period": answers.period(ranking),
        "order": ranking.metric.order,
        "method": "competition",
        "as_of": answers.instant(max(stamps, default=None)),
    }


def _score(entry: Entry, ranking: Ranking) -> Any:
    units = ordinal(entry.ordinal, descending=ranking.metric.order == "descending")
    return answers.score_of(units, ranking.metric)
