"""What a rebuild and a deletion mean for the tops that a board announces."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from standings.domain.boards.definitions import Family
from standings.domain.members.open_rankings import open_rankings
from standings.ports.announcements import Look, Looks, RankingName


@dataclass(frozen=True, slots=True)
class RebuiltTops:
    """The announced tops of a board. `forget` deletes what was announced: (board, ranking codes)."""

    looks: Looks
    forget: Callable[[str, Iterable[str]], None]

    def look(self, family: Family, board: str, now: int) -> None:
        """Ask for a look at each announced ranking that can be read. Raises StoreUnavailableError."""
        self.looks.ask(
            (Look(RankingName(board, ranking.metric.name, ranking.window.name, ranking.period)), 0)
            for ranking in open_rankings(family, board, now)
            if ranking.window.name in family.announce
        )
