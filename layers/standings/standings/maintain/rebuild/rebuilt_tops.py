"""What a rebuild and a deletion mean for the tops that a board announces."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from standings.domain.boards.coverage import written_codes
from standings.domain.boards.definitions import Family
from standings.domain.members.open_rankings import open_rankings
from standings.ports.announcements import Look, Looks, RankingName


@dataclass(frozen=True, slots=True)
class RebuiltTops:
    """The announced tops of a board. `looks` is None on a stack without announcements.

    `delete` deletes what was announced: (board, ranking codes).
    """

    looks: Looks | None
    delete: Callable[[str, Iterable[str]], None]

    def look(self, family: Family, board: str, now: int) -> None:
        """Ask for a look at each announced ranking that can be read. Raises StoreUnavailableError."""
        if self.looks is not None:
            self.looks.ask(
                (Look(RankingName(board, ranking.metric.name, ranking.window.name, ranking.period)), 0)
                for ranking in open_rankings(family, board, now)
                if ranking.window.name in family.announce
            )

    def forget(self, family: Family, board: str, codes: frozenset[str], *, deleted: bool) -> None:
        """Delete what was announced of rankings that the board no longer has. May raise StoreUnavailableError.

        A deleted board only has those that are announced: the announcer empties their tops, and their numbers go on if
        the board comes back.
        """
        self.delete(board, codes - (self._announced(family) if deleted else written_codes(family)))

    def _announced(self, family: Family) -> frozenset[str]:
        """The codes of the rankings that are announced."""
        if self.looks is None:
            return frozenset()
        windows = tuple(
            metric.ranking_code(window)
            for metric in family.metrics.values()
            for window in metric.windows
            if window.name in family.announce
        )
        return frozenset(code for code in written_codes(family) if code.startswith(windows))
