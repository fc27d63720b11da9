"""Rankings whose top is announced: after a batch, the queue of looks hears which of them have moved."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from standings.domain.boards.definitions import Boards, Ranking
from standings.domain.members.moves import Move
from standings.ports.announcements import Look, Looks, RankingName
from standings.ports.rankings import MoveConflict, Rankings
from standings.ports.rolling import RollingWindows


@dataclass(slots=True)
class AnnouncedRankings:
    """Rankings that remember which announced ones were committed to, of one batch.

    Also a commit that had nothing left to do counts: a try before it may have died between its commit and `tell`.
    """

    rankings: Rankings
    boards: Boards
    moved: dict[RankingName, None] = field(default_factory=dict)

    @property
    def rolling(self) -> RollingWindows:
        """Rolling windows. Their tops are not announced."""
        return self.rankings.rolling

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveConflict]:
        family = self.boards.family(ranking.board)
        if family is not None and ranking.window.name in family.announce:
            name = RankingName(ranking.board, ranking.metric.name, ranking.window.name, ranking.period)
            self.moved[name] = None  # A dict, since rankings are committed from several threads
        return self.rankings.commit(ranking, moves)

    def tell(self, looks: Looks) -> None:
        """Ask for a look at each ranking that has moved. Raises StoreUnavailableError."""
        told = list(self.moved)
        looks.ask([(Look(name), 0) for name in told])
        for name in told:
            del self.moved[name]
